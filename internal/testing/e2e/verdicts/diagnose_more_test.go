package verdicts

import (
	"os"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// brokenLocks returns crashes in LLVM's functions for locks, which take the first word of memory that is no lock for a
// table's index: they call a null pointer, or code that fails or ends the program. No thread waits then.
func brokenLocks() []expectation {
	const unknown, noLock = "The memory that omp_set_lock was given is no lock", "omp_set_lock was given lock at 0x"
	// Whether the pointer leads to a lock or to an array of them is not known once the block is freed.
	const one = "omp_set_lock was given lock "
	const freed, once = "which was freed: it is in a thread's cache", "only when no thread uses it any more"
	const check = "check the index of the lock against the size of the array"
	var out []expectation
	// With this word, the runtime begins a transaction. On a processor that has transactions, it does not crash, but
	// spins forever.
	const transaction = "5592329"
	processor, _ := os.ReadFile("/proc/cpuinfo")
	hasTransactions := strings.Contains(string(processor), " rtm ")
	broken := func(program string, args []string, says ...string) {
		out = append(out, expectation{program: program, args: args, crash: true, kind: "crash", certainty: "certain",
			only: "libomp-14 libomp-15 libomp-16 libomp-19", threads: 1, says: says})
	}
	for word, says := range map[string][]string{
		"5592321":    {"dereferenced a null pointer in omp_set_lock", one, freed, once},
		"1431655764": {"dereferenced a null pointer in omp_set_lock", one, freed, once},
		transaction:  {"executed an instruction", "in omp_set_lock", one, freed, once},
		"5592371":    {"Its message: OMP: Error #13: Assertion failure at kmp_lock", one, freed, once},
		"5592353": {"Its message: OMP: Error #13", "is in a state in which the runtime never leaves one",
			"initialize each lock"},
	} {
		if word != transaction || !hasTransactions {
			broken("verdict_lock_outside", []string{"3", "0", word}, says...)
		}
	}
	for _, word := range []string{"1", "1431655764"} { // a null pointer is called, or read in the runtime
		broken("verdict_lock_broken", []string{"0", word}, "dereferenced a null pointer in omp_set_lock", noLock,
			"bytes past the end of the block of 520 bytes at 0x", check)
		broken("verdict_lock_broken", []string{"0", word, "1"}, "dereferenced a null pointer in omp_unset_lock",
			"omp_unset_lock was given lock at 0x", "bytes past the end of the block of 520 bytes at 0x", check)
		broken("verdict_lock_broken", []string{"1", word}, "dereferenced a null pointer in omp_set_lock", noLock,
			"it would be element 64 of table.locks, which has 64 elements", check)
		broken("verdict_lock_broken", []string{"2", word}, "dereferenced a null pointer in omp_set_lock", unknown,
			"omp_set_lock was given lock table.locks[63] (0x", "initialize each lock")
	}
	return out
}

// runtimeVerdicts returns stack overflows, crashes, barriers, and locks that no thread releases.
func runtimeVerdicts() []expectation {
	return []expectation{
		{program: "verdict_stack_recursion", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1,
			says: []string{"OMP_STACKSIZE=", "deeper", "recursion"}},
		{program: "task_recursion", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1,
			says: []string{"8M", "task_recursion.c:1", "the recursion is endless", "in an explicit task"}},
		{program: "verdict_stack_array", crash: true, kind: "stack_overflow", certainty: "certain", threads: 1,
			env: []string{"OMP_STACKSIZE=2M"}, says: []string{"stack of 2M", "mean", "large arrays"}},
		{program: "verdict_assert", crash: true, kind: "crash", certainty: "certain", threads: 1,
			says: []string{"the C library ended the program, called in check", "verdict_assert.c:6",
				"Assertion `balance >= 0' failed", "__abort_msg"}},
		{program: "verdict_runtime_error", crash: true, only: "libomp", kind: "crash", certainty: "certain", threads: 1,
			says: []string{"the LLVM OpenMP runtime ended the program, called in close_ledger",
				"Its message: OMP: Error #", "what is left on the stack"}},
		{program: "verdict_crash_lock", crash: true, kind: "crash", certainty: "certain", threads: 1, behind: 2,
			says: []string{"dereferenced a null pointer in drain verdict_crash_lock.c:16",
				"it holds lock queue, which thread 2", "it holds critical section journal, which thread 0",
				"It died while it held a lock"}},
		{program: "verdict_crash_joined", crash: true, kind: "crash", certainty: "certain", threads: 1, behind: 1,
			says: []string{"dereferenced a null pointer in drain verdict_crash_joined.c:14",
				"it holds lock queue, which thread 1", "It died while it held a lock"}},
		betweenTasks("0", ""), betweenTasks("1", ""), betweenTasks("2", "libomp-14 libomp-15"),
		{program: "verdict_barrier_left", kind: "barrier_divergent", certainty: "certain", threads: 2,
			waits: []string{"barrier", "barrier"}, says: []string{"at the end of the parallel region",
				"verdict_barrier_left.c:20"}},
		{program: "verdict_barrier_left", args: []string{"0"}, kind: "barrier_divergent", certainty: "certain",
			threads: 2, waits: []string{"barrier", "barrier"}},
		{program: "verdict_barrier_two", only: "O0 libgomp-O1", kind: "barrier_divergent", certainty: "certain",
			threads: 3, says: []string{"verdict_barrier_two.c:22", "verdict_barrier_two.c:26"}},
		{program: "verdict_lock_kept", env: e2e.Asleep, kind: "lock_orphaned", certainty: "likely", threads: 2,
			says: []string{"lock cache", "nobody will release"}},
		{program: "verdict_lock_rounds", env: e2e.Asleep, kind: "lock_orphaned", certainty: "likely", threads: 2,
			says: []string{"lock cache", "nobody will release"}},
		{program: "verdict_lock_rounds", env: e2e.Asleep, args: []string{"1"}},
		{program: "verdict_lock_path", env: e2e.Asleep, kind: "lock_orphaned", certainty: "likely", threads: 3,
			says: []string{"lock stat", "nobody will release"}},
		{program: "verdict_lock_path", env: e2e.Asleep, never: "libomp-19 libomp-O2 libomp-O3", args: []string{"1"},
			kind: "lock_orphaned", certainty: "likely", threads: 3, says: []string{"lock stat", "nobody will release"}},
		{program: "verdict_lock_path", env: e2e.Asleep, args: []string{"2"}},
		{program: "verdict_lock_path", env: e2e.Asleep, never: "libomp-19 libomp-O2 libomp-O3", args: []string{"3"},
			kind: "lock_orphaned", certainty: "likely", threads: 3, says: []string{"lock stat", "nobody will release"}},
		{ // without the line for GCC at -O2
			program: "verdict_lock_path", env: e2e.Asleep, never: "libomp-19 O2 O3 gcc-12-O2", args: []string{"3"},
			kind: "lock_orphaned", certainty: "likely", threads: 3,
			says: []string{"by asserts verdict_lock_path.c:77."},
		},
		{program: "verdict_owner_gone", args: []string{"0"}, kind: "lock_orphaned", certainty: "certain", threads: 2,
			says: []string{"mutex mutex", "is no thread of the process"}},
		{program: "verdict_owner_gone", env: e2e.Asleep, args: []string{"1"}, only: "libgomp", kind: "lock_orphaned",
			certainty: "likely", threads: 2, says: []string{"nestable lock nest", "nobody will release"}},
		{program: "verdict_tied", never: "libgomp-bullseye", kind: "task_starved", certainty: "likely", threads: 2,
			says: []string{"none of them may run it", "verdict_tied.c:50 is queued",
				"waits for its child tasks in a taskwait: ", "descendants of that task"}},
		{program: "verdict_tied", never: "libgomp-bullseye", args: []string{"1"}},
	}
}

// teamVerdicts returns verdicts on the size of teams: fewer threads than requested, than before, or more than
// there are processors.
func teamVerdicts() []expectation {
	return []expectation{
		{program: "verdict_one_thread", args: []string{"1", "2"}, kind: "one_thread", info: true, certainty: "certain",
			never: "libgomp-bullseye", threads: 2, says: []string{"it is nested, and max-active-levels-var allows 1 " +
				"active level"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, kind: "one_thread", info: true, certainty: "certain",
			only: "libgomp-bullseye", threads: 2, says: []string{"it is nested, and nest-var is false"}},
		{program: "verdict_one_thread", args: []string{"2", "1"}, kind: "one_thread", info: true, certainty: "certain",
			threads: 1, says: []string{"num_threads"}},
		{program: "verdict_one_thread", args: []string{"3", "1"}, kind: "one_thread", info: true, certainty: "certain",
			threads: 1, says: []string{"if clause was false"}},
		{program: "verdict_one_thread", args: []string{"4", "1"}, kind: "one_thread", certainty: "certain", threads: 1,
			says: []string{"called omp_set_num_threads(1)"}},
		{program: "verdict_one_thread", args: []string{"5", "1"}, kind: "one_thread", certainty: "certain", threads: 1,
			says: []string{"one processor only"}},
		{program: "verdict_one_thread", args: []string{"7", "1"}, env: []string{"OMP_NUM_THREADS=1"},
			kind: "one_thread", certainty: "certain", threads: 1, says: []string{"OMP_NUM_THREADS is 1"}},
		{program: "verdict_one_thread", args: []string{"7", "2"},
			env: []string{"OMP_NUM_THREADS=4", "OMP_THREAD_LIMIT=2"}, kind: "one_thread", certainty: "certain",
			threads: 2, says: []string{"4 threads were requested", "thread-limit-var is 2"}},
		{program: "verdict_one_thread", args: []string{"1", "2"}, env: []string{"OMP_MAX_ACTIVE_LEVELS=1"},
			kind: "one_thread", info: true, certainty: "certain", never: "libgomp-bullseye", threads: 2},
		{program: "verdict_one_thread", args: []string{"8", "0"}, kind: "one_thread", certainty: "certain",
			threads: anyNumber, says: []string{"64 threads were requested by num_threads(64)",
				"dyn-var lets the runtime use fewer"}},
		{program: "verdict_fork_child", args: []string{"1"}, only: "libgomp", never: e2e.OwnCore, kind: "fork_child",
			certainty: "certain", threads: 1, says: []string{"expects 2 threads", "waits for threads that do not exist",
				"call fork before"}},
		{program: "verdict_fork_child", args: []string{"2"}, only: "libgomp", never: e2e.OwnCore, kind: "fork_child",
			certainty: "certain", threads: 1, says: []string{"thread 1", "expects 2 threads"}},
		{program: "verdict_fork_child", args: []string{"4"}, only: "libgomp", never: e2e.OwnCore, kind: "fork_child",
			certainty: "certain", threads: 1,
			says: []string{"expects 2 threads", "waits for threads that do not exist"}},
		{program: "verdict_fork_child", args: []string{"3"}, only: "libgomp", never: e2e.OwnCore, kind: "fork_child",
			certainty: "certain", says: []string{"the next parallel region will wait"}},
		{program: "verdict_fork_child", args: []string{"5"}, only: "libgomp", never: e2e.OwnCore, kind: "fork_child",
			certainty: "certain", says: []string{"the next parallel region will wait"}},
		{program: "verdict_fork_child", args: []string{"5"}, only: "libomp"},
		{program: "verdict_thread_ended", kind: "thread_ended", threads: 2,
			says: []string{"thread 2 of the team of 3 ended inside"}},
		{program: "verdict_thread_ended", args: []string{"0", "1"}, kind: "thread_ended", threads: 2,
			says: []string{"thread 2 of the team of 3 ended inside"}},
		{program: "verdict_thread_ended", args: []string{"0", "2"}, kind: "thread_ended", threads: 2,
			says: []string{"thread 2 of the team of 3 ended inside"}},
		{program: "verdict_thread_ended", args: []string{"1"}},
		{program: "healthy_fork_child", args: []string{"0"}, never: e2e.OwnCore},
		{program: "healthy_fork_child", args: []string{"1"}, only: "libomp"},
		forkerEnds("0", 2), forkerEnds("1", 2), forkerEnds("2", 2), forkerEnds("3", 1), forkerEnds("4", 2),
		{program: "verdict_thread_ending", args: []string{"5"}},
		{program: "verdict_thread_ending", args: []string{"6"}},
		{program: "verdict_oversubscribed", args: []string{"0"}, kind: "oversubscribed", info: true,
			certainty: "certain", threads: anyNumber},
		{program: "verdict_oversubscribed", args: []string{"1"}, env: []string{"OMP_WAIT_POLICY=active"},
			only: "libomp", kind: "oversubscribed", certainty: "certain", threads: anyNumber,
			says: []string{"wait-policy-var: active", "take processor time from the threads",
				"OMP_WAIT_POLICY=passive"}},
		{program: "verdict_oversubscribed", args: []string{"2"}},
		{program: "verdict_oversubscribed", args: []string{"4"}, env: spinForEver, only: "libomp",
			kind: "oversubscribed", certainty: "certain", threads: anyNumber,
			says: []string{"take processor time from the threads", "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0"}},
		{program: "verdict_two_runtimes", kind: "two_runtimes", certainty: "certain",
			says: []string{"libgomp.so.1", "libomp.so.5"}},
		{program: "healthy_lock_held"}, {program: "healthy_mutual"}, {program: "healthy_released"},
		{program: "healthy_tail_outlined", env: e2e.Asleep},
		{program: "healthy_slow_member"},
		{program: "healthy_unlikely"},
	}
}

// forkerEnds returns the verdict on a team in which some threads wait for the thread that forked it and has
// ended. LLVM's runtime may end workers with it.
func forkerEnds(kind string, waiting int) expectation {
	return expectation{program: "verdict_thread_ending", args: []string{kind}, only: "libgomp", kind: "thread_ended",
		env: []string{"OMP_NESTED=true"}, certainty: "certain", threads: waiting,
		says: []string{"thread 0 of the team of", "ended inside"}}
}
