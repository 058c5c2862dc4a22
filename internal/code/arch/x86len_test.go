package arch

import (
	"bufio"
	"debug/elf"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestLengthsAsObjdump checks that every instruction of real libraries has the length and the jump target that
// objdump prints. libc and libm contain code for every extension of the processor.
func TestLengthsAsObjdump(t *testing.T) {
	omptest.Needs(t, "objdump")
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1"} {
		t.Run(path, func(t *testing.T) {
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			text := f.Section(".text")
			code, err := text.Data()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("objdump", "-d", "-w", "-j", ".text", path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatalf("%v: apt-get install binutils", err)
			}
			n, bad := 0, 0
			for lines := bufio.NewScanner(out); lines.Scan(); {
				fields := strings.Split(lines.Text(), "\t")
				if len(fields) < 3 || strings.Contains(fields[2], "(bad)") {
					continue
				}
				pc, err := strconv.ParseUint(strings.Trim(fields[0], " :"), 16, 64)
				if err != nil {
					continue
				}
				n++
				want := len(strings.Fields(fields[1]))
				got, jump := x86Length(code[pc-text.Addr:])
				if got == 1 && code[pc-text.Addr] == 0x9b {
					continue // fwait, which objdump combines with the next instruction
				}
				if got != want || jumpDiffers(fields[2], pc+uint64(got)+uint64(jump), jump) {
					if bad++; bad < 20 {
						t.Errorf("%s: %d bytes, jump by %d", lines.Text(), got, jump)
					}
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d instructions, %d differ", n, bad)
			if n < 10000 {
				t.Errorf("%d instructions, want at least 10000", n)
			}
		})
	}
}

// jumpDiffers compares the target of a direct jump with objdump's text.
func jumpDiffers(text string, target uint64, jump int64) bool {
	words := strings.Fields(text)
	for len(words) > 0 && (words[0] == "bnd" || words[0] == "notrack" || strings.HasPrefix(words[0], "data16")) {
		words = words[1:]
	}
	direct := len(words) > 1 && (words[0][0] == 'j' || words[0] == "loop") && !strings.Contains(words[1], "*")
	if !direct {
		return jump != 0
	}
	want, err := strconv.ParseUint(strings.TrimSuffix(strings.Split(words[1], ",")[0], ","), 16, 64)
	return err != nil || want != target
}
