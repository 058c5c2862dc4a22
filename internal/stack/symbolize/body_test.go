package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtentWork checks, in allocations, that finding a variable costs the same in a small program
// and in one with a hundred times as much debug information: other functions are not read again.
func TestExtentWork(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang-16"} {
		t.Run(compiler, func(t *testing.T) {
			few, many := extentWork(t, compiler, 10), extentWork(t, compiler, 1000)
			if many > 2*few+8 {
				t.Errorf("%v allocations with 1,000 functions, %v with 10", many, few)
			}
		})
	}
}

// extentWork counts the allocations of finding a variable of the last of n functions again.
func extentWork(t *testing.T, compiler string, n int) float64 {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "int f%d(int n) { volatile int a[4] = {n}; { long b = n; return a[n & 3] + b; } }\n", i)
	}
	text.WriteString("int last(int n) { volatile int room[16] = {n}; return room[n & 15]; }\n")
	text.WriteString("int main(void) { return last(1); }\n")
	source, file := filepath.Join(t.TempDir(), "many.c"), filepath.Join(t.TempDir(), "many")
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	runTool(t, compiler, "-g", "-O0", "-o", file, source)
	s := openSymbolizer(t, file)
	const frame = 0x7ffc0000
	f := Activation{PC: addressOf(t, file, "last") + 8, CFA: frame,
		Register: func(int) (uint64, bool) { return frame - 16, true }}
	find := func() (sizes int) {
		for addr := uint64(frame - 256); addr < frame; addr += 4 {
			if low, high, ok := s.LocalExtent(f, addr); ok && high-low == 64 {
				sizes++
			}
		}
		return sizes
	}
	if got := find(); got != 16 {
		t.Fatalf("%d words are in the variable, want 16", got)
	}
	return testing.AllocsPerRun(1, func() { find() })
}
