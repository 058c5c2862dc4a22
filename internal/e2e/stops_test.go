package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// sleepers are programs whose threads sleep for ever, each in one construct.
func sleepers() []expectation {
	return []expectation{
		{program: "barrier"}, {program: "barrier_for"}, {program: "barrier_single"}, {program: "verdict_barrier_left"},
		{program: "nested"}, {program: "serialized_nested"}, {program: "roots"}, {program: "pthreads"},
		{program: "idle"},
		{program: "lock"}, {program: "nest_lock"}, {program: "lock_cycle"}, {program: "critical"},
		{program: "verdict_mutex_lock"},
		{program: "verdict_condition"}, {program: "verdict_join"}, {program: "verdict_lock_names", args: []string{"1"}},
		{program: "tasks_queued"}, {program: "tasks_deps"},
		{program: "loop_kinds", args: []string{"1"}}, {program: "loop_kinds", args: []string{"2"}},
		{program: "loop_kinds", args: []string{"3"}}, {program: "loop_kinds", args: []string{"4"}},
		{program: "loop_forms", args: []string{"plain"}}, {program: "loop_forms", args: []string{"stealing"}},
	}
}

// gompSleepers are those that sleep on GCC's runtime only: in these waits, LLVM's
// spins.
func gompSleepers() []expectation {
	return []expectation{
		{program: "reduction"}, {program: "verdict_atomic"}, {program: "ordered"}, {program: "verdict_ordered_lock"},
		{program: "taskwait"},
		{program: "taskgroup"}, {program: "verdict_depend"}, {program: "verdict_tied"}, {program: "verdict_detached"},
	}
}

// TestOneStop looks at programs all of whose threads sleep: what an answer needs is
// then known from its rehearsal, so that the program is stopped once. What an answer
// reads and its rehearsal does not costs another stop.
func TestOneStop(t *testing.T) {
	for _, l := range lanes() {
		if l.mode != omptest.Live {
			continue
		}
		all := sleepers()
		if l.family == "libgomp" {
			all = append(all, gompSleepers()...)
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			for _, e := range all {
				if !l.turn(e.program) {
					continue
				}
				t.Run(strings.Join(append([]string{e.program}, e.args...), "-"), func(t *testing.T) {
					e.env = []string{"KMP_LOCK_KIND=futex"} // others spin
					p := omptest.Start(t, l.run(t, e))
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

// checkStops holds how often a verb stops a process.
func checkStops(t *testing.T, verb string, pid int) {
	t.Helper()
	status, out, errs := output(t, verb, "--json", strconv.Itoa(pid))
	if status != cli.ExitOK && status != cli.ExitFound {
		t.Fatalf("%s: exit status %d: %s", verb, status, errs)
	}
	if k := decode(t, out).Target.Pause; k == nil || k.Stops != 1 {
		t.Errorf("%s: pause %+v, want one stop", verb, k)
	}
}

// TestOneStopSpinning looks at programs some of whose threads spin for a lock. Where they
// are is not known before the stop, in which what they point to is copied too. LLVM's
// runtime leaves 64 bytes of stack for each thread's number before its first function: of
// many threads, the outermost frames are far away. A thread may be on its way between two
// functions of the wait, so not each look counts.
func TestOneStopSpinning(t *testing.T) {
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
	const looks = 10
	for range looks {
		_, out, errs := output(t, "report", "--json", strconv.Itoa(pid))
		if errs != "" {
			t.Fatal(errs)
		}
		if k := decode(t, out).Target.Pause; k != nil && k.Stops == 1 {
			return
		}
	}
	t.Errorf("none of %d looks made do with one stop", looks)
}
