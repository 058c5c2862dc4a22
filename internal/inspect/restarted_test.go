package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// restarted is a core with sleeping threads that are about to call the kernel again, as they are if a second stop
// comes before they run.
type restarted struct {
	*corefile.Core
	call    int64 // the kernel's number of their call: -1 after an interrupt
	changed int   // threads
	other   bool  // the call would not sleep: the word differs from the awaited value
}

func (r *restarted) Registers(t callbacks.ThreadID) (callbacks.Registers, error) {
	regs, err := r.Core.Registers(t)
	if _, waits := arch.IsFutexWait(&regs); err != nil || !waits {
		return regs, err
	}
	r.changed++
	regs.SetPC(regs.PC() - 2)
	regs.Set(0, uint64(regs.Syscall))
	if r.other {
		regs.Set(1, regs.SyscallArgs[2]+1)
	}
	arch.SetSyscall(&regs, r.call)
	return regs, nil
}

// TestRestarted checks that threads that are about to sleep again are described like sleeping ones.
func TestRestarted(t *testing.T) {
	for _, name := range []string{"gnu-deadlock", "gnu-barrier", "llvm-barrier", "gnu-deadlock-join"} {
		t.Run(name, func(t *testing.T) {
			g, err := omptest.UnpackGolden("../../testdata/golden", name, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			core, err := corefile.Open(g.Core, corefile.Options{Exe: g.Exe, Sysroot: g.Sysroot})
			if err != nil {
				t.Fatal(err)
			}
			defer core.Close()
			want := seenOf(t, core, core)
			for _, call := range []int64{-1, 202} {
				r := &restarted{Core: core, call: call}
				if got := seenOf(t, core, r); got != want || r.changed == 0 {
					t.Errorf("%d threads, call %d:\n%s\nwant\n%s", r.changed, call, got, want)
				}
				r.other = true
				if got := seenOf(t, core, r); got == want {
					t.Errorf("call %d, for another value than the word's: the same", call)
				}
			}
		})
	}
}

// seenOf returns the picture of a core; target is a version of it.
func seenOf(t *testing.T, core *corefile.Core, target callbacks.Target) string {
	t.Helper()
	mods, err := core.Modules()
	if err != nil {
		t.Log(err) // missing files
	}
	procs, err := extended.Open(target, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := inspect.Config{
		Target: target, Unwinder: unwind.New(core, core.Arch(), mods),
		Symbolizer: symbolize.New(mods, symbolize.Options{}),
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	all := picture.Parts{Threads: true, Regions: true, Tasks: true, Stacks: true}
	text, err := json.MarshalIndent(pictureOf(t, cfg, all), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
