package verdicts

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// hangCase is a program that hangs, with the kind of its verdict and words of its text.
type hangCase struct {
	name, program string
	args          []string
	env           []string
	only          string // the part of the names of the runs in which it hangs; empty: all
	kind          picture.VerdictKind
	has, lacks    []string
	handled       bool // a signal's handler might end the hang: the program can set one, and a core does not have it
}

// checkHangs looks at programs that hang, and at their healthy twins: the same with one argument of 1 more.
func checkHangs(t *testing.T, cases []hangCase) {
	t.Helper()
	for _, c := range cases {
		for _, twin := range []bool{false, true} {
			args, name := c.args, c.name
			if twin {
				args, name = append(slices.Clone(args), "1"), name+"_healthy"
			}
			for i, run := range handoverRuns(t, c.program, args...) {
				if i%3 == 1 || !strings.Contains(handoverName(i, run), c.only) {
					continue
				}
				run.Env = append(run.Env, c.env...)
				t.Run(name+"/"+handoverName(i, run), func(t *testing.T) {
					kinds, words := hangOf(t, run)
					c.judge(t, kinds, words, twin)
				})
			}
		}
	}
}

// judge compares the hangs in a report with those of a case, or of its healthy twin.
func (c hangCase) judge(t *testing.T, kinds []picture.VerdictKind, words string, twin bool) {
	t.Helper()
	kinds = slices.DeleteFunc(kinds, func(k picture.VerdictKind) bool { // it follows from the other one
		return k == picture.VerdictBarrierMissing && len(kinds) > 1
	})
	switch {
	case twin && len(kinds) > 0:
		t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
	case !twin && !slices.Equal(kinds, []picture.VerdictKind{c.kind}):
		t.Errorf("hangs %v, want one %s:\n%s", kinds, c.kind, words)
	case !twin:
		checkWords(t, words, c.has, c.lacks)
	}
}

// TestNamesOfHeapLocks looks at deadlocks of locks to which pointers in variables lead: members of standard containers,
// of objects and arrays.
func TestNamesOfHeapLocks(t *testing.T) {
	var cases []hangCase
	for way, names := range [][]string{
		{"lock g.locks[2] in main", "lock g.locks[3] in main"},
		{"mutex buckets[2].lock", "mutex buckets[3].lock"},
		{"lock nodes[1]->lock", "lock nodes[2]->lock"},
		{"lock *inner", "lock *outer"},
		{"lock pool[1].lock", "lock pool[3].lock"},
		{"lock left->lock", "lock right->lock"},
		{"mutex doors[1]", "mutex doors[2]"},
		{"lock roomy->lock", "lock tight->lock"},
	} {
		cases = append(cases, hangCase{
			name: strconv.Itoa(way), program: "verdict_lock_paths", args: []string{strconv.Itoa(way)},
			kind: picture.VerdictDeadlock, has: names,
		})
	}
	checkHangs(t, cases)
}

// TestLocksOfLibraries looks at threads that wait for locks of the loader and of malloc.
func TestLocksOfLibraries(t *testing.T) {
	checkHangs(t, []hangCase{
		{
			name: "loader", program: "verdict_loader", kind: picture.VerdictDeadlock,
			has: []string{
				"waits for mutex of the dynamic loader", "waits for lock results", "constructor or destructor",
			},
		},
		{
			name: "malloc", program: "verdict_handler_heap", kind: picture.VerdictSelfDeadlock,
			has: []string{
				"waits for mutex of malloc", "The program had crashed before, in grow verdict_handler_heap.c:28: it " +
					"had called abort", "malloc(): corrupted top size", "written past the end of an array on the heap",
				"report, the handler of SIGABRT", "look for the cause of the crash in grow",
			},
		},
	})
}

// TestLockOfSuspendedFiber looks at a thread that waits for the lock of a fiber which only that thread could continue.
// In the healthy twin, another thread would continue it.
func TestLockOfSuspendedFiber(t *testing.T) { checkHangs(t, fibers()) }

func fibers() []hangCase {
	const suspended = "No thread is in code that holds lock chair. A suspended fiber (coroutine) may hold it, which " +
		"no thread can continue: "
	const fix = "let no fiber keep a lock while it is suspended (swapcontext)"
	const kind = picture.VerdictLockOrphaned
	return []hangCase{
		{
			name: "fiber", program: "verdict_fiber", args: []string{"0"}, kind: kind,
			has: []string{suspended + "LWP ", "runs on a stack that is not its own, as a fiber or coroutine does: " +
				"the frames of other fibers are not seen", fix},
		},
		{
			name: "thread", program: "verdict_fiber", args: []string{"1"}, kind: kind,
			has:   []string{suspended + "the program is linked with swapcontext", fix},
			lacks: []string{"not its own"},
		},
	}
}

// TestHangsOfSmallTeams looks at threads that wait for what other threads of their team would do, where the team has
// fewer threads than its region requests: there is one verdict, with that cause and its fix.
func TestHangsOfSmallTeams(t *testing.T) { checkHangs(t, smallTeams()) }

func smallTeams() []hangCase {
	return []hangCase{
		{
			name: "nested", program: "verdict_small_team", args: []string{"0"}, kind: picture.VerdictNeverWoken,
			has: []string{
				"2 threads wait for semaphore ready in pipeline (2 of that name), and no thread",
				"has only one thread: it is nested, and max-active-levels",
				"fix: set OMP_MAX_ACTIVE_LEVELS=2", "post the semaphore",
			},
			lacks: []string{"ONE THREAD"},
		},
		{
			name: "limit", program: "verdict_small_team", args: []string{"1"}, env: []string{"OMP_THREAD_LIMIT=2"},
			kind: picture.VerdictSpinning,
			has: []string{
				"2 threads spin in meet", "has only 2 threads", "thread-limit-var", "fix: raise OMP_THREAD_LIMIT",
			},
			lacks: []string{"FEWER THREADS"},
		},
		{
			name: "stack", program: "verdict_small_team", args: []string{"2"}, env: []string{"OMP_THREAD_LIMIT=2"},
			kind: picture.VerdictSpinning, has: []string{"2 threads spin in meet", "until mine.turn in main changes"},
			lacks: []string{"the word at"},
		},
		{
			name: "league", program: "verdict_small_team", args: []string{"3"}, kind: picture.VerdictNeverWoken,
			has: []string{
				"waits for semaphore given", "has only one thread: 2 threads were requested by num_threads(2), but " +
					"thread-limit-var is 1", "fix: raise the thread_limit clause of the teams construct",
			},
			lacks: []string{"ONE THREAD"},
		},
		{
			name: "divided", program: "verdict_small_team", args: []string{"4"}, only: "libomp",
			kind: picture.VerdictNeverWoken,
			has: []string{
				"waits for semaphore ready in pipeline", "2 threads were requested by num_threads(2), but the " +
					"runtime divides the ", "among the 1 team of the league",
				"fix: set KMP_TEAMS_THREAD_LIMIT=2 and OMP_TEAMS_THREAD_LIMIT=2",
			},
			lacks: []string{"ONE THREAD"},
		},
	}
}

// TestSpinUntilQueuedTask looks at tasks that spin until a queued task changes a variable, also in loops with a
// taskyield.
func TestSpinUntilQueuedTask(t *testing.T) { checkHangs(t, queuedTaskSpins()) }

func queuedTaskSpins() (cases []hangCase) {
	for _, way := range []string{"0", "1"} {
		cases = append(cases, hangCase{
			name: way, program: "verdict_spin_task", args: []string{way}, only: "libgomp",
			kind: picture.VerdictSpinning,
			has: []string{
				"2 threads spin in", "until ready changes", "1 task is queued (at verdict_spin_task.c:44)",
				"it may be what changes ready", "wait for each other by dependences",
			},
		})
	}
	return cases
}

// TestWaitersOfNoTeam looks at a deadlock behind which threads wait that the program started itself: their waits have
// the object and the place, and the lock is one for all of them.
func TestWaitersOfNoTeam(t *testing.T) { checkHangs(t, waitersOfNoTeam()) }

func waitersOfNoTeam() []hangCase {
	return []hangCase{{
		name: "0", program: "verdict_critical_join", args: []string{"0"}, kind: picture.VerdictDeadlock,
		has: []string{
			"1 waits for critical section desk at verdict_critical_join.c:19: ",
			"1 waits for critical section desk at verdict_critical_join.c:41: ",
		},
		lacks: []string{"waits :"},
	}}
}

// TestDependentTasks looks at a task that waits for one that depends on it.
func TestDependentTasks(t *testing.T) { checkHangs(t, dependentTasks()) }

func dependentTasks() []hangCase {
	return []hangCase{{
		name: "0", program: "verdict_spin_depend", args: []string{"0"}, kind: picture.VerdictSpinning,
		has: []string{
			"spins in await_ready verdict_spin_depend.c:15 until ready changes", "2 tasks are blocked (at " +
				"verdict_spin_depend.c:31, at verdict_spin_depend.c:33) by depend clauses until the task at " +
				"verdict_spin_depend.c:26 of thread ", "one of them may be what changes ready",
			"a task must not wait for another task that depends on it",
		},
	}}
}

// TestDiscardedTasks looks at a task that waits for one that its cancelled taskgroup has discarded.
func TestDiscardedTasks(t *testing.T) { checkHangs(t, discardedTasks()) }

func discardedTasks() []hangCase {
	env := []string{"OMP_CANCELLATION=true"}
	group := "But the explicit task at verdict_cancelled_group.c:45 of thread "
	fix := "#pragma omp cancellation point taskgroup"
	return []hangCase{
		{
			name: "loop", program: "verdict_cancelled_group", args: []string{"0"}, env: env,
			kind: picture.VerdictSpinning,
			has:  []string{"until ready changes", group, "one of them may be what changes ready", fix},
		},
		{
			name: "semaphore", program: "verdict_cancelled_group", args: []string{"1"}, env: env,
			kind: picture.VerdictNeverWoken,
			has:  []string{"for semaphore posted", group, "one of them may be what ends the wait", fix},
		},
		{
			name: "not_cancelled", program: "verdict_cancelled_group", args: []string{"2"}, env: env,
			kind: picture.VerdictSpinning, has: []string{"until ready changes"},
			lacks: []string{"cancelled taskgroup", "cancellation"},
		},
	}
}

// TestSpinOnLocalVariables looks at threads that spin on variables on another thread's stack, or in the frame of an
// outer region.
func TestSpinOnLocalVariables(t *testing.T) { checkHangs(t, localSpins()) }

func localSpins() (cases []hangCase) {
	for way, says := range []string{
		"in shared verdict_spin_local.c:38 until ready in shared changes",
		"in nested verdict_spin_local.c:56 until go",
		"in task verdict_spin_local.c:78 until done in task changes",
		"start in league",
	} {
		cases = append(cases, hangCase{
			name: strconv.Itoa(way), program: "verdict_spin_local", args: []string{strconv.Itoa(way)},
			env:  []string{"OMP_NUM_THREADS=2", "KMP_TEAMS_THREAD_LIMIT=2"}, // the league, on one processor
			kind: picture.VerdictSpinning, has: []string{says}, lacks: []string{"the word at"},
		})
	}
	return cases
}

// TestPollingWithLock looks at a thread that polls a flag while it holds the lock that the other thread waits for. That
// one would change the flag: both are in the verdict.
func TestPollingWithLock(t *testing.T) {
	var cases []hangCase
	for way, has := range [][]string{
		{
			"polls in Shelf::take verdict_poll_locked.cc:24 until shelf.jars in main changes",
			"holds lock shelf.key in main, acquired in Shelf::take verdict_poll_locked.cc:21, for which thread 0",
			"release lock shelf.key in main while waiting",
		},
		{
			"spins in fetch verdict_poll_locked.cc:49 until sacks changes", "holds critical section barn",
			"for which thread 0", "release critical section barn while waiting",
		},
	} {
		cases = append(cases, hangCase{
			name: strconv.Itoa(way), program: "verdict_poll_locked", args: []string{strconv.Itoa(way)},
			kind: picture.VerdictSpinning, has: append(has, "they wait for each other"),
			lacks: []string{"the word at", "therefore"},
		})
	}
	checkHangs(t, cases)
}

// TestSectionsWithoutThread looks at sections that wait for each other in a team with fewer threads, and at a hang of
// as many sections as threads.
func TestSectionsWithoutThread(t *testing.T) {
	for way, kind := range []picture.VerdictKind{picture.VerdictSpinning, picture.VerdictNeverWoken} {
		for _, form := range []string{"0", "1", "2"} {
			for i, run := range handoverRuns(t, "verdict_sections", strconv.Itoa(way), form) {
				if i%3 == 1 {
					continue
				}
				says := "1 of 3 sections is not started, and the 2 threads of the team wait in others: it may be"
				if i%3 == 2 {
					says = "the team has 2 threads for 3 sections, and thread 0"
				}
				t.Run(strconv.Itoa(way)+"/"+form+"/"+handoverName(i, run), func(t *testing.T) {
					kinds, words := hangOf(t, run)
					switch {
					case form == "1" && len(kinds) > 0:
						t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
					case form == "1":
					case !slices.Contains(kinds, kind):
						t.Errorf("hangs %v, want %s:\n%s", kinds, kind, words)
					case form == "0":
						checkWords(t, words, []string{says, "as many threads as there are sections (here 3"}, nil)
						if way == 0 {
							checkWords(t, words, []string{"in await verdict_sections.c:20 until mail[0] changes"}, nil)
						}
					default:
						checkWords(t, words, nil, []string{"as there are sections"})
					}
				})
			}
		}
	}
}

// TestLinesOfForks looks at threads in one of several regions that main forks: the frame of main has the line of that
// region, whichever line the compiler gave the call.
func TestLinesOfForks(t *testing.T) {
	for way, line := range []int{17, 24, 30} {
		for i, run := range handoverRuns(t, "fork_lines", strconv.Itoa(way)) {
			if i%3 == 1 {
				continue
			}
			t.Run(strconv.Itoa(way)+"/"+handoverName(i, run), func(t *testing.T) {
				_, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
				checked := 0
				for _, th := range pic.Threads {
					for _, f := range th.UserStack {
						if f.Function != "main" || f.Construct != "" {
							continue
						}
						if checked++; f.Line != line || f.Near {
							t.Errorf("LWP %d: main at line %d (near: %v), want %d", th.LWP, f.Line, f.Near, line)
						}
					}
				}
				if checked != 2 {
					t.Errorf("%d frames of main, want one for each of 2 threads", checked)
				}
			})
		}
	}
}

// TestConstructsOfLeague looks at a serialized region in a teams construct: GNU's runtime has the function of neither,
// and GCC's names do not show the construct.
func TestConstructsOfLeague(t *testing.T) {
	run := handoverRuns(t, "verdict_small_team", "3")[0]
	_, pic := e2e.Diagnose(t, strconv.Itoa(omptest.Start(t, run).PID))
	var constructs []string
	for _, f := range pic.Threads[0].UserStack {
		if f.Construct != "" {
			constructs = append(constructs, f.Construct)
		}
	}
	if !slices.Equal(constructs, []string{"parallel", "teams"}) {
		t.Errorf("constructs %q of the stack, want parallel in teams", constructs)
	}
}

// TestLeftRegion looks at a program that left a parallel region by longjmp: the next region is nested in it.
func TestLeftRegion(t *testing.T) {
	for _, healthy := range []bool{false, true} {
		args := []string{}
		if healthy {
			args = []string{"1"}
		}
		for i, run := range handoverRuns(t, "left_region", args...) {
			if i%3 == 1 {
				continue
			}
			t.Run(strconv.FormatBool(healthy)+"/"+handoverName(i, run), func(t *testing.T) {
				status, out, errs := e2e.Output(t, strconv.Itoa(omptest.Start(t, run).PID))
				if status != 0 {
					t.Fatalf("exit status %d: %s", status, errs)
				}
				words := strings.Join(strings.Fields(out), " ")
				has, lacks := []string{
					"the parallel region at left_region.c:17 has only one thread: it is nested",
					"the program left the parallel region at left_region.c:32 without ending it",
					"fix: leave no parallel region by longjmp",
				}, []string(nil)
				if healthy {
					has, lacks = nil, []string{"longjmp", "ONE THREAD"}
				}
				checkWords(t, words, has, lacks)
			})
		}
	}
}
