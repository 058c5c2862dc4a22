package unwind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// walker prints the frames of every thread as gdb sees them. Inlined functions and tail calls are
// not frames of the machine. The mark s shows a signal trampoline.
const walker = `
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    f, out = gdb.newest_frame(), []
    while f is not None:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            mark = "s" if f.type() == gdb.SIGTRAMP_FRAME else ""
            out.append("%#x%s" % (f.pc(), mark))
        f = f.older()
    print("STACK", t.ptid[1], " ".join(out))
`

// gdbStacks returns the stacks of a core by LWP, as gdb finds them.
func gdbStacks(t testing.TB, exe, core string) map[uint64]string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "walk.py")
	if err := os.WriteFile(script, []byte(walker), 0o644); err != nil {
		t.Fatal(err)
	}
	out := omptest.Gdb(t, exe, core, "set width 0", "set backtrace past-main on", "set backtrace past-entry on",
		"source "+script)
	stacks := map[uint64]string{}
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "STACK ")
		if !ok {
			continue
		}
		lwp, stack, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(lwp, 10, 64)
		if err != nil {
			t.Fatalf("gdb says %q: %v", line, err)
		}
		stacks[n] = stack
	}
	if len(stacks) == 0 {
		t.Fatalf("gdb lists no stacks:\n%s", out)
	}
	return stacks
}

// opened is a core with an unwinder.
type opened struct {
	*corefile.Core
	u    *unwind.Unwinder
	mods []*callbacks.Module
	lwps []callbacks.ThreadID
}

func open(t testing.TB, core string) *opened {
	t.Helper()
	c, err := corefile.Open(core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	mods, err := c.Modules()
	if err != nil {
		t.Fatal(err)
	}
	lwps, err := c.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	return &opened{c, unwind.New(c, c.Arch(), mods), mods, lwps}
}

func (o *opened) readRegisters(t testing.TB, lwp callbacks.ThreadID) callbacks.Registers {
	t.Helper()
	r, err := o.Registers(lwp)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// formatStack returns a thread's stack in the notation of walker.
func (o *opened) formatStack(t testing.TB, lwp callbacks.ThreadID) ([]unwind.Frame, string) {
	t.Helper()
	frames, err := o.u.Stack(o.readRegisters(t, lwp), 0)
	var out []string
	for _, f := range frames {
		mark := ""
		if f.Signal {
			mark = "s"
		}
		out = append(out, fmt.Sprintf("%#x%s", f.PC, mark))
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return frames, strings.Join(out, " ")
}

// compareWithGdb checks that every stack of the core equals gdb's, and returns the number of frames.
func compareWithGdb(t *testing.T, exe, core string) (frames int) {
	t.Helper()
	o := open(t, core)
	want := gdbStacks(t, exe, core)
	if len(want) != len(o.lwps) {
		t.Errorf("%d threads, gdb has %d", len(o.lwps), len(want))
	}
	for _, lwp := range o.lwps {
		fs, got := o.formatStack(t, lwp)
		frames += len(fs)
		// gdb does not detect that a coroutine ends at its entry, and continues to 0.
		if astray, ok := strings.CutSuffix(want[lwp.Value], " 0x0"); ok && len(fs) >= 3 &&
			strings.HasPrefix(astray, got+" ") {
			continue
		}
		if got != want[lwp.Value] {
			t.Errorf("%v:\n got %s\nwant %s", lwp, got, want[lwp.Value])
		}
	}
	return frames
}
