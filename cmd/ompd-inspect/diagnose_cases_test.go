package main

import (
	"slices"
	"strconv"
)

// expectations are the programs with the verdicts on them.
func expectations() []expectation {
	return slices.Concat(deadlocks(), lockKinds(), freedLocks(), otherVerdicts(), faultVerdicts())
}

// deadlocks are threads that wait for each other, and those that only seem to.
func deadlocks() []expectation {
	return []expectation{
		{program: "lock_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}, says: []string{"Found 1 OpenMP deadlock", "omp_set_lock in deposit"}},
		{program: "verdict_critical_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"critical audit", "critical ledger"}, says: []string{"critical section ledger"}},
		{program: "verdict_critical_barrier", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"barrier", "critical room"}, says: []string{"hold no lock and stay in no critical section"}},
		{program: "verdict_critical_barrier", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"barrier", "critical room"}},
		{program: "verdict_nest_cycle", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}, llvm: []string{"owner_id"}, gcc: []string{"held 2 times by"}},
		{program: "verdict_lock_array", kind: "deadlock", certainty: "certain", threads: 3, waits: []string{"lock table[0].fork", "lock table[1].fork", "lock table[2].fork"}, says: []string{"omp_set_lock in dine"}},
		{program: "verdict_mutex_lock", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock queue", "mutex journal"}, says: []string{"__owner of the mutex"}},
		{program: "verdict_task_lock", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"}, says: []string{"runs the task"}},
		{program: "verdict_join", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"join end of LWP", "lock results"}, says: []string{"waits for the end of LWP", "omp_set_lock in gather"}},
		{program: "verdict_join", args: []string{"1"}},
		{program: "verdict_condition", kind: "deadlock", certainty: "likely", threads: 2, waits: []string{"condition filled", "lock table"}, says: []string{"condition variable filled", "no code of any other thread comes to a call that wakes"}},
		{program: "verdict_condition", args: []string{"1"}},
		{program: "verdict_depend", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"}, says: []string{"it runs the task"}},
		{program: "verdict_depend", only: "libomp-16-O1", args: []string{"0", "0", "15000"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"}, says: []string{"it runs the task"}},
		{program: "verdict_depend", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskgroup"}, says: []string{"a task that it depends on is not finished"}},
		{program: "verdict_depend", never: "libomp-14 libomp-15", args: []string{"2"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table", "taskwait"}, says: []string{"the task is not finished (verdict_depend.c:26)"}},
		{program: "verdict_depend", args: []string{"0", "1"}}, {program: "verdict_depend", args: []string{"1", "1"}}, {program: "verdict_depend", never: "libomp-14 libomp-15", args: []string{"2", "1"}},
		{program: "verdict_wrapped", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock", "lock"}, says: []string{"account_open in transfer"}},
		{program: "verdict_ordered_lock", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock log_lock", "ordered"}, says: []string{"waiting for the turn in an ordered loop"}, llvm: []string{"ordered_iteration is 0"}, gcc: []string{"is the one that is posted"}},
		{program: "verdict_ordered_lock", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock log_lock", "ordered"}, llvm: []string{"ordered_iteration is 0"}, gcc: []string{"ordered_owner of the loop"}},
		{program: "verdict_ordered_lock", args: []string{"2"}},
		{program: "verdict_atomic", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"atomic", "critical (unnamed)"}, says: []string{"GOMP_atomic_start in add", "the lock of atomic constructs"}},
		{program: "verdict_atomic", args: []string{"1"}},
		{program: "verdict_lock_names", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock accts[1].lock", "lock accts[2].lock"}},
		{program: "verdict_lock_names", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock table[2].left.fork", "lock table[3].left.fork"}},
		{program: "verdict_lock_names", args: []string{"2"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock inner[1].lock", "lock inner[2].lock"}},
		{program: "verdict_lock_names", args: []string{"3"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock grid[2][3]", "lock grid[2][4]"}},
		{program: "verdict_lock_names", args: []string{"0"}, bare: true, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock accts+0x18", "lock accts+0x28"}},
		{program: "verdict_lock_local", args: []string{"0"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock credit in plain", "lock debit in plain"}},
		{program: "verdict_lock_local", args: []string{"1"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock forks[2] in array", "lock forks[3] in array"}},
		{program: "verdict_lock_local", args: []string{"2"}, kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock books[0].lock in members", "lock books[1].lock in members"}},
		{program: "verdict_guard", kind: "deadlock", threads: 2, waits: []string{"lock", "lock"}},
		{program: "verdict_self_lock", kind: "self_deadlock", certainty: "certain", threads: 1, waits: []string{"lock once"}, says: []string{"which it has itself", "make it a nest lock"}},
	}
}

// lockKinds are the kinds of locks of LLVM's runtime.
func lockKinds() []expectation {
	return []expectation{
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16 libomp-19", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}, says: []string{"the word of the test-and-set lock"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=futex"}, only: "libomp-16", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}, says: []string{"the word of the futex lock"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=ticket"}, only: "libomp-16", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}},
		{program: "lock_cycle", env: []string{"KMP_LOCK_KIND=drdpa"}, only: "libomp-16 libomp-19", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"lock first", "lock second"}},
		{program: "verdict_self_lock", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16", kind: "self_deadlock", certainty: "certain", threads: 1, waits: []string{"lock once"}},
		{program: "verdict_nest_cycle", env: []string{"KMP_LOCK_KIND=tas"}, only: "libomp-16", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}},
		{program: "verdict_nest_cycle", env: []string{"KMP_LOCK_KIND=drdpa"}, only: "libomp-16", kind: "deadlock", certainty: "certain", threads: 2, waits: []string{"nest_lock leaf", "nest_lock tree"}},
	}
}

// freedLocks are locks whose memory goes away while a thread waits, and those beside
// which other memory does. GNU's waiters sleep, as they would otherwise look at what
// is there now.
func freedLocks() []expectation {
	out := []expectation{
		{program: "verdict_lock_freed", args: []string{"0"}, only: "libomp", kind: "lock_freed", certainty: "certain", threads: 1, says: []string{"lock fixed.lock, which was destroyed", "nobody will wake them"}},
		{program: "verdict_lock_freed", args: []string{"4"}, crash: true, kind: "lock_freed", certainty: "possible", threads: 1, says: []string{"no memory is mapped"}},
		{program: "verdict_lock_freed", args: []string{"9"}, only: "libgomp", crash: true, kind: "lock_freed", certainty: "possible", threads: 1, says: []string{"whose memory has something else in it", "is 0x5a5a5a5a, which is no state of a lock"}},
		{program: "verdict_lock_freed", args: []string{"3"}, only: "libgomp", kind: "lock_freed", certainty: "possible", threads: 1, says: []string{"malloc has not given out"}},
	}
	for how, says := range map[string][]string{
		"1": {"lock shared[0].lock, whose memory was freed", "a block of 264 bytes", "cache of free blocks"},
		"2": {"a block of 8192 bytes", "a list of free blocks has it"},
		"5": {"in the stack of LWP", "has returned"},
		"6": {"in the stack of a thread that has ended"},
	} {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how}, kind: "lock_freed", certainty: "possible", threads: 1, says: says})
	}
	for _, how := range []string{"1", "2"} { // nobody may have it
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how, "2"}, kind: "lock_freed", certainty: "likely", threads: 1, says: []string{"no thread shows that it has the lock", "which was freed"}})
	}
	for how, what := range map[string]string{"7": "mutex shared[0].mutex", "8": "nest lock shared[0].nest"} {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{how}, kind: "lock_freed", certainty: "certain", threads: 1, says: []string{what + ", whose memory was freed", "has the lock and may still give it back"}})
	}
	for how := range 10 {
		out = append(out, expectation{program: "verdict_lock_freed", args: []string{strconv.Itoa(how), "1"}})
	}
	for i := range out {
		out[i].env = []string{"GOMP_SPINCOUNT=0"}
	}
	return out
}

// faultVerdicts are programs that die of other signals than that of a null pointer.
func faultVerdicts() []expectation {
	died := func(what string, says ...string) expectation {
		return expectation{program: "verdict_fault", args: []string{what}, only: "libomp-16-O1 libgomp-bookworm-O2 libgomp-bookworm-O0", crash: true, kind: "crash", certainty: "certain", threads: 1, says: append(says, "it was thread 1 of 2 of the parallel region")}
	}
	return []expectation{
		died("0", "wrote to memory that may only be read in fail verdict_fault.c:40", "r-- of"),
		died("1", "where nothing is mapped, in fail verdict_fault.c:43", "nothing is mapped there"),
		died("2", "which is no code, in fail", "rw-: data[0]"),
		died("3", "jumped to", "where nothing is mapped, in fail"),
		died("4", "used a page of the mapped file", "shorter.dat that the file does not have in fail verdict_fault.c:54"),
		died("5", "divided an integer by zero in fail verdict_fault.c:57"),
		died("6", "came to where the compiler let the program end in fail"),
		died("7", "called abort in fail"),
		died("8", "used an address that is none in fail verdict_fault.c:64"),
		died("9", "wrote to memory that may only be read in", "in an explicit task"),
		died("10", "wrote to memory that may only be read in fail verdict_fault.c:40", "a handler of the signal was called"),
		died("14", "shorter.dat that the file does not have in fail verdict_fault.c:54", "a handler of the signal was called"),
		died("15", "divided an integer by zero in fail verdict_fault.c:57", "a handler of the signal was called"),
		died("18", "used an address that is none in fail verdict_fault.c:64"),
		{program: "verdict_fault", args: []string{"20"}, only: "libomp-16-O1 libgomp-bookworm-O2", crash: true},
	}
}

// otherVerdicts are all that is no deadlock.
func otherVerdicts() []expectation {
	return []expectation{
		{program: "verdict_stack_recursion", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1, says: []string{"OMP_STACKSIZE=", "deeper", "calls itself"}},
		{program: "verdict_stack_array", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1, env: []string{"OMP_STACKSIZE=2M"}, says: []string{"stack of 2M", "mean", "large arrays"}},
		{program: "verdict_assert", crash: true, kind: "crash", certainty: "certain", threads: 1, says: []string{"the C library ended the program, called in check", "verdict_assert.c:6", "Assertion `balance >= 0' failed", "__abort_msg"}},
		{program: "verdict_runtime_error", crash: true, only: "libomp", kind: "crash", certainty: "certain", threads: 1, says: []string{"the LLVM OpenMP runtime ended the program, called in close_ledger", "It said: OMP: Error #", "what is left on the stack"}},
		{program: "verdict_crash_lock", crash: true, kind: "crash", certainty: "certain", threads: 1, behind: 2, says: []string{"used a null pointer in drain verdict_crash_lock.c:16", "it has lock queue, which thread 2", "it has critical section journal, which thread 0", "It died in the middle"}},
		{program: "verdict_crash_joined", crash: true, kind: "crash", certainty: "certain", threads: 1, behind: 1, says: []string{"used a null pointer in drain verdict_crash_joined.c:14", "it has lock queue, which thread 1", "It died in the middle"}},
		{program: "verdict_barrier_left", kind: "barrier_divergent", certainty: "certain", threads: 2, waits: []string{"barrier", "barrier"}, says: []string{"at the end of the parallel region", "verdict_barrier_left.c:20"}},
		{program: "verdict_barrier_left", args: []string{"0"}, kind: "barrier_divergent", certainty: "certain", threads: 2, waits: []string{"barrier", "barrier"}},
		{program: "verdict_barrier_two", only: "O0 libgomp-O1", kind: "barrier_divergent", certainty: "certain", threads: 3, says: []string{"verdict_barrier_two.c:22", "verdict_barrier_two.c:26"}},
		{program: "verdict_lock_kept", kind: "lock_orphaned", certainty: "likely", threads: 2, says: []string{"lock cache", "nobody will give back"}},
		{program: "verdict_owner_gone", args: []string{"0"}, kind: "lock_orphaned", certainty: "certain", threads: 2, says: []string{"mutex mutex", "is no thread of the process"}},
		{program: "verdict_owner_gone", args: []string{"1"}, only: "libgomp", kind: "lock_orphaned", certainty: "likely", threads: 2, says: []string{"nest lock nest", "nobody will give back"}},
		{program: "verdict_detached", never: "libgomp-bullseye", kind: "task_starved", certainty: "likely", threads: 1, says: []string{"detached task", "event is not fulfilled", "calls omp_fulfill_event"}},
		{program: "verdict_detached", never: "libgomp-bullseye", args: []string{"1"}},
		{program: "verdict_tied", never: "libgomp-bullseye", kind: "task_starved", certainty: "likely", threads: 2, says: []string{"none of them may run it", "verdict_tied.c:50 is queued", "1 unfinished child", "descend from that task"}},
		{program: "verdict_tied", never: "libgomp-bullseye", args: []string{"1"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, kind: "one_thread", info: true, certainty: "certain", never: "libgomp-bullseye", threads: 2, says: []string{"it is nested, and max-active-levels-var allows 1 active level"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, kind: "one_thread", info: true, certainty: "certain", only: "libgomp-bullseye", threads: 2, says: []string{"it is nested, and nest-var is false"}},
		{program: "verdict_one_thread", args: []string{"2", "1"}, kind: "one_thread", info: true, certainty: "certain", threads: 1, says: []string{"num_threads"}},
		{program: "verdict_one_thread", args: []string{"3", "1"}, kind: "one_thread", info: true, certainty: "certain", threads: 1, says: []string{"if clause was false"}},
		{program: "verdict_one_thread", args: []string{"4", "1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"called omp_set_num_threads(1)"}},
		{program: "verdict_one_thread", args: []string{"5", "1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"one processor only"}},
		{program: "verdict_one_thread", args: []string{"7", "1"}, env: []string{"OMP_NUM_THREADS=1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"OMP_NUM_THREADS is 1"}},
		{program: "verdict_one_thread", args: []string{"7", "2"}, env: []string{"OMP_NUM_THREADS=4", "OMP_THREAD_LIMIT=2"}, kind: "one_thread", certainty: "certain", threads: 2, says: []string{"4 threads were asked for", "thread-limit-var is 2"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, env: []string{"OMP_MAX_ACTIVE_LEVELS=1"}, kind: "one_thread", info: true, certainty: "certain", never: "libgomp-bullseye", threads: 2},
		{program: "verdict_one_thread", args: []string{"8", "0"}, kind: "one_thread", certainty: "certain", threads: anyNumber, says: []string{"64 threads were asked for by num_threads(64)", "dyn-var lets the runtime take fewer"}},
		{program: "verdict_fork_child", args: []string{"1"}, only: "libgomp", never: "libgomp-sid", kind: "fork_child", certainty: "certain", threads: 1, says: []string{"counts on 2 threads", "waits for those that are not there", "call fork before"}},
		{program: "verdict_fork_child", args: []string{"2"}, only: "libgomp", never: "libgomp-sid", kind: "fork_child", certainty: "certain", threads: 1, says: []string{"thread 1", "counts on 2 threads"}},
		{program: "verdict_fork_child", args: []string{"3"}, only: "libgomp", never: "libgomp-sid", kind: "fork_child", certainty: "certain", says: []string{"the next parallel region will wait"}},
		{program: "healthy_fork_child", args: []string{"0"}, never: "libgomp-sid"}, {program: "healthy_fork_child", args: []string{"1"}, only: "libomp"},
		{program: "verdict_oversubscribed", args: []string{"0"}, kind: "oversubscribed", info: true, certainty: "certain", threads: anyNumber},
		{program: "verdict_oversubscribed", args: []string{"1"}, env: []string{"OMP_WAIT_POLICY=active"}, only: "libomp", kind: "oversubscribed", certainty: "certain", threads: anyNumber, says: []string{"wait-policy-var: active", "take processors from those", "OMP_WAIT_POLICY=passive"}},
		{program: "verdict_oversubscribed", args: []string{"2"}},
		{program: "verdict_two_runtimes", kind: "two_runtimes", certainty: "certain", says: []string{"libgomp.so.1", "libomp.so.5"}},
		{program: "healthy_lock_held"}, {program: "healthy_released"}, {program: "healthy_slow_member"},
	}
}
