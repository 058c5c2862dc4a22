package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// expectation is a program with one verdict, or none, and what the verdict says.
type expectation struct {
	program   string
	args      []string
	env       []string
	crash     bool     // dies by a signal of its own
	only      string   // the one way to build it; empty: all
	info      bool     // the verdict is information
	kind      string   // of the verdict that must be there; empty: no hang, no crash
	certainty string   // empty: certain or likely, by how much the compiler left
	threads   int      // that the verdict is about
	waits     []string // what the threads of the cycle wait for: kind and name
	says      []string // parts of the text
}

func expectations() []expectation {
	return []expectation{
		{program: "lock_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}, says: []string{"Found 1 OpenMP deadlock", "omp_set_lock in deposit"}},
		{program: "verdict_critical_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"critical audit", "critical ledger"}, says: []string{"critical section ledger"}},
		{program: "verdict_critical_barrier", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"barrier", "critical room"}, says: []string{"hold no lock and stay in no critical section"}},
		{program: "verdict_critical_barrier", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"barrier", "critical room"}},
		{program: "verdict_nest_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}, says: []string{"owner_id"}},
		{program: "verdict_mutex_lock", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock queue", "mutex journal"}, says: []string{"__owner of the mutex"}},
		{program: "verdict_task_lock", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"}, says: []string{"runs the task"}},
		{program: "verdict_wrapped", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock", "lock"}, says: []string{"account_open in transfer"}},
		{program: "verdict_guard", kind: "deadlock", threads: 2, waits: []string{"lock", "lock"}},
		{program: "verdict_self_lock", kind: "self_deadlock", certainty: "certain", threads: 1, waits: []string{"lock once"}, says: []string{"which it has itself", "make it a nest lock"}},
		{program: "verdict_stack_recursion", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1, says: []string{"OMP_STACKSIZE=", "deeper", "calls itself"}},
		{program: "verdict_stack_array", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1, says: []string{"stack of 2M", "mean", "large arrays"}},
		{program: "verdict_barrier_left", kind: "barrier_divergent", certainty: "certain", threads: 2, waits: []string{"barrier", "barrier"}, says: []string{"at the end of the parallel region", "verdict_barrier_left.c:20"}},
		{program: "verdict_barrier_left", args: []string{"0"}, kind: "barrier_divergent", certainty: "certain", threads: 2, waits: []string{"barrier", "barrier"}},
		{program: "verdict_barrier_two", only: "O0", kind: "barrier_divergent", certainty: "certain", threads: 3, says: []string{"verdict_barrier_two.c:22", "verdict_barrier_two.c:26"}},
		{program: "verdict_lock_kept", kind: "lock_orphaned", certainty: "likely", threads: 2, says: []string{"lock cache", "nobody will give back"}},
		{program: "verdict_detached", kind: "task_starved", info: true, certainty: "possible", threads: 1, says: []string{"detached task", "event is not fulfilled"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, kind: "one_thread", info: true, certainty: "certain", threads: 2, says: []string{"it is nested, and max-active-levels-var allows 1 active level"}},
		{program: "verdict_one_thread", args: []string{"2", "1"}, kind: "one_thread", info: true, certainty: "certain", threads: 1, says: []string{"num_threads"}},
		{program: "verdict_one_thread", args: []string{"3", "1"}, kind: "one_thread", info: true, certainty: "certain", threads: 1, says: []string{"if clause was false"}},
		{program: "verdict_one_thread", args: []string{"4", "1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"called omp_set_num_threads(1)"}},
		{program: "verdict_one_thread", args: []string{"5", "1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"one processor only"}},
		{program: "verdict_one_thread", args: []string{"7", "1"}, env: []string{"OMP_NUM_THREADS=1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"OMP_NUM_THREADS is 1"}},
		{program: "verdict_one_thread", args: []string{"7", "2"}, env: []string{"OMP_NUM_THREADS=4", "OMP_THREAD_LIMIT=2"}, kind: "one_thread", certainty: "certain", threads: 2, says: []string{"4 threads was asked for", "thread-limit-var is 2"}},
		{program: "verdict_two_runtimes", kind: "two_runtimes", certainty: "certain", says: []string{"libgomp.so.1", "libomp.so.5"}},
		{program: "healthy_lock_held"}, {program: "healthy_released"}, {program: "healthy_slow_member"},
	}
}

// TestVerdicts asserts the exact verdict on a program for each, and silence on
// programs that look alike and are healthy.
func TestVerdicts(t *testing.T) {
	builds := map[string][]string{"O0": {"-O0", "-g"}, "O1": {"-O1", "-g"}, "O2": {"-O2", "-g"}}
	for _, major := range []int{14, 16, 19} {
		for name, flags := range builds {
			t.Run(fmt.Sprintf("libomp-%d/%s", major, name), func(t *testing.T) {
				t.Parallel()
				for _, e := range expectations() {
					if e.only != "" && e.only != name {
						continue
					}
					t.Run(strings.Join(append([]string{e.program}, e.args...), "-"), func(t *testing.T) {
						exe := omptest.Compile(t, omptest.Build{Program: e.program, Flags: flags})
						mode := omptest.Gcore
						if e.crash {
							mode = omptest.Kernel
						}
						r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, major), Args: e.args, Env: e.env, Mode: mode})
						e.check(t, r.Core)
					})
				}
			})
		}
	}
}

// verdictsOf are the verdicts that diagnose prints as JSON, and its exit status.
func verdictsOf(t testing.TB, core string) (int, []inspect.Verdict) {
	t.Helper()
	status, out, errs := output(t, "diagnose", "--json", core)
	if status != exitOK && status != exitFound {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	var pic inspect.Picture
	if err := json.Unmarshal([]byte(out), &pic); err != nil {
		t.Fatal(err)
	}
	return status, pic.Verdicts
}

// faults are the verdicts that say that something is wrong, without those on what
// follows from it, or on more threads than processors: the machine may be small.
func faults(vs []inspect.Verdict) []inspect.Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v inspect.Verdict) bool {
		return v.Severity == inspect.SeverityInfo || v.Kind == inspect.VerdictBarrierMissing || v.Kind == inspect.VerdictOversubscribed
	})
}

func (e expectation) check(t *testing.T, core string) {
	t.Helper()
	status, vs := verdictsOf(t, core)
	found := faults(vs)
	if e.info {
		if len(found) > 0 || status != exitOK {
			t.Errorf("exit status %d and %+v, want information only", status, found)
		}
		found = slices.DeleteFunc(vs, func(v inspect.Verdict) bool { return v.Kind != e.kind })
	}
	if e.kind == "" {
		if len(found) > 0 || status != exitOK {
			t.Errorf("exit status %d and %+v, want no verdict", status, found)
		}
		return
	}
	if len(found) != 1 || found[0].Kind != e.kind {
		t.Fatalf("verdicts %+v, want one %s\ncore %s", found, e.kind, core)
	}
	v := found[0]
	if e.certainty != "" && v.Certainty != e.certainty || e.certainty == "" && v.Certainty == inspect.Possible || len(v.Threads) != e.threads {
		t.Errorf("%s with %d threads, want %s with %d\ncore %s\n%v", v.Certainty, len(v.Threads), e.certainty, e.threads, core, v.Evidence)
	}
	if want := map[bool]int{true: exitFound, false: exitOK}[diagnose.Hangs(v)]; status != want {
		t.Errorf("exit status %d, want %d", status, want)
	}
	var waits []string
	for _, s := range v.Cycle {
		waits = append(waits, strings.TrimSpace(s.WaitsFor.Kind+" "+s.WaitsFor.Name))
	}
	if slices.Sort(waits); !slices.Equal(waits, e.waits) {
		t.Errorf("the threads wait for %q, want %q", waits, e.waits)
	}
	_, text, _ := output(t, "diagnose", core)
	for _, s := range e.says {
		if !strings.Contains(text, s) {
			t.Errorf("the text does not say %q:\n%s", s, text)
		}
	}
}

// TestNoFalseVerdicts holds all programs of the matrix, which wait for many things
// and hang for none, but for one.
func TestNoFalseVerdicts(t *testing.T) {
	for _, major := range []int{14, 15, 16, 19} {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			t.Parallel()
			for _, s := range situations {
				if s.program == "lock_cycle" {
					continue
				}
				t.Run(s.program, func(t *testing.T) {
					run := omptest.Run{
						Exe: omptest.Compile(t, omptest.Build{Program: s.program}), Runtime: omptest.RuntimeOf(t, major),
						Args: s.args, Mode: omptest.Kernel,
					}
					if s.segv {
						run.Mode = omptest.Segv
					}
					status, vs := verdictsOf(t, omptest.Dump(t, run).Core)
					for _, v := range vs {
						if v.Severity == inspect.SeverityHang {
							t.Errorf("%s: %s", v.Kind, v.Summary)
						}
					}
					if status != exitOK {
						t.Errorf("exit status %d", status)
					}
				})
			}
		})
	}
}
