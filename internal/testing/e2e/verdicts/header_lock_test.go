package verdicts

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestLocksInSystemHeaders looks at a deadlock of locks that functions of a system header take and give back, and at
// the healthy twin, in which the holder of a lock works.
func TestLocksInSystemHeaders(t *testing.T) {
	headers := filepath.Join(omptest.Programs(t), "system_headers")
	for _, level := range []string{"-O0", "-O2"} {
		for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
			run := omptest.Run{Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live, Env: e2e.Asleep}
			name := "clang" + level
			if compiler == omptest.GCC {
				run.Runtime, name = omptest.Libgomp(t), "gcc"+level
			}
			run.Exe = omptest.Compile(t, omptest.Build{Program: "verdict_header_lock", Compiler: compiler,
				Flags: []string{level, "-g", "-isystem", headers}})
			run.Args = []string{"0"}
			t.Run(name, func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictDeadlock}) {
					t.Errorf("hangs %v, want one deadlock:\n%s", kinds, words)
				}
				has := []string{"waits for lock rows", "waits for lock columns", "by_rows", "by_columns"}
				checkWords(t, words, has, nil)
			})
			run.Args = []string{"1"}
			t.Run(name+"_healthy", func(t *testing.T) {
				if kinds, words := hangOf(t, run); len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
				}
			})
		}
	}
}
