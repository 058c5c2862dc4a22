package live

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// sleepers returns programs in which each thread sleeps for ever in one construct.
func sleepers() []e2e.Program {
	return []e2e.Program{
		{Name: "barrier"}, {Name: "barrier_for"}, {Name: "barrier_single"}, {Name: "verdict_barrier_left"},
		{Name: "nested"}, {Name: "serialized_nested"}, {Name: "roots"}, {Name: "pthreads"},
		{Name: "idle"},
		{Name: "lock"}, {Name: "nest_lock"}, {Name: "lock_cycle"}, {Name: "critical"},
		{Name: "verdict_mutex_lock"},
		{Name: "verdict_condition"}, {Name: "verdict_join"}, {Name: "verdict_lock_names", Args: []string{"1"}},
		{Name: "tasks_queued"}, {Name: "tasks_deps"},
		{Name: "loop_kinds", Args: []string{"1"}}, {Name: "loop_kinds", Args: []string{"2"}},
		{Name: "loop_kinds", Args: []string{"3"}}, {Name: "loop_kinds", Args: []string{"4"}},
		{Name: "loop_forms", Args: []string{"plain"}}, {Name: "loop_forms", Args: []string{"stealing"}},
	}
}

// gompSleepers returns those that sleep on GCC's runtime only: in these waits, LLVM's runtime spins.
func gompSleepers() []e2e.Program {
	return []e2e.Program{
		{Name: "reduction"}, {Name: "verdict_atomic"}, {Name: "ordered"}, {Name: "verdict_ordered_lock"},
		{Name: "taskwait"},
		{Name: "taskgroup"}, {Name: "verdict_depend"}, {Name: "verdict_tied"}, {Name: "verdict_detached"},
	}
}

// TestSleepingProgramIsStoppedOnce looks at programs in which all threads sleep. The rehearsal then knows all
// memory that an answer needs, so the program is stopped once. Each read that the rehearsal missed costs another
// stop.
func TestSleepingProgramIsStoppedOnce(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		all := sleepers()
		if l.Family == "libgomp" {
			all = append(all, gompSleepers()...)
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for _, sleeper := range all {
				if !l.Turn(sleeper.Name) {
					continue
				}
				t.Run(strings.Join(append([]string{sleeper.Name}, sleeper.Args...), "-"), func(t *testing.T) {
					sleeper.Env = []string{"KMP_LOCK_KIND=futex"} // the other kinds spin
					p := omptest.Start(t, l.Run(t, sleeper))
					defer p.Stop()
					for _, verb := range []string{"report", "threads", "regions", "tasks", "stacks", "icvs",
						"diagnose"} {
						p.AwaitSleep(t)
						checkStops(t, verb, p.PID)
					}
				})
			}
		})
	}
}

// checkStops requires that a verb stops a process once.
func checkStops(t *testing.T, verb string, pid int) {
	t.Helper()
	status, out, errs := e2e.Output(t, verb, "--json", strconv.Itoa(pid))
	if status != cli.ExitOK && status != cli.ExitFound {
		t.Fatalf("%s: exit status %d: %s", verb, status, errs)
	}
	if k := e2e.Decode(t, out).Target.Pause; k == nil || k.Stops != 1 {
		t.Errorf("%s: pause %+v, want one stop", verb, k)
	}
}

// TestSpinningProgramIsStoppedOnce looks at programs in which some threads spin for a lock. Their stack pointers
// are unknown before the stop, which also copies the memory that they point to. LLVM's runtime reserves 64 bytes
// of stack for each thread's number before its first function, so the outermost frames of many threads are far
// away. A thread may be between two functions of the wait, so one look may need more stops.
func TestSpinningProgramIsStoppedOnce(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "mixed"})
	for _, threads := range []string{"16", "600"} {
		t.Run(threads, func(t *testing.T) {
			p := omptest.Start(t, omptest.Run{
				Exe: exe, Runtime: omptest.RuntimeOf(t, 19),
				Args: []string{threads}, Env: []string{"OMP_STACKSIZE=256K"},
			})
			defer p.Stop()
			someOneStop(t, p.PID)
		})
	}
}

// someOneStop looks at a process until one stop was enough.
func someOneStop(t *testing.T, pid int) {
	t.Helper()
	for {
		_, out, errs := e2e.Output(t, "report", "--json", strconv.Itoa(pid))
		if errs != "" {
			t.Fatal(errs)
		}
		if k := e2e.Decode(t, out).Target.Pause; k != nil && k.Stops == 1 {
			return
		}
	}
}
