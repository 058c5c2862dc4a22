package inspect_test

import (
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// countedReport makes a report, with facts, of a core of a program with the argument n. It returns the number of
// reads of the core.
func countedReport(t *testing.T, run omptest.Run, n int) (*picture.Picture, int) {
	t.Helper()
	run.Mode, run.Args = omptest.Kernel, []string{strconv.Itoa(n)}
	cfg := configOf(t, omptest.Dump(t, run).Core)
	c := &countedTarget{
		Target: cfg.Target, RegisterReader: cfg.Target.(callbacks.RegisterReader),
		ModuleLister: cfg.Target.(callbacks.ModuleLister),
	}
	procs, err := extended.Open(c, readers.Options{})
	if err != nil || len(procs) != 1 {
		t.Fatalf("%d runtimes, %v", len(procs), err)
	}
	cfg.Target, cfg.Runtimes = c, []rtl.Runtime{procs[0]}
	in, err := inspect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pic := in.Picture(picture.ReportParts())
	in.Rehearse(picture.ReportParts(), true)
	return pic, c.reads
}

// countedTarget counts the reads of a target.
type countedTarget struct {
	callbacks.Target
	callbacks.RegisterReader
	callbacks.ModuleLister
	reads int
}

// ReadMemory reads from the target.
func (c *countedTarget) ReadMemory(a callbacks.Address, p []byte) error {
	c.reads++
	return c.Target.ReadMemory(a, p)
}

// recursions are runs of a program on runtimes of both kinds.
func recursions(t *testing.T, program string) map[string]omptest.Run {
	t.Helper()
	runs := map[string]omptest.Run{}
	llvm, gcc := omptest.Build{Program: program}, omptest.Build{Program: program, Compiler: omptest.GCC}
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		runs[rt.Name] = omptest.Run{Exe: omptest.Compile(t, llvm), Runtime: rt}
	}
	for _, rt := range omptest.Libgomps(t) {
		if rt.Major == 12 || rt.Major == 14 {
			runs[rt.Name] = omptest.Run{Exe: omptest.Compile(t, gcc), Runtime: rt}
		}
	}
	const all, quick = 4, 3 // a quick run may have only one on GNU's runtime
	if n := len(runs); n != all && (n != quick || !omptest.Quick()) {
		t.Fatalf("%d runtimes, want %d: Debian's have changed", n, all)
	}
	return runs
}

// checkLinear compares the reads of a report of n things with those of 2n.
func checkLinear(t *testing.T, n, few, many int) {
	t.Helper()
	if few < n/10 || 2*many > 5*few {
		t.Errorf("%d reads for %d, %d for twice as many: %.1f times", few, n, many, float64(many)/float64(few))
	}
	t.Logf("%d reads for %d, %d for twice as many", few, n, many)
}

// TestCostOfTaskRecursion checks that each task of a chain is read once, not once for each task inside it.
func TestCostOfTaskRecursion(t *testing.T) {
	const depth = 1000
	for name, run := range recursions(t, "task_recursion") {
		t.Run(name, func(t *testing.T) {
			_, few := countedReport(t, run, depth)
			pic, many := countedReport(t, run, 2*depth)
			checkLinear(t, depth, few, many)
			states := map[string]int{}
			for _, task := range pic.Tasks {
				if string(task.Kind) == string(picture.TaskExplicit) {
					states[string(task.State)]++
				}
			}
			if states["running"] != 1 || states["waiting"] != 2*depth-1 || len(states) != 2 {
				t.Errorf("tasks by state: %v", states)
			}
		})
	}
}

// TestCostOfNesting checks the same for parallel regions.
func TestCostOfNesting(t *testing.T) {
	const depth = 200
	for name, run := range recursions(t, "region_recursion") {
		t.Run(name, func(t *testing.T) {
			_, few := countedReport(t, run, depth)
			pic, many := countedReport(t, run, 2*depth)
			checkLinear(t, depth, few, many)
			if len(pic.Regions) != 2*depth+1 {
				t.Errorf("%d regions, want %d", len(pic.Regions), 2*depth+1)
			}
		})
	}
}
