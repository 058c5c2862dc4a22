package corefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// dump makes a core of the nested program on LLVM 16's runtime.
func dump(t testing.TB, mode omptest.Mode) *omptest.Result {
	t.Helper()
	return omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: omptest.RuntimeOf(t, 16), Mode: mode,
	})
}

func open(t testing.TB, path string, o Options) *Core {
	t.Helper()
	c, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestInfo(t *testing.T) {
	for _, tt := range []struct {
		mode     omptest.Mode
		producer string
		signal   int
		fault    uint64
	}{
		{omptest.Kernel, "kernel", 6, 0}, {omptest.Segv, "kernel", 11, 0x10}, {omptest.Gcore, "gcore", 0, 0},
	} {
		t.Run(string(tt.mode), func(t *testing.T) {
			r := dump(t, tt.mode)
			c := open(t, r.Core, Options{})
			got := c.Info()
			if got.PID != r.PID || got.Executable != r.Exe || got.Producer != tt.producer || got.Signal != tt.signal ||
				got.Truncated || len(got.Warnings) > 0 {
				t.Errorf("Info = %+v; want PID %d, %s, %s, signal %d", got, r.PID, r.Exe, tt.producer, tt.signal)
			}
			if got.HasFault != (tt.fault != 0) || got.FaultAddress.Offset != tt.fault {
				t.Errorf("fault address %v, %v; want %#x", got.FaultAddress, got.HasFault, tt.fault)
			}
			if (got.CrashedLWP != 0) != (tt.signal != 0) {
				t.Errorf("crashed LWP %d with signal %d", got.CrashedLWP, tt.signal)
			}
			if got.ProcessName != filepath.Base(r.Exe) || got.Args == "" {
				t.Errorf("process %q, arguments %q", got.ProcessName, got.Args)
			}
		})
	}
}

// gdbPython runs a Python script in gdb on the core and returns what it prints.
func gdbPython(t testing.TB, r *omptest.Result, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script.py")
	if err := os.WriteFile(name, []byte("import gdb\n"+script), 0o644); err != nil {
		t.Fatal(err)
	}
	return omptest.Gdb(t, r.Exe, r.Core, "source "+name)
}

// TestThreadsAgreeWithGdb compares thread ids and registers with gdb's.
func TestThreadsAgreeWithGdb(t *testing.T) {
	for _, mode := range []omptest.Mode{omptest.Kernel, omptest.Gcore} {
		t.Run(string(mode), func(t *testing.T) {
			r := dump(t, mode)
			c := open(t, r.Core, Options{})
			want := map[uint64][4]uint64{}
			out := gdbPython(t, r, `
for t in gdb.selected_inferior().threads():
    t.switch()
    print("LWP", t.ptid[1], *("%x" % int(gdb.parse_and_eval("(unsigned long)$" + n)) for n in ("pc", "sp", "rbx", "fs_base")))
`)
			for _, m := range regexp.MustCompile(`LWP (\d+) (\w+) (\w+) (\w+) (\w+)`).FindAllStringSubmatch(out, -1) {
				lwp, _ := strconv.ParseUint(m[1], 10, 64)
				var v [4]uint64
				for i := range v {
					v[i], _ = strconv.ParseUint(m[i+2], 16, 64)
				}
				want[lwp] = v
			}
			lwps, err := c.ThreadIDs(callbacks.ThreadIDLWP)
			if err != nil || len(lwps) != len(want) || len(want) != len(r.Truth.Threads) {
				t.Fatalf("%d threads, gdb has %d, the program had %d (%v)\n%s", len(lwps), len(want),
					len(r.Truth.Threads), err, out)
			}
			pthreads, err := c.ThreadIDs(callbacks.ThreadIDPthread)
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range lwps {
				regs, err := c.Registers(id)
				if err != nil {
					t.Fatal(err)
				}
				rbx, _ := regs.Get(3)
				if got := [4]uint64{regs.PC(), regs.SP(), rbx, regs.ThreadPointer}; got != want[id.Value] {
					t.Errorf("%v: pc, sp, rbx, fs_base = %x, gdb has %x", id, got, want[id.Value])
				}
				if pthreads[i].Value != regs.ThreadPointer {
					t.Errorf("%v is %v, its thread pointer is %#x", id, pthreads[i], regs.ThreadPointer)
				}
			}
		})
	}
}

// TestMemoryAgreesWithGdb compares one word of every page, from the core and from files, with gdb.
// It skips words for which gdb returns zeros because the content is unknown.
func TestMemoryAgreesWithGdb(t *testing.T) {
	r := dump(t, omptest.Kernel)
	c := open(t, r.Core, Options{})
	var addrs []uint64
	mods, err := c.Modules()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mods {
		if m.Path == "[vdso]" {
			continue
		}
		for a := m.Low.Offset; a < m.High.Offset; a += 3 * 4096 {
			addrs = append(addrs, a+8)
		}
	}
	lwps, _ := c.ThreadIDs(callbacks.ThreadIDLWP)
	for _, id := range lwps {
		regs, _ := c.Registers(id)
		addrs = append(addrs, regs.SP())
	}
	var list strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&list, "%#x, ", a)
	}
	out := gdbPython(t, r, `
for a in [`+list.String()+`]:
    try: print("W", "%x" % a, "%x" % int.from_bytes(gdb.selected_inferior().read_memory(a, 8).tobytes(), "little"))
    except gdb.MemoryError: print("W", "%x" % a, "none")
`)
	compared := 0
	for _, m := range regexp.MustCompile(`W (\w+) (\w+)`).FindAllStringSubmatch(out, -1) {
		a, _ := strconv.ParseUint(m[1], 16, 64)
		var b [8]byte
		err := c.ReadMemory(callbacks.Addr(a), b[:])
		if m[2] == "none" {
			if err == nil {
				t.Errorf("%#x: %x, gdb cannot read it", a, b)
			}
			continue
		}
		want, _ := strconv.ParseUint(m[2], 16, 64)
		if err != nil && errors.Is(err, callbacks.ErrNotCaptured) && want == 0 {
			continue
		}
		if got := binary.LittleEndian.Uint64(b[:]); err != nil || got != want {
			t.Errorf("%#x: %x, %v; gdb has %x", a, got, err, want)
		}
		compared++
	}
	if compared < len(addrs)*3/4 {
		t.Errorf("only %d of %d words could be compared", compared, len(addrs))
	}
}
