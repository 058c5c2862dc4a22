package verdicts

import (
	"slices"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// awake makes threads of libgomp spin for their whole wait.
var awake = []string{"GOMP_SPINCOUNT=infinite"}

// distributed makes libomp use the barriers of the pattern "dist".
var distributed = []string{
	"KMP_PLAIN_BARRIER_PATTERN=dist,dist", "KMP_FORKJOIN_BARRIER_PATTERN=dist,dist",
	"KMP_REDUCTION_BARRIER_PATTERN=dist,dist",
}

// expectations returns the programs with the verdicts on them.
func expectations() []expectation {
	return slices.Concat(deadlocks(), namedLocks(), lockKinds(), freedLocks(), brokenLocks(), runtimeVerdicts(),
		forkedChildren(), teamVerdicts(), faultVerdicts(), calledFaults(), hangs(),
		exceptionVerdicts(), misplacedBarriers(), shiftedBarriers(), shiftedCrashes(), missingClauses(), hostTargets(),
		tailLocks(),
		readWriteLocks(), spinLocks(), lockPointers(), triedLocks(), upgrades(), onces(), spins(), floatSpins(),
		healthySpins(), borrowedStacks(), handlers(), lockingHandlers(), outside(), libraryWaits(), queuedSignals(),
		detachedTasks())
}

// deadlocks returns threads that wait for each other, and those that only seem to.
func deadlocks() []expectation {
	return []expectation{
		{program: "lock_cycle", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock first", "lock second"},
			says:  []string{"2 threads wait for each other", "omp_set_lock in deposit"}},
		{program: "verdict_critical_cycle", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"critical audit", "critical ledger"}, says: []string{"critical section ledger"}},
		{program: "verdict_critical_barrier", kind: "illegal_barrier", certainty: "certain", threads: 2,
			waits: []string{"barrier", "critical room"}, says: []string{"in the critical construct at " +
				"verdict_critical_barrier.c:24", "out of the construct"}},
		{program: "verdict_critical_barrier", args: []string{"0"}, kind: "illegal_barrier", certainty: "certain",
			threads: 2, waits: []string{"barrier", "critical room"}},
		{program: "verdict_nest_cycle", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"nest_lock leaf", "nest_lock tree"}, llvm: []string{"owner_id"},
			gcc: []string{"as the owner, depth 2"}},
		{program: "verdict_lock_array", kind: "deadlock", certainty: "certain", threads: 3,
			waits: []string{"lock table[0].fork", "lock table[1].fork", "lock table[2].fork"},
			says:  []string{"omp_set_lock in dine"}},
		{program: "verdict_mutex_lock", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock queue", "mutex journal"}, says: []string{"__owner of the mutex"}},
		{program: "verdict_task_lock", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock table", "taskwait"}, says: []string{"runs the task"}},
		{program: "verdict_join", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"join end of LWP", "lock results"},
			says:  []string{"waits for the end of LWP", "omp_set_lock in gather"}},
		{program: "verdict_join", args: []string{"1"}},
		{program: "verdict_condition", kind: "deadlock", certainty: "likely", threads: 2,
			waits: []string{"condition filled", "lock table"},
			says: []string{"condition variable filled", "no code that another thread may still reach signals a " +
				"condition variable"}},
		{program: "verdict_condition", args: []string{"1"}},
		{program: "verdict_depend", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock table", "taskwait"}, says: []string{"it runs the task"}},
		{program: "verdict_depend", only: "libomp-16-O1", args: []string{"0", "0", "15000"}, kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"},
			says: []string{"it runs the task"}},
		{program: "verdict_depend", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock table", "taskgroup"}, says: []string{"a task that it depends on is not finished"}},
		{program: "verdict_depend", never: "libomp-14 libomp-15", args: []string{"2"}, kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"},
			says: []string{"the task is not finished (verdict_depend.c:26)"}},
		{program: "verdict_depend", args: []string{"0", "1"}}, {program: "verdict_depend", args: []string{"1", "1"}},
		{program: "verdict_depend", never: "libomp-14 libomp-15", args: []string{"2", "1"}},
		{program: "verdict_wrapped", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock", "lock"}, says: []string{"account_open in transfer"}},
		{program: "verdict_ordered_lock", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock log_lock", "ordered"}, says: []string{"waiting for the turn in an ordered loop"},
			llvm: []string{"ordered_iteration is 0"}, gcc: []string{"is the one that is posted"}},
		{program: "verdict_ordered_lock", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock log_lock", "ordered"}, llvm: []string{"ordered_iteration is 0"},
			gcc: []string{"ordered_owner of the loop"}},
		{program: "verdict_ordered_lock", args: []string{"2"}},
		{program: "verdict_ordered_lock", args: []string{"4"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"0"}, kind: "deadlock", certainty: "likely",
			threads: 2, behind: 1, waits: []string{"lock book", "ordered"},
			says: []string{"waiting for the turn in an ordered loop",
				"verdict_ordered_if.c:28, unless a variable that"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"0", "1"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"0", "0", "1"}, kind: "deadlock",
			certainty: "likely", threads: 2, behind: 1, waits: []string{"lock book", "ordered"},
			says: []string{"waiting for the turn in an ordered loop",
				"verdict_ordered_if.c:28, unless a variable that"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"0", "1", "1"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"1", "0", "1"}, kind: "lock_orphaned",
			threads: 1, behind: 1, says: []string{"lock book, which nobody will release"}},
		{program: "verdict_ordered_skip", env: e2e.Asleep, kind: "spinning", certainty: "likely", threads: 3, behind: 1,
			says: []string{"has its turn in an ordered loop, for which 2 threads wait",
				"in the ordered region, do not wait"}},
		{program: "verdict_ordered_skip", env: e2e.Asleep, args: []string{"1"}},
		{program: "verdict_ordered_if", env: e2e.Asleep, args: []string{"1"}, kind: "lock_orphaned", threads: 1,
			behind: 1, says: []string{"lock book, which nobody will release"}},
		{
			program: "verdict_ordered_lock", args: []string{"3"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock log_lock", "ordered"},
			llvm:  []string{"ordered_iteration is 0"}, gcc: []string{"is not in the loop"},
		},
	}
}

// namedLocks returns deadlocks by the names of their locks: members of arrays and structures, variables of a
// function, those of a library.
func namedLocks() []expectation {
	return []expectation{
		{program: "verdict_atomic", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"atomic", "critical (unnamed)"},
			says:  []string{"GOMP_atomic_start in add", "the lock of atomic constructs"}},
		{program: "verdict_atomic", args: []string{"1"}},
		{program: "verdict_lock_names", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock accts[1].lock", "lock accts[2].lock"}},
		{program: "verdict_lock_names", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock table[2].left.fork", "lock table[3].left.fork"}},
		{program: "verdict_lock_names", args: []string{"2"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock inner[1].lock", "lock inner[2].lock"}},
		{program: "verdict_lock_names", args: []string{"3"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock grid[2][3]", "lock grid[2][4]"}},
		{program: "verdict_lock_names", args: []string{"0"}, bare: true, kind: "deadlock", certainty: "certain",
			threads: 2, waits: []string{"lock accts+0x18", "lock accts+0x28"}},
		{program: "verdict_lock_local", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock credit in plain", "lock debit in plain"}},
		{program: "verdict_lock_local", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock forks[2] in array", "lock forks[3] in array"}},
		{program: "verdict_lock_local", args: []string{"2"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock books[0].lock in members", "lock books[1].lock in members"}},
		{program: "verdict_guard", kind: "deadlock", threads: 2, waits: []string{"lock", "lock"}},
		{program: "verdict_callee_lock", kind: "self_deadlock", certainty: "certain", threads: 1,
			waits: []string{"critical books"}, says: []string{"which it holds itself", "call correct",
				" verdict_callee_lock.c:31, or give the inner one another name"}},
		{program: "verdict_lock_copied", only: "libgomp-bookworm", kind: "lock_orphaned", certainty: "likely",
			threads: 2, says: []string{"2 threads wait for lock larger[", "which nobody will release",
				"a copy of a lock that was set"}},
		{program: "verdict_lock_copied", args: []string{"1"}},
		{program: "verdict_critical_again", kind: "self_deadlock", certainty: "certain", threads: 1,
			waits: []string{"critical logger"}, says: []string{"call rotate after its end, not in note " +
				"verdict_critical_again.c:33, or use a nestable lock"}},
		{program: "verdict_critical_again", args: []string{"1"}},
		{program: "verdict_callee_lock", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock stock", "lock till"}},
		{program: "verdict_callee_lock", args: []string{"2"}},
		{program: "verdict_stream", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"lock table", "mutex of stream stderr"}, says: []string{"owner of the stream's lock"}},
		{program: "verdict_stream", args: []string{"1"}},
		{program: "verdict_static", kind: "self_deadlock", certainty: "certain", threads: 1,
			waits: []string{"static roots()::all"}, says: []string{"which it is in itself"}},
		{program: "verdict_static", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"barrier", "static meeting()::count"}, says: []string{"before any parallel region"}},
		{program: "verdict_static", args: []string{"2"}},
		{program: "verdict_self_lock", args: []string{"1"}, kind: "self_deadlock", certainty: "certain",
			threads: 1, waits: []string{"lock once"},
			says: []string{"was given another task there", "release it before the task",
				"a nestable lock does not help"}},
		{program: "verdict_self_lock", kind: "self_deadlock", certainty: "certain", threads: 1,
			waits: []string{"lock once"}, says: []string{"which it holds itself", "make it a nestable lock"}},
	}
}

// lockKinds returns the kinds of locks of LLVM's runtime, and those of GNU's with spinning waiters.
func lockKinds() []expectation {
	return []expectation{
		{
			program: "verdict_join", env: awake, only: "libgomp", kind: "deadlock", certainty: "certain", threads: 2,
			waits: []string{"join end of LWP", "lock results"}, says: []string{"omp_set_lock in gather"},
		},
		{
			program: "verdict_lock_kept", env: awake, only: "libgomp", kind: "lock_orphaned", certainty: "likely",
			threads: 2, says: []string{"lock cache", "nobody will release"},
		},
		{
			program: "verdict_lock_path", env: awake, only: "libgomp", kind: "lock_orphaned", certainty: "likely",
			threads: 3, says: []string{"lock stat", "nobody will release"},
		},
		{program: "verdict_lock_path", env: awake, only: "libgomp", args: []string{"2"}},
		{ // the frame shows that the thread kept the lock in the previous iteration
			program: "verdict_lock_path", only: "libomp-19-O2", args: []string{"1"}, kind: "self_deadlock",
			certainty: "certain", threads: 1, waits: []string{"lock stat"},
		},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16 libomp-19", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"},
			says: []string{"the word of the test-and-set lock"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=futex"}, only: "libomp-16", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"},
			says: []string{"the word of the futex lock"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=ticket"}, only: "libomp-16", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=drdpa"}, only: "libomp-16 libomp-19", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}},
		{program: "verdict_self_lock", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16", kind: "self_deadlock",
			certainty: "certain", threads: 1, waits: []string{"lock once"}},
		{program: "verdict_nest_cycle", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}},
		{program: "verdict_nest_cycle", env: []string{"KMP_LOCK_KIND=drdpa"}, only: "libomp-16", kind: "deadlock",
			certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}},
	}
}

// freedLocks returns locks that are freed while a thread waits, and those next to other freed memory. GNU's
// waiters sleep, as they would otherwise read the new content.
func freedLocks() []expectation {
	out := []expectation{
		{program: "verdict_lock_freed", args: []string{"0"}, only: "libomp", kind: "lock_freed", certainty: "certain",
			threads: 1, says: []string{"lock fixed.lock, which has been destroyed", "nothing will wake them"}},
		{program: "verdict_lock_freed", args: []string{"4"}, crash: true, kind: "lock_freed", certainty: "possible",
			threads: 1, says: []string{"no memory is mapped"}},
		{program: "verdict_lock_freed", args: []string{"9"}, only: "libgomp", crash: true, kind: "lock_freed",
			certainty: "possible", threads: 1, says: []string{"whose memory has been reused",
				"is 0x5a5a5a5a, which is no state of a lock"}},
		{program: "verdict_lock_freed", args: []string{"3"}, only: "libgomp", kind: "lock_freed", certainty: "possible",
			threads: 1, says: []string{"malloc has not allocated"}},
	}
	for how, says := range map[string][]string{
		"1": {"lock shared[0].lock, whose memory has been freed", "a block of 264 bytes", "cache of free blocks"},
		"2": {"a block of 8192 bytes", "it is in a list of free blocks"},
		"5": {"in the stack of LWP", "has returned"},
		"6": {"in the stack of a thread that has ended"},
	} {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how}, kind: "lock_freed",
			certainty: "possible", threads: 1, says: says})
	}
	for _, how := range []string{"1", "2"} { // the lock may have no holder
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how, "2"}, kind: "lock_freed",
			certainty: "likely", threads: 1, says: []string{"no thread's stack shows that it holds the lock",
				"which was freed"}})
	}
	for how, what := range map[string]string{"7": "mutex shared[0].mutex", "8": "nestable lock shared[0].nest"} {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how}, kind: "lock_freed",
			certainty: "certain", threads: 1, says: []string{what + ", whose memory has been freed",
				"holds the lock and may still release it"}})
	}
	for how := range 10 {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{strconv.Itoa(how), "1"}})
	}
	for i := range out {
		out[i].env = []string{"GOMP_SPINCOUNT=0"}
	}
	return out
}

// faultVerdicts returns programs that die of other signals than that of a null pointer.
func faultVerdicts() []expectation {
	died := func(what string, says ...string) expectation {
		return expectation{program: "verdict_fault", args: []string{what},
			only: "libomp-16-O1 libgomp-bookworm-O2 libgomp-bookworm-O0", crash: true, kind: "crash",
			certainty: "certain", threads: 1, says: append(says, "it was thread 1 of 2 of the parallel region")}
	}
	return []expectation{
		died("0", "wrote to read-only memory in fail verdict_fault.c:40", "r-- of"),
		died("1", "where nothing is mapped, in fail verdict_fault.c:43", "nothing is mapped there"),
		died("2", "which is not executable, in fail", "rw-: data[0]"),
		died("3", "jumped to", "where nothing is mapped, in fail"),
		died("4", "accessed the mapped file", "shorter.dat beyond its end in fail verdict_fault.c:54"),
		died("5", "divided an integer by zero in fail verdict_fault.c:57"),
		died("6", "executed a trap that the compiler placed in fail"),
		died("7", "called abort in fail"),
		died("8", "used an invalid address in fail verdict_fault.c:64"),
		died("9", "wrote to read-only memory in", "in an explicit task"),
		died("10", "wrote to read-only memory in fail verdict_fault.c:40", "a handler for the signal ran"),
		died("14", "shorter.dat beyond its end in fail verdict_fault.c:54", "a handler for the signal ran"),
		died("15", "divided an integer by zero in fail verdict_fault.c:57", "a handler for the signal ran"),
		died("18", "used an invalid address in fail verdict_fault.c:64"),
		{program: "verdict_fault", args: []string{"20"}, only: "libomp-16-O1 libgomp-bookworm-O2", crash: true},
	}
}

// calledFaults returns programs that die in a called function.
func calledFaults() []expectation {
	died := func(what string, says ...string) expectation {
		return expectation{program: "verdict_fault_call", args: []string{what}, crash: true, kind: "crash",
			certainty: "certain", threads: 1,
			says: append(says, "dereferenced a null pointer in ", "it was thread 1 of 2 of the parallel region")}
	}
	twice, thrown := died("7"), died("8")
	twice.says = []string{"the C library ended the program", "Its message: ", "no other code is on the stack"}
	thrown.says = []string{"EXCEPTION LEFT A PARALLEL REGION", "thrown in book verdict_fault_call.cc:51, left"}
	return []expectation{
		twice, thrown,
		died("0", "in omp_set_lock", "called at book verdict_fault_call.cc:33"),
		died("1", "in strlen", "called at book verdict_fault_call.cc:36"), died("2", "owner_length"),
		died("3", "in std::map<int, long>::operator[], called at book verdict_fault_call.cc:42"),
		died("4", "in std::string::", "called at book verdict_fault_call.cc:45"),
		died("5", "in by_entry verdict_fault_call.cc:2"), died("6"),
	}
}

// tailLocks returns deadlocks of locks that a function acquires in a tail call, by its name and through pointers,
// and their healthy twins.
func tailLocks() []expectation {
	var out []expectation
	for _, pointers := range []string{"0", "1"} {
		out = append(out, expectation{
			program: "verdict_tail_lock", args: []string{pointers}, env: e2e.Asleep, kind: "deadlock", threads: 2,
			waits: []string{"lock", "lock"}, says: []string{"account_open in transfer"},
		}, expectation{program: "verdict_tail_lock", args: []string{pointers, "1"}, env: e2e.Asleep})
	}
	out = append(out, twins(expectation{program: "verdict_lock_beside", env: e2e.Asleep, kind: "deadlock", threads: 2,
		waits: []string{"lock table[0]", "lock table[1]"}, says: []string{"omp_set_lock in insert"}}, "1")...)
	return slices.Concat(out, lastLocks())
}

// lastLocks returns deadlocks of locks that the function of a region or task acquires in a tail call, in its first and
// in its other threads, and their healthy twins. clang merges the calls of a function, and then the code does not show
// the lock.
func lastLocks() (out []expectation) {
	for way := range 4 {
		for family, known := range map[string]bool{"libgomp": way != 2, "libomp": way == 3} {
			e := expectation{
				program: "verdict_last_lock", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, only: family,
				kind: "deadlock", threads: 2, says: []string{"2 threads wait for each other", "omp_set_lock in the "},
			}
			if known {
				e.waits = []string{"lock first", "lock second"}
			} else {
				e.only = map[string]string{"libgomp": "libgomp-bookworm-O2", "libomp": "libomp-16-O1"}[family]
			}
			out = append(out, twins(e, strconv.Itoa(way), "1")...)
		}
	}
	return out
}

// betweenTasks returns a thread that was stopped between a task that it executed and the waiting task; how is the
// kind of wait. Old releases of LLVM's runtime have no taskwait with dependences.
func betweenTasks(how, never string) expectation {
	return expectation{
		program: "healthy_between", args: []string{how}, never: never,
		crash: true, kind: "crash", certainty: "certain", threads: 1,
		says: []string{"waiting healthy_between.c:"},
	}
}

// exceptionVerdicts returns programs that an exception ends, and those that end alike without one.
func exceptionVerdicts() []expectation {
	const lanes = "libomp-16-O0 libomp-19-O2 libgomp-bookworm-O2 libgomp-trixie-O2"
	died := func(how string, says ...string) expectation {
		return expectation{program: "verdict_exception", args: []string{how}, only: lanes, crash: true, kind: "crash",
			certainty: "certain", threads: 1, says: append(says, "it was thread 1 of 2 of the parallel region")}
	}
	const region, runtimeError = "EXCEPTION LEFT A PARALLEL REGION", "It says: negative pivot in row 7"
	inlined := died("11", "CRASH", runtimeError, "Checked::~Checked verdict_exception.cc:67",
		"noexcept, as destructors are")
	inlined.certainty = "likely"
	return []expectation{
		inlined,
		died("0", region, runtimeError, "std::runtime_error", "left the parallel region at verdict_exception.cc:"),
		died("1", region, runtimeError, "std::runtime_error"),
		died("2", "CRASH", runtimeError, "left quiet verdict_exception.cc:45", "noexcept"),
		died("3", "EXCEPTION LEFT A TASK", runtimeError, "left the explicit task at verdict_exception.cc:"),
		died("4", region, "Singular", "It says: row 7 is all zeros, which nothing mends"),
		died("5", region, "int", "It says: 42"),
		died("6", region, "std::logic_error, thrown in", "It says: thrown in the region's code"),
		died("7", region, runtimeError),
		died("8", "CRASH", "called by std::terminate() in pivot verdict_exception.cc:34",
			"no exception was on its way"),
		died("9", "CRASH", "was to end by pthread_exit", "may not be left by that"),
		died("10", "CRASH", "called abort in"),
	}
}

// detachedTasks returns tasks that have run, with an event that is never fulfilled, or will be, and a barrier at
// which the runtime counts no thread.
func detachedTasks() []expectation {
	return []expectation{
		{program: "verdict_detached", never: "libgomp-bullseye", kind: "task_starved", certainty: "likely", threads: 1,
			says: []string{"detached task", "event is not fulfilled", "calls omp_fulfill_event"}},
		{
			program: "verdict_detached", never: "libgomp-bullseye", args: []string{"0", "1"},
			kind: "task_starved", certainty: "likely", threads: 1,
			says: []string{"at the end of a taskgroup for a detached task", "calls omp_fulfill_event"},
		},
		{
			program: "verdict_detached", never: "libgomp-bullseye", args: []string{"0", "2"},
			kind: "task_starved", certainty: "likely", threads: 2,
			says: []string{"2 threads wait at a barrier for a detached task", "calls omp_fulfill_event"},
		},
		{
			program: "verdict_detached", only: "libomp", args: []string{"0", "2"},
			kind: "task_starved", certainty: "likely", threads: 2,
			says: []string{"its code creates detached tasks at verdict_detached.c:"},
		},
		{
			program: "verdict_event", only: "libgomp-bookworm", args: []string{"0"},
			kind: "task_starved", certainty: "likely", threads: 1,
			says: []string{"waits in the task construct", "verdict_event.c:", "may still call omp_fulfill_event"},
		},
		{program: "verdict_event", never: "libgomp-bullseye", args: []string{"0", "1"}},
		{
			program: "verdict_event", never: "libgomp-bullseye", args: []string{"1"},
			kind: "task_starved", certainty: "likely", threads: 2,
			says: []string{"2 threads wait at a barrier for a detached task", "1 other task depends on it",
				"only these may still call omp_fulfill_event"},
		},
		{program: "verdict_event", never: "libgomp-bullseye", args: []string{"1", "1"}},
		{
			program: "verdict_event", never: "libgomp-bullseye", args: []string{"2"},
			kind: "task_starved", certainty: "likely", threads: 2,
			says: []string{"2 threads wait at a barrier for a detached task",
				"only these may still call omp_fulfill_event"},
		},
		{program: "verdict_event", never: "libgomp-bullseye", args: []string{"2", "1"}},
		// The server waits for a signal of thread 0, which waits at the barrier; the task has run, and signals no more.
		{
			program: "verdict_detached_server", only: "libgomp", never: "libgomp-bullseye",
			kind: "task_starved", certainty: "likely", threads: 1,
			says: []string{"waits in a taskwait for a detached task (verdict_detached_server.c:",
				"call omp_fulfill_event for every detached task"},
		},
		{
			program: "verdict_detached_server", only: "libomp",
			kind: "deadlock", certainty: "likely", threads: anyNumber,
			waits: []string{"barrier", "condition changed", "taskwait"},
			says:  []string{"it may still call omp_fulfill_event", "call omp_fulfill_event for every detached task"},
		},
		{program: "verdict_detached_server", never: "libgomp-bullseye", args: []string{"1"}},
		{program: "verdict_detached", never: "libgomp-bullseye", args: []string{"1"}},
		{program: "verdict_detached", never: "libgomp-bullseye", args: []string{"1", "1"}},
		{program: "verdict_detached", never: "libgomp-bullseye", args: []string{"1", "2"}},
		{
			program: "healthy_slow_member", env: distributed, args: []string{"1"}, only: "libomp",
			kind: "barrier_missing", info: true, certainty: "possible", threads: 3,
			says: []string{"3 of 4 arrived at a barrier"},
		},
	}
}
