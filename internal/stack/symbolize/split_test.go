package symbolize

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSplitDebugInformation builds a program with split debug information except for the lines.
// Lines are found, and one warning names the missing file.
func TestSplitDebugInformation(t *testing.T) {
	programs, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, compiler := range []string{"gcc", "clang-16"} {
		for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
			for _, split := range []bool{true, false} {
				flags := []string{"-g", "-O0", version}
				if split {
					flags = append(flags, "-gsplit-dwarf")
				}
				t.Run(strings.Join(append([]string{compiler}, flags...), " "), func(t *testing.T) {
					t.Chdir(t.TempDir()) // where clang writes the split file
					if err := os.Symlink(programs, "testdata"); err != nil {
						t.Fatal(err)
					}
					file := compile(t, "split.c", compiler, flags...)
					s := openSymbolizer(t, file)
					if _, line, err := s.Line(addressOf(t, file, "pick") + 4); err != nil || line != 7 {
						t.Errorf("line %d, %v, want 7", line, err)
					}
					name, ok := s.VariableName(addressOf(t, file, "bank") + 8)
					if split == ok || ok && name != "bank.locks[1]" {
						t.Errorf("the variable is %q (%v)", name, ok)
					}
					warned := slices.ContainsFunc(s.Warnings(nil), func(w string) bool {
						return strings.Contains(w, ".dwo") && strings.Contains(w, "build without -gsplit-dwarf")
					})
					if warned != split {
						t.Errorf("warnings %q", s.Warnings(nil))
					}
				})
			}
		}
	}
}
