package report

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
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

// TestTargetTaskwait looks at a thread that waits for a target task, an explicit task, or both, in a taskwait.
func TestTargetTaskwait(t *testing.T) {
	const program = "target_taskwait"
	for _, level := range []string{"-O0", "-O2"} {
		flags := []string{level, "-g"}
		for _, run := range []omptest.Run{
			{Exe: omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: flags}),
				Runtime: omptest.Libgomp(t)},
			{Exe: omptest.Compile(t, omptest.Build{Program: program, Flags: flags}), Runtime: omptest.RuntimeOf(t, 16)},
		} {
			for way, want := range []string{"target task", "", ""} {
				run.Mode, run.Args = omptest.Live, []string{strconv.Itoa(way)}
				t.Run(fmt.Sprint(run.Runtime.Name, level, way), func(t *testing.T) {
					_, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
					found := 0
					for _, th := range pic.Threads {
						if th.State == nil || th.State.Name != picture.StateTaskwait {
							continue
						}
						if found++; !strings.HasPrefix(th.WaitName, want) || want == "" && th.WaitName != "" {
							t.Errorf("it waits for %q, want %q", th.WaitName, want)
						}
					}
					if found != 1 {
						t.Errorf("%d threads wait in a taskwait", found)
					}
				})
			}
		}
	}
}
