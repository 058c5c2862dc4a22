package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// kindsRuns returns runs, for a soak, of a program with constructs of each kind, built with and without
// optimization.
func kindsRuns(t *testing.T) (runs []omptest.Run) {
	t.Helper()
	if omptest.Option("states") == "" {
		return nil
	}
	for i, level := range []string{"-O0", "-O2"} {
		gnu := omptest.Compile(t, omptest.Build{Program: "healthy_kinds", Compiler: omptest.GCC,
			Flags: []string{level, "-g"}})
		llvm := omptest.Compile(t, omptest.Build{Program: "healthy_kinds", Flags: []string{level, "-g"}})
		threads := fmt.Sprintf("OMP_NUM_THREADS=%d", 4+i)
		passive := []string{threads, "OMP_WAIT_POLICY=passive"}
		runs = append(runs,
			omptest.Run{Exe: gnu, Runtime: omptest.Libgomp(t), Env: passive},
			omptest.Run{Exe: llvm, Runtime: omptest.RuntimeOf(t, []int{14, 19}[i]), Env: passive},
			omptest.Run{Exe: gnu, Runtime: omptest.Libgomp(t), Env: []string{threads}},
			omptest.Run{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16), Env: []string{threads}})
	}
	return runs
}

// recordedRuns returns runs of healthy_busy and healthy_kinds with the recorder.
func recordedRuns(t *testing.T) []omptest.Run {
	t.Helper()
	runs := append(e2e.BusyRuns(t), kindsRuns(t)...)
	for i := range runs {
		load := "OMP_TOOL_LIBRARIES="
		if strings.HasPrefix(runs[i].Runtime.Name, "libgomp") {
			load = "LD_PRELOAD="
		}
		// A look is cheap, as a report reads little from small rings.
		runs[i].Env = append(slices.Clone(runs[i].Env), load+omptest.Recorder(t), "OMPD_RECORDER_MEMORY=64K")
	}
	return runs
}

// statesCount counts how inferred and recorded states compare.
type statesCount struct {
	looks, threads  int            // threads of OpenMP with a state
	equal           int            // by name
	finer           int            // one name is finer than the other, or of an idle worker's barrier
	unknown         int            // one of the two is undefined or overhead
	moved, disputed int            // different names, for a thread between two states, and for others
	names           map[string]int // number of times by pair of names
}

// add adds the counts of o.
func (c *statesCount) add(o statesCount) {
	c.looks += o.looks
	c.threads += o.threads
	c.equal += o.equal
	c.finer += o.finer
	c.unknown += o.unknown
	c.moved += o.moved
	c.disputed += o.disputed
	for names, n := range o.names {
		c.names[names] += n
	}
}

// String returns all counts as text.
func (c *statesCount) String() string {
	return fmt.Sprintf("%d looks, %d states: %d equal, %d as coarse names of one, %d of which one is not known, "+
		"%d in transition, %d different %v", c.looks, c.threads, c.equal, c.finer, c.unknown, c.moved, c.disputed,
		c.names)
}

// count compares the states of one picture with each other, and logs those that differ.
func (c *statesCount) count(t *testing.T, pic *picture.Picture) {
	if c.names == nil {
		c.names = map[string]int{}
	}
	c.looks++
	for i := range pic.Threads {
		th := &pic.Threads[i]
		if th.State == nil {
			continue
		}
		c.threads++
		switch s := th.State; {
		case s.Recorded == "" || saysNothing(s.Name) || saysNothing(s.Standard):
			c.unknown++
			c.names[fmt.Sprintf("%s/%s", s.Name, s.Recorded)]++
		case s.Name == s.Recorded || s.Standard == s.Recorded:
			c.equal++
		case !s.Disputed():
			c.finer++
			c.names[fmt.Sprintf("%s/%s", s.Name, s.Recorded)]++
		case inTransition(th):
			c.moved++
			t.Logf("in transition: %s; the stack is %q", inBrief(th), innermost(th))
		default:
			c.disputed++
			t.Logf("different: %s; the stack is %q", inBrief(th), innermost(th))
		}
	}
}

// saysNothing reports whether a state's name is compatible with each other name.
func saysNothing(n picture.StateName) bool { return n == picture.StateUndefined || n == "overhead" }

// inTransition reports whether a thread neither sleeps nor yields, nor is in the program's own code. It is then
// in the runtime or the recorder, entering or leaving a state.
func inTransition(th *picture.Thread) bool {
	return len(th.Stack) > 0 && th.Stack[0].Kind != picture.FrameUser && th.Stack[0].Function != "sched_yield" &&
		!strings.Contains(th.State.Evidence, "sleeps")
}

// TestRecordedStates looks at busy programs with the recorder, and compares the inferred states with those that
// the threads' own events give. Both are of one moment. A thread between a change and its event may be in either
// state, which is rare. The campaign states looks 100,000 times.
func TestRecordedStates(t *testing.T) {
	runs := recordedRuns(t)
	counts := make([]statesCount, len(runs))
	const slice = 100 // looks at one process
	for left := omptest.Number(t, "states", 90) / len(runs); left > 0; left -= slice {
		for i, run := range runs {
			t.Run(fmt.Sprint(i, "-", run.Runtime.Name), func(t *testing.T) {
				lookForStates(t, run, min(left, slice), &counts[i])
				t.Logf("so far: %s", total(counts).String())
			})
		}
	}
	const few = 2 // number of different states of a short run
	for i, c := range counts {
		if c.threads < c.looks || c.disputed > c.threads/1000+few {
			t.Errorf("%s: of %d states, %d are not those that were recorded", runs[i].Runtime.Name, c.threads,
				c.disputed)
		}
		t.Logf("%s %q: %s", runs[i].Runtime.Name, runs[i].Env, c.String())
	}
	// On a busy machine, the threads of one run may stay between a change and its event: all runs have one limit.
	if all := total(counts); all.moved+all.disputed > all.threads/1000+few*len(runs) {
		t.Errorf("of %d states, %d are not those that were recorded, and %d are in transition", all.threads,
			all.disputed, all.moved)
	}
}

// total returns the sum of counts.
func total(counts []statesCount) *statesCount {
	all := &statesCount{names: map[string]int{}}
	for _, c := range counts {
		all.add(c)
	}
	return all
}

// lookForStates looks at one process several times. If there are few processors, the process continues between
// the looks.
func lookForStates(t *testing.T, run omptest.Run, looks int, c *statesCount) {
	t.Helper()
	l := e2e.StartLoopBy(t, run, "nice", "-n", "19")
	target, err := engine.Open(t.Context(), strconv.Itoa(l.Process.Pid), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	target.KeepFiles()
	for range looks {
		question := engine.Report()
		question.Native = true
		answer, err := target.Look(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range answer.Picture.Verdicts {
			if diagnose.Hangs(v) {
				var all []string
				for i := range answer.Picture.Threads {
					th := &answer.Picture.Threads[i]
					all = append(all, fmt.Sprintf("LWP %d: %s; the stack is %q", th.LWP, inBrief(th), innermost(th)))
				}
				t.Fatalf("%s of a healthy program: %s\n%q\n%+v\n%s", v.Kind, v.Summary, v.Evidence, v.Cycle,
					strings.Join(all, "\n"))
			}
		}
		c.count(t, answer.Picture)
		answer.Close()
	}
	l.End(t)
}

// inBrief formats the states of a thread.
func inBrief(th *picture.Thread) string {
	return fmt.Sprintf("%s by %s, and %s was recorded", th.State.Name, th.State.Evidence, th.State.Recorded)
}

// innermost returns the names of a thread's innermost functions.
func innermost(th *picture.Thread) (names []string) {
	for _, f := range th.Stack[:min(5, len(th.Stack))] {
		names = append(names, fmt.Sprintf("%s+%d (%s)", f.Function, f.Offset, f.Module))
	}
	return names
}
