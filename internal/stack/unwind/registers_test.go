package unwind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// savedRegisters are the registers that functions preserve for their callers, by DWARF number.
var savedRegisters = map[string]int{"rbx": 3, "rbp": 6, "rsp": 7, "r12": 12, "r13": 13, "r14": 14, "r15": 15}

// dumper prints those registers for every frame of every thread.
const dumper = `
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    f, n = gdb.newest_frame(), 0
    while f is not None:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            for r in ("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15"):
                v = f.read_register(r)
                if not v.is_optimized_out:
                    print("REG", t.ptid[1], n, r, "%#x" % (int(v) & (1 << 64) - 1))
            n += 1
        f = f.older()
`

// TestRegistersAsGdb asserts that the registers of every frame have the values
// that gdb restores.
func TestRegistersAsGdb(t *testing.T) {
	for _, c := range []struct{ cc, opt string }{{"gcc", "-O2"}, {"clang-16", "-O3"}} {
		t.Run(c.cc, func(t *testing.T) {
			exe := compile(t, c.cc, "stacks.c", c.opt)
			core := omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel, Args: []string{"vdso"}}).Core
			script := filepath.Join(t.TempDir(), "registers.py")
			if err := os.WriteFile(script, []byte(dumper), 0o644); err != nil {
				t.Fatal(err)
			}
			out := omptest.Gdb(t, exe, core, "set backtrace past-main on", "set backtrace past-entry on", "source "+
				script)
			if n := compareRegisters(t, open(t, core), out); n < 300 {
				t.Errorf("%d registers compared, want at least 300", n)
			}
		})
	}
}

func compareRegisters(t *testing.T, o *opened, gdb string) (compared int) {
	t.Helper()
	want := map[string]string{}
	for line := range strings.Lines(gdb) {
		if f := strings.Fields(line); len(f) == 5 && f[0] == "REG" {
			want[strings.Join(f[1:4], " ")] = f[4]
		}
	}
	for _, lwp := range o.lwps {
		frames, _ := o.formatStack(t, lwp)
		for i, f := range frames {
			for name, n := range savedRegisters {
				v, known := f.Registers.Get(n)
				w := want[fmt.Sprint(lwp.Value, " ", i, " ", name)]
				if !known || w == "" {
					continue
				}
				compared++
				if got := fmt.Sprintf("%#x", v); got != w {
					t.Errorf("%v frame %d at %#x: %s = %s, gdb has %s", lwp, i, f.PC, name, got, w)
				}
			}
			if i > 0 && !frames[i-1].Signal && frames[i-1].CFA != f.Registers.SP() {
				t.Errorf("%v frame %d: CFA %#x, caller's stack pointer %#x", lwp, i-1, frames[i-1].CFA,
					f.Registers.SP())
			}
		}
	}
	return compared
}
