package report

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestConstructsOfGCC reads the construct of a frame from the runtime, as GCC's function names do not show it:
// with debug information and without.
func TestConstructsOfGCC(t *testing.T) {
	for name, b := range map[string]omptest.Build{
		"debug information": {Flags: []string{"-O1", "-g"}}, "symbols": {Flags: []string{"-O2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.Program, b.Compiler = "taskwait", omptest.GCC
			core := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, b), Runtime: omptest.Libgomp(t),
				Mode: omptest.Kernel})
			seen := map[string]int{}
			for _, th := range e2e.Report(t, core.Core).Threads {
				for _, f := range th.UserStack {
					if f.Construct != "" {
						seen[f.Construct]++
					}
				}
			}
			// two threads have left the region's function
			if seen["task"] != 1 || seen["parallel"] != 1 || len(seen) != 2 {
				t.Errorf("constructs of the stacks: %v, want a task and a region", seen)
			}
		})
	}
}
