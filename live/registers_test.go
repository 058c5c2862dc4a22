package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// gdbRegisters are names of registers by DWARF number.
var gdbRegisters = []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"}

// TestRegistersAgreeWithGdb compares all registers of blocked threads with gdb's.
func TestRegistersAgreeWithGdb(t *testing.T) {
	prog := startMany(t, 12)
	p := openProcess(t, prog.PID, Options{})
	peekBlocked(t, p)
	var last callbacks.Target
	if _, err := p.Look(background, func(target callbacks.Target) error { last = target; return nil }); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script.py")
	text := fmt.Sprintf(`
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    print("LWP", t.ptid[1], *("%%x" %% (int(gdb.parse_and_eval("(unsigned long)$" + n)) & (2**64-1)) for n in "%s fs_base".split()))
`, strings.Join(gdbRegisters, " "))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", strconv.Itoa(prog.PID),
		"-x", script).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v: apt-get install gdb\n%s", err, out)
	}
	compared := 0
	for _, m := range regexp.MustCompile(`LWP (\d+)((?: [0-9a-f]+){18})`).FindAllStringSubmatch(string(out), -1) {
		lwp, _ := strconv.ParseUint(m[1], 10, 64)
		regs, err := last.(callbacks.RegisterReader).Registers(callbacks.LWP(lwp))
		if err != nil {
			t.Fatal(err)
		}
		for n, word := range strings.Fields(m[2]) {
			want, _ := strconv.ParseUint(word, 16, 64)
			got := regs.ThreadPointer
			name := "fs_base"
			if n < len(gdbRegisters) {
				got, _ = regs.Get(n)
				name = gdbRegisters[n]
			}
			if got != want {
				t.Errorf("LWP %d: %s is %#x, gdb has %#x", lwp, name, got, want)
			}
		}
		compared++
	}
	ids, _ := last.ThreadIDs(callbacks.ThreadIDLWP)
	if compared < 12 || compared != len(ids) {
		t.Errorf("compared %d threads; the look has %d\n%s", compared, len(ids), out)
	}
}

// TestVectorRegisters looks at a thread that adds floating-point numbers and at an idle one, both
// in loops that change no general register. The vector registers of the first change, those of the
// second do not.
func TestVectorRegisters(t *testing.T) {
	prog := startProgram(t, "vectors.c")
	p := openProcess(t, prog.pid, Options{})
	var adds, stays uint64
	if _, err := fmt.Sscan(nextLine(t, prog.out), &adds, &stays); err != nil {
		t.Fatal(err)
	}
	type seen struct{ add, stay, general string }
	look := func() (now seen) {
		t.Helper()
		_, err := p.Look(background, func(target callbacks.Target) error {
			vectors := func(lwp uint64) string {
				b, err := target.(callbacks.VectorReader).VectorRegisters(callbacks.LWP(lwp))
				if err != nil {
					return ""
				}
				return string(b)
			}
			regs, err := target.(callbacks.RegisterReader).Registers(callbacks.LWP(adds))
			regs.SetPC(0)
			now = seen{vectors(adds), vectors(stays), fmt.Sprint(regs.Values)}
			return err
		})
		if err != nil || now.add == "" || now.stay == "" {
			t.Fatalf("%d and %d bytes, %v", len(now.add), len(now.stay), err)
		}
		return now
	}
	const least = 20
	first := look()
	for n := 1; ; n++ {
		now := look()
		if now.stay != first.stay {
			t.Fatal("the vector registers of a thread that does nothing are different")
		}
		if now.general != first.general {
			t.Fatal("the general registers are different")
		}
		if n >= least && now.add != first.add {
			break
		}
	}
	prog.finish()
}
