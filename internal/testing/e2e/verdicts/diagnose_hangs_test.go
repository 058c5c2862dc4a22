package verdicts

import (
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// twins returns programs that hang, each with a similar healthy one.
func twins(e expectation, healthy ...string) []expectation {
	return []expectation{e, {
		program: e.program, args: healthy, env: e.env, standard: e.standard, only: e.only, never: e.never,
	}}
}

// inLoops returns deadlocks of locks that nested loops acquire, and healthy twins.
func inLoops() (out []expectation) {
	for way, waits := range [][]string{
		{"lock table[0]", "lock table[1]", "lock table[2]"},
		{"lock", "lock", "lock"}, // *shelf, shelf[1] and shelf[2]: the smallest block may have one lock
	} {
		out = append(out, twins(expectation{
			program: "verdict_lock_loop", args: []string{strconv.Itoa(way)}, threads: 3, kind: picture.VerdictDeadlock,
			certainty: []picture.Certainty{picture.Certain, picture.Likely}[way], // pointers may have changed
			waits:     waits,
		}, strconv.Itoa(way), "1")...)
	}
	return out
}

// chosenLocks returns deadlocks of two locks with addresses that are not obvious in the code that acquires them,
// and healthy twins.
func chosenLocks() (out []expectation) {
	for way := range 11 {
		out = append(out, twins(expectation{
			program: "verdict_lock_chosen", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, threads: 2,
			kind: picture.VerdictDeadlock, waits: []string{"lock", "lock"},
		}, strconv.Itoa(way), "1")...)
	}
	names := map[int][]string{
		2: {"lock first", "lock second"}, 3: {"lock first", "lock second"}, 4: {"lock table[1]", "lock table[3]"},
		5: {"lock table[0]", "lock table[1]"}, 7: {"lock nodes[1].lock", "lock nodes[2].lock"},
		8: {"lock credit.word", "lock debit.word"}, 10: {"lock table[1]", "lock table[2]"},
	}
	for way, waits := range names {
		out[2*way].waits = waits
	}
	return out
}

// hardCode returns deadlocks of two locks between whose acquisitions a thread comes through computed gotos or
// thousands of branches, and healthy twins.
func hardCode() (out []expectation) {
	for way := range 4 {
		e := expectation{
			program: "verdict_lock_goto", env: e2e.Asleep, args: []string{strconv.Itoa(way)}, threads: 2,
			kind: picture.VerdictDeadlock, waits: []string{"lock first", "lock second"},
		}
		if way > 1 {
			e.only = "O0" // optimizing takes compilers a minute
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// ownedLocks returns locks with a recorded owner that kept them on one path, and healthy twins.
func ownedLocks() (out []expectation) {
	for way, at := range []string{"entry verdict_lock_owned.c:21", "paged verdict_lock_owned.c:28",
		"paged verdict_lock_owned.c:28"} {
		e := expectation{
			program: "verdict_lock_owned", env: e2e.Asleep, args: []string{strconv.Itoa(way)}, threads: 2,
			kind: picture.VerdictDeadlock, certainty: picture.Certain, waits: []string{"barrier", "mutex page"},
			says: []string{"goes on without releasing it: by " + at, "fix: release it on every path"},
		}
		switch way {
		case 0:
			e.waits[1] = "nest_lock book"
		case 2:
			e.kind, e.threads, e.waits = picture.VerdictSelfDeadlock, 1, []string{"mutex page"}
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// earlyReturns returns functions that return without a release: transfers between two locks of an array, and
// lookups, surrounded by code of the C++ library.
func earlyReturns() []expectation {
	out := twins(expectation{
		program: "verdict_lock_pair", env: e2e.Asleep, threads: 3, kind: picture.VerdictLockOrphaned,
		certainty: picture.Likely, says: []string{"which nobody will release", "transfer verdict_lock_pair.c:35"},
	}, "1")
	for way, at := range []string{"find verdict_lock_found.cc:2", "row verdict_lock_found.cc:3"} {
		out = append(out, twins(expectation{
			program: "verdict_lock_found", env: e2e.Asleep, args: []string{strconv.Itoa(way)}, threads: 3,
			kind: picture.VerdictLockOrphaned, certainty: picture.Likely, says: []string{"lock lock", at},
		}, strconv.Itoa(way), "1")...)
	}
	return out
}

// hangs returns bugs by which programs hang, and their healthy twins.
func hangs() []expectation {
	var out []expectation
	left := func(way string, threads int, says ...string) {
		out = append(out, twins(expectation{
			program: "verdict_lock_left", env: e2e.Asleep, args: []string{way}, threads: threads,
			never: "gcc-12-O3", // which makes a clone for the path, without a line in the verdict
			kind:  picture.VerdictLockOrphaned, certainty: picture.Likely, says: says,
		}, way, "1")...)
	}
	left("0", 3, "lock book, which nobody will release", "entry verdict_lock_left.c:26")
	left("1", 2, "lock book, which nobody will release", "entry verdict_lock_left.c:26")
	left("3", 1, "lock book, which nobody will release", "entry verdict_lock_left.c:26")
	left("2", 3, "critical section ledger, which nobody will release",
		"(longjmp) out of the call at section verdict_lock_left.c:37")
	out = append(out, twins(expectation{
		program: "verdict_lock_jumped", env: e2e.Asleep, args: []string{"0"}, threads: 1, behind: 2,
		kind: picture.VerdictLockOrphaned, certainty: picture.Likely,
		says: []string{"lock book, which nobody will release",
			"(longjmp) out of the call at entry verdict_lock_jumped.c:28",
			"waits at the barrier verdict_lock_jumped.c:81", "waits for condition variable posted"},
	}, "0", "1")...)
	out = append(out, expectation{
		program: "verdict_lock_jumped", env: e2e.Asleep, args: []string{"2"}, threads: 2, behind: 1,
		kind: picture.VerdictDeadlock, waits: []string{"barrier", "condition posted"},
	})
	for way, at := range []string{"(__cxa_throw) out of the call at deposit verdict_lock_each.cc:3",
		"skipped verdict_lock_each.cc:7", "enter verdict_lock_each.cc:4"} {
		out = append(out, twins(expectation{
			program: "verdict_lock_each", env: e2e.Asleep, args: []string{strconv.Itoa(way)}, threads: 4,
			kind: picture.VerdictLockOrphaned, certainty: picture.Likely,
			says: []string{"4 threads wait for lock ", "which nobody will release", at},
		}, strconv.Itoa(way), strconv.Itoa(way+1))...)
	}
	for way, waits := range []string{"join end of LWP", "join end of LWP", "barrier"} {
		e := expectation{
			program: "verdict_lock_some", env: e2e.Asleep, args: []string{strconv.Itoa(way)}, threads: 2,
			kind: picture.VerdictDeadlock, certainty: picture.Certain, waits: []string{waits, "lock stat"},
		}
		if way == 2 {
			e.only = "O0" // optimized code keeps no variable of the condition
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	out = append(out, earlyReturns()...)
	out = append(out, inLoops()...)
	out = append(out, chosenLocks()...)
	out = append(out, hardCode()...)
	out = append(out, ownedLocks()...)
	out = append(out, twins(expectation{
		program: "verdict_lock_circle", env: e2e.Asleep, threads: 2, kind: picture.VerdictDeadlock,
		waits: []string{"barrier", "lock book"},
	}, "1")...)
	for way, says := range []string{"2 threads wait for iteration (2, 2) of a loop", "waits for iteration 2 of a loop",
		"4 threads wait for iteration 1, 3, 5, 7 of a loop", "waits for iteration 2 of a loop",
		"waits for iteration 2 of a loop", "4 threads wait for iteration 1, 2, 3, 4 of a loop"} {
		e := expectation{
			program: "verdict_doacross", args: []string{strconv.Itoa(way)}, threads: []int{2, 1, 4, 1, 1, 4}[way],
			kind: picture.VerdictDoacrossStuck, certainty: picture.Certain,
			says: []string{says, "which nobody will post", "depend(source)"},
		}
		switch way {
		case 2:
			e.says = e.says[:2]
		case 5: // with clang, the part of a thread is known without optimization only
			e.says = e.says[:2]
			e.gcc = []string{"Each waits for an iteration that comes after its own.", "depend(sink: i - 1), not i + 1"}
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	out = append(out, typedLoops()...)
	out = append(out, mutexKinds()...)
	out = append(out, acrossRegions()...)
	out = append(out, twins(expectation{
		program: "verdict_lock_task", args: []string{"0"}, env: e2e.Asleep, threads: 1,
		kind: picture.VerdictSelfDeadlock, certainty: picture.Certain, waits: []string{"lock book"},
		says: []string{"came to the task construct in post verdict_lock_task.c:",
			"release it before the task construct", "a nestable lock does not help"},
	}, "0", "1")...)
	out = append(out, twins(expectation{ // in LLVM's runtime, a nestable lock belongs to a thread
		program: "verdict_lock_task", args: []string{"1"}, env: e2e.Asleep, threads: 1, only: "libgomp",
		kind: picture.VerdictSelfDeadlock, certainty: picture.Certain, waits: []string{"nest_lock ledger"},
		says: []string{"a nestable lock belongs to a task, not to a thread"},
	}, "1", "1")...)
	for way := range 2 {
		out = append(out, twins(expectation{
			program: "verdict_lock_if", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, threads: 1,
			kind: picture.VerdictSelfDeadlock, certainty: picture.Likely, waits: []string{"lock account"},
			says: []string{"unless a variable that its branches read has changed since"},
		}, strconv.Itoa(way), "1")...)
	}
	for way, says := range []string{"which it holds itself", "which it holds itself", "which it holds itself",
		"which nobody will release"} {
		kind := picture.VerdictSelfDeadlock
		if way == 3 {
			kind = picture.VerdictLockOrphaned
		}
		out = append(out, twins(expectation{
			program: "verdict_lock_same", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, threads: 1,
			kind: kind, waits: [][]string{{"lock pool[1]"}, nil}[way/3], says: []string{says},
		}, strconv.Itoa(way), "1")...)
	}
	out = append(out, closedQueues()...)
	out = append(out, twins(expectation{
		program: "verdict_lock_rethrown", env: e2e.Asleep, threads: 2, only: "O2",
		kind: picture.VerdictLockOrphaned, certainty: picture.Likely,
		says: []string{"by an exception (__cxa_throw) out of the call at Registry::find", "verdict_lock_rethrown.cc:36",
			"a guard object"},
	}, "1")...)
	for way, what := range []string{"condition variable filled", "semaphore items"} {
		out = append(out, twins(expectation{
			program: "verdict_woken", args: []string{strconv.Itoa(way)}, threads: 3,
			kind: picture.VerdictNeverWoken, certainty: picture.Likely,
			says: []string{"3 threads wait for " + what},
		}, strconv.Itoa(way), "1")...)
	}
	// Another process may post, or the handler of a signal.
	out = append(out, expectation{program: "verdict_woken", args: []string{"1", "2"}})
	out = append(out, endedByTimers()...)
	out = append(out, wokenLater()...)
	for way := range 5 { // the holder is a process that shares the lock
		out = append(out, expectation{program: "healthy_shared", args: []string{strconv.Itoa(way)}, env: e2e.Asleep})
	}
	return append(out, expectation{program: "healthy_posted"})
}

// endedByTimers returns waits that the function of a timer ends, in a thread that the C library starts for it, and the
// same waits without a timer.
func endedByTimers() (out []expectation) {
	for way, e := range []expectation{
		{kind: picture.VerdictNeverWoken, threads: 2, says: []string{"2 threads wait for condition variable expired"}},
		{kind: picture.VerdictNeverWoken, threads: 2, says: []string{"2 threads wait for semaphore ticks"}},
		{kind: picture.VerdictTaskStarved, threads: 1, says: []string{"whose event is not fulfilled"}},
	} {
		e.program, e.certainty = "healthy_timer", picture.Likely
		e.args = []string{strconv.Itoa(way), "1"}
		hangs, healthy := twins(e, strconv.Itoa(way))[0], twins(e, strconv.Itoa(way))[1]
		if way != 1 { // a timer can have a handler, which may post
			out = append(out, hangs)
		}
		out = append(out, healthy)
	}
	return out
}

// wokenLater returns waits that a function ends which no call in the code of the working thread names, and waits
// without such a function.
func wokenLater() (out []expectation) {
	for way := range 4 {
		e := expectation{
			program: "healthy_later", threads: 2, kind: picture.VerdictNeverWoken, certainty: picture.Likely,
			args: []string{strconv.Itoa(way), "1"}, says: []string{"2 threads wait for condition variable filled"},
		}
		out = append(out, twins(e, strconv.Itoa(way))...)
		if way == 3 { // GNU's runtime has the same data for main as for a thread that is at work between regions
			out[len(out)-2].only = "libomp"
		}
	}
	return out
}

// mutexKinds returns waits for mutexes whose word the kernel writes, and healthy twins.
func mutexKinds() (out []expectation) {
	for way, e := range []expectation{
		{kind: picture.VerdictSelfDeadlock, threads: 1, waits: []string{"mutex left"}},
		{kind: picture.VerdictDeadlock, threads: 2, waits: []string{"mutex left", "mutex right"}},
		{kind: picture.VerdictDeadlock, threads: 2, waits: []string{"mutex left", "mutex right"}},
	} {
		e.program, e.certainty, e.args = "verdict_mutex_kinds", picture.Certain, []string{strconv.Itoa(way)}
		e.says = []string{"__owner of the mutex"}
		if way == 0 {
			e.says = append(e.says, "or make it recursive")
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// acrossRegions returns locks that a thread holds while it forks a region whose threads acquire them, and healthy
// twins.
func acrossRegions() (out []expectation) {
	for way := range 4 {
		e := expectation{
			program: "verdict_lock_region", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, threads: 1,
			kind: picture.VerdictSelfDeadlock, certainty: picture.Certain, waits: []string{"lock journal"},
			says: []string{"came to the parallel region in ", " verdict_lock_region.c:", " while it had it",
				"release it before the parallel region", "a nestable lock does not help"},
		}
		if way == 3 {
			e.waits, e.says = []string{"mutex mutex"}, []string{"before a parallel region whose threads lock it"}
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// closedQueues returns threads that sleep on a condition variable while the initial thread waits at the end of their
// region. Exceptions before the region lead to code that could signal; the code after it does so with argument 1.
func closedQueues() (out []expectation) {
	closed := expectation{
		program: "verdict_queue_closed", env: e2e.Asleep, threads: 2,
		kind: picture.VerdictNeverWoken, certainty: picture.Likely,
		says: []string{"2 threads wait for condition variable stock.filled in "},
	}
	after := closed
	after.args, after.kind, after.waits = []string{"1"}, picture.VerdictDeadlock, []string{"barrier", "condition"}
	after.says = []string{"signal the condition variable before waiting at the barrier"}
	out = append(out, after)
	for _, way := range []string{"2", "3"} {
		out = append(out, expectation{program: closed.program, env: closed.env, args: []string{way}})
	}
	return append(out, closed)
}

// typedLoops returns loops with dependences whose variables have several types and steps, and healthy twins. In some,
// GCC's code waits for wrong iterations.
func typedLoops() (out []expectation) {
	const outside, later = "There is no iteration ", "wait for iteration 2, 3, 4 of a loop"
	for way, wrong := range []string{2: outside, 3: later, 4: later, 7: outside} {
		e := expectation{
			program: "verdict_doacross_types", args: []string{strconv.Itoa(way)}, threads: 1,
			kind: picture.VerdictDoacrossStuck, certainty: picture.Certain,
			says: []string{"waits for iteration 2 of a loop", "nobody will post", "depend(source)"},
		}
		switch way {
		case 6:
			e.says[0] = "waits for iteration (2, 2) of a loop"
		case 2, 3, 4, 7:
			e.only = "libomp"
			compiled := e
			compiled.only, compiled.threads = "libgomp", 3
			compiled.says = []string{wrong, "nobody will post", "its variable is unsigned"}
			out = append(out, compiled)
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// hostTargets returns deadlocks of a thread in a target region that the host executes, and healthy twins.
// gcc from 14 on comes from another release of the system, and needs its linker plugin for such a program.
func hostTargets() []expectation {
	e := expectation{
		program: "verdict_host_target", args: []string{"0", "0"}, env: e2e.Asleep, threads: 2,
		never: "gcc-14 gcc-15 gcc-16", kind: picture.VerdictDeadlock, waits: []string{"barrier", "lock table"},
	}
	inner := e
	inner.args = []string{"1", "0"}
	return append(twins(e, "0", "1"), twins(inner, "1", "1")...)
}
