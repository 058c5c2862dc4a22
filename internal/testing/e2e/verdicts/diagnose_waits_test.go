package verdicts

import (
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// readWriteLocks returns deadlocks of the C library's read-write locks, and their healthy twins.
func readWriteLocks() []expectation {
	var out []expectation
	for way, says := range [][]string{
		{"read-write lock table", "__cur_writer of the read-write lock at"}, {"lock ledger", "read-write lock table"},
		{"which it has for reading itself", "pthread_rwlock_rdlock in promote", "there is 1 reader"},
		{"lock ledger", "read-write lock table", "there is 1 reader", "pthread_rwlock_rdlock in guarded"},
		{"lock ledger", "lock page", "omp_set_lock in page_of"},
		{"lock ledger", "lock page", "omp_set_lock in page_of"},
	} {
		e := expectation{
			program: "verdict_rwlock", args: []string{strconv.Itoa(way)}, threads: 2, certainty: picture.Certain,
			kind: picture.VerdictDeadlock, waits: []string{"barrier", "rwlock table"}, says: says,
		}
		if way > 0 {
			e.waits[0] = "lock ledger"
		}
		if way == 1 { // a thread that waits for a lock of LLVM's runtime spins, and may have just acquired it
			e.only, e.env = "libgomp", e2e.Asleep
		}
		if way == 2 { // after the barrier, only thread 0 releases the lock
			e.kind, e.threads, e.waits = picture.VerdictSelfDeadlock, 1, e.waits[1:]
		}
		if way > 2 { // acquired under an if: certain where the frame still shows the condition
			e.certainty, e.env = "", e2e.Asleep
		}
		if way >= 4 {
			e.waits[1] = "lock page"
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// spinLocks returns deadlocks of the C library's spin locks, and their healthy twins.
func spinLocks() []expectation {
	out := twins(expectation{program: "verdict_spin_lock", args: []string{"0"}, threads: 2,
		kind: picture.VerdictDeadlock, certainty: picture.Certain, waits: []string{"mutex ready", "mutex sent"},
		says: []string{"2 threads wait for each other", "pthread_spin_lock in send"}}, "0", "1")
	out = append(out, twins(expectation{program: "verdict_spin_lock", args: []string{"1"}, threads: 1,
		kind: picture.VerdictSelfDeadlock, waits: []string{"mutex ready"},
		says: []string{"which it holds itself", "unlock the spin lock on every path"}}, "1", "1")...)
	return append(out, twins(expectation{program: "verdict_spin_lock", args: []string{"2"}, threads: 2,
		kind: picture.VerdictDeadlock, waits: []string{"barrier", "mutex sent"},
		says: []string{"pthread_spin_lock in post"}}, "2", "1")...)
}

// healthySpins returns programs whose threads spin for each other again and again, and make progress.
func healthySpins() (out []expectation) {
	for way := range 21 {
		out = append(out, expectation{program: "healthy_spinning", never: e2e.OwnCore,
			args: []string{strconv.Itoa(way)}})
	}
	return out
}

// lockPointers returns hangs of locks that functions take through a pointer in a variable, and healthy twins.
func lockPointers() []expectation {
	e := expectation{program: "verdict_lock_pointer", never: e2e.OwnCore}
	e.args, e.kind, e.threads, e.waits = []string{"0"}, picture.VerdictSelfDeadlock, 1, []string{"lock page"}
	e.says = []string{"which it holds itself", "omp_set_lock in again"}
	out := twins(e, "0", "1")
	e.args, e.kind, e.threads = []string{"1"}, picture.VerdictDeadlock, 2
	e.waits, e.says = []string{"join end of LWP", "lock page"}, []string{"omp_set_lock in hold", "in <OMP-lock_wait>"}
	out = append(out, twins(e, "1", "1")...)
	e.args, e.kind, e.threads, e.waits = []string{"2"}, picture.VerdictSpinning, 1, nil
	e.says = []string{"until page changes", "thread 0 (LWP ", ") holds it, and cannot proceed"}
	out = append(out, twins(e, "2", "1")...)
	return append(out, expectation{program: e.program, never: e.never, args: []string{"3"}})
}

// triedLocks returns hangs of locks that threads acquired by a loop of tries, or try to acquire so, and healthy twins.
func triedLocks() []expectation {
	var out []expectation
	for way, e := range []expectation{
		{kind: picture.VerdictSpinning, says: []string{"until gate changes", "thread 1 (LWP ", "holds it itself"}},
		{kind: picture.VerdictSelfDeadlock, waits: []string{"lock gate"}, says: []string{"which it holds itself"}},
		{kind: picture.VerdictSpinning, says: []string{"until gate changes", "thread 1 (LWP ", "holds it itself"}},
		{kind: picture.VerdictSelfDeadlock, waits: []string{"lock gate"},
			says: []string{"which it holds itself", "a handler must not wait for lock gate"}},
		{kind: picture.VerdictDeadlock, threads: 2, waits: []string{"lock ends[0]", "lock ends[1]"},
			says: []string{"omp_test_lock in both"}},
	} {
		e.program, e.args, e.threads = "verdict_try_lock", []string{strconv.Itoa(way)}, max(e.threads, 1)
		e.never = e2e.OwnCore
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// upgrades returns threads that acquire a read-write lock for writing while they hold it for reading, and healthy
// twins.
func upgrades() []expectation {
	var out []expectation
	for way, says := range [][]string{
		{"waits for read-write lock table for writing, which it has for reading itself", "insert verdict_upgrade.cc:27",
			"insert verdict_upgrade.cc:31"},
		{"waits for read-write lock index_of for writing, which it has for reading itself",
			"enter verdict_upgrade.cc:37", "enter verdict_upgrade.cc:41"},
		{"2 threads wait for read-write lock table for writing, which each of them has for reading itself",
			"insert verdict_upgrade.cc:27", "insert verdict_upgrade.cc:31"},
		{"waits for read-write lock index_of for writing, which it has for reading itself",
			"reenter verdict_upgrade.cc:60", "reenter verdict_upgrade.cc:65"},
		{"2 threads wait for read-write lock table for writing, which each of them has for reading itself",
			"renew verdict_upgrade.cc:50", "renew verdict_upgrade.cc:55"},
	} {
		e := expectation{
			program: "verdict_upgrade", args: []string{strconv.Itoa(way)}, threads: 1,
			never: "clang-14", // its C++ is of 2014, without std::shared_mutex
			kind:  picture.VerdictSelfDeadlock, says: append(says, "release it for reading first"),
			waits: []string{"rwlock table"},
		}
		switch way {
		case 1, 3:
			e.waits[0] = "rwlock index_of"
		case 2, 4:
			e.threads = 2
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// onces returns one-time initializations that wait for themselves, or for the threads that wait for them, and
// healthy twins.
func onces() []expectation {
	var out []expectation
	for way, says := range [][]string{
		{"which it is in itself", "called in total verdict_once.cc:40", "again in count verdict_once.cc:27"},
		{"which it is in itself", "called in total_open verdict_once.cc:45", "again in count_open verdict_once.cc:34"},
		{"at verdict_once.cc:91", "make the call before the parallel region"},
		{"called in the parallel region of main at verdict_once.cc:"},
	} {
		e := expectation{
			program: "verdict_once", args: []string{strconv.Itoa(way)}, env: e2e.Asleep, threads: 2,
			kind: picture.VerdictDeadlock, says: says, waits: []string{"barrier", "once loaded"},
		}
		switch way {
		case 0, 1:
			e.kind, e.threads, e.certainty = picture.VerdictSelfDeadlock, 1, picture.Certain
			e.waits = []string{[]string{"once loaded", "once opened"}[way]}
		case 2:
			e.certainty = picture.Certain
		case 3:
			e.waits = []string{"lock shelf", "once opened"}
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	return out
}

// spinsUntil returns the hang of three threads in a loop of a program, chosen by its first argument.
func spinsUntil(program string, way int, says string) expectation {
	return expectation{
		program: program, args: []string{strconv.Itoa(way)}, threads: 3, never: e2e.OwnCore,
		kind: picture.VerdictSpinning, certainty: picture.Likely,
		says: []string{"3 threads spin in ", says, "no thread is left that could change it"},
	}
}

// spins returns the program's own loops that read a flag, and their healthy twins.
func spins() []expectation {
	var out []expectation
	for way, says := range []string{
		"verdict_spin.c:37 until own.turn changes", "verdict_spin.c:40 until own.turn changes",
		"verdict_spin.c:23 until own.turn changes", "verdict_spin.c:48 until own.taken changes",
		"verdict_spin.c:45 until door changes", "",
		"verdict_spin.c:68 until own.turn changes", "until own.turn changes",
	} {
		if says == "" { // an endless loop: see below
			continue
		}
		e := spinsUntil("verdict_spin", way, says)
		if way == 2 {
			e.says[0] = "3 threads poll in "
			e.never += " gcc-16" // its code reads a second variable, which is named as well
		}
		if way == 1 {
			e.never += " gcc-12-static" // no verdict
		}
		// Another thread, another process, or a member of the team may change it.
		out = append(out, twins(e, strconv.Itoa(way), []string{"1", "2", "3", "1", "1", "", "4", "1"}[way])...)
	}
	for _, works := range []string{"0", "1"} { // whether or not another thread works
		out = append(out, expectation{
			program: "verdict_spin", args: []string{"5", works}, threads: 3, never: e2e.OwnCore,
			kind: picture.VerdictSpinning, certainty: picture.Likely,
			says: []string{"3 threads spin in ", ".c:55 in a loop that reads no variable and has no way out"},
		})
	}
	return out
}

// floatSpins returns the program's own loops that read a floating-point number, and their healthy twins.
func floatSpins() []expectation {
	var out []expectation
	for way, says := range []string{
		"verdict_spin_float.c:24 until levels[2] changes", "verdict_spin_float.c:29 until ratio changes",
		"verdict_spin_float.c:34 until phase changes", "until residual changes",
		"verdict_spin_float.c:47 until level changes", "verdict_spin_float.c:52 until start changes",
		"verdict_spin_float.c:57 until offset changes", "verdict_spin_float.c:62 until ticks changes",
	} {
		e := spinsUntil("verdict_spin_float", way, says)
		if way == 6 {
			e.says[0] = "3 threads poll in "
		}
		out = append(out, twins(e, strconv.Itoa(way), "1")...)
	}
	for way, says := range []string{"charged verdict_spin_atomic.cc:13 until voltage",
		"reaches verdict_spin_atomic.cc:18 until share"} {
		out = append(out, twins(spinsUntil("verdict_spin_atomic", way, says), strconv.Itoa(way), "1")...)
	}
	for way, variable := range []string{"level", "start"} { // compared after arithmetic
		says := "in " + []string{"distance", "product"}[way] + " " // clang 22 has no line for it
		e := spinsUntil("verdict_spin_float", way+12, says)
		e.says = append(e.says, "until "+variable+" changes")
		out = append(out, twins(e, strconv.Itoa(way+12), "1")...)
	}
	for way := 8; way < 12; way++ { // loops that end some time
		out = append(out, expectation{program: "verdict_spin_float", never: e2e.OwnCore,
			args: []string{strconv.Itoa(way)}})
	}
	return out
}

// outside returns waits for events from other processes, which are no hang.
func outside() []expectation {
	e := expectation{
		program: "verdict_call", kind: picture.VerdictBlockedOutside, info: true, certainty: picture.Certain,
		threads: 1, behind: 2,
		says: []string{"thread 1", "verdict_call.c:17 for the end of system call read of descriptor"},
	}
	held, barrier := e, e
	held.args = []string{"0"}
	held.says = append(e.says, "2 threads wait for it", "it holds critical section transfer, acquired in ")
	barrier.args, barrier.env = []string{"1"}, e2e.Asleep
	return []expectation{held, barrier}
}

// handlers returns waits in a signal handler for a lock of the interrupted code, and healthy twins.
func handlers() []expectation {
	var out []expectation
	for way, what := range []string{"mutex purse", "lock till"} {
		out = append(out, twins(expectation{
			program: "verdict_handler", args: []string{strconv.Itoa(way)}, threads: 1, behind: 1,
			kind: picture.VerdictSelfDeadlock, certainty: []picture.Certainty{picture.Certain, ""}[way],
			never: e2e.OwnCore, waits: []string{what},
			says: []string{
				"for " + what, "which interrupted pay verdict_handler.c:40", "a handler must not wait for " + what,
				"at <signal handler called>",
			},
		}, strconv.Itoa(way), "1")...)
	}
	return out
}

// lockingHandlers returns signals that interrupt the wait for a lock: LLVM's runtime ends a program with a handler that
// acquires a lock there. In the healthy twin, the handler only counts.
func lockingHandlers() []expectation {
	var out []expectation
	for way := range 2 {
		out = append(out, expectation{
			program: "verdict_handler_lock", args: []string{strconv.Itoa(way)}, only: "libomp", crash: true,
			kind: picture.VerdictCrash, certainty: picture.Certain, threads: 1,
			says: []string{
				"The runtime was called in the handler of a signal, note, which interrupted ",
				"omp_set_lock in enter verdict_handler_lock.c:23", "acquire no lock in a handler",
				"the signal interrupted enter verdict_handler_lock.c:23, in ",
			},
		})
	}
	return append(out, expectation{program: "verdict_handler_lock", args: []string{"2"}})
}

// queuedSignals returns waits on a condition variable that a queued task would signal, and healthy twins.
func queuedSignals() []expectation {
	return append(twins(expectation{
		program: "verdict_consumers", threads: 2, kind: picture.VerdictTaskStarved, certainty: picture.Likely,
		says: []string{
			"2 threads wait for what a queued task would signal", "the task at verdict_consumers.c:60 is queued",
			"condition variable filled in consume verdict_consumers.c:22",
		},
	}, "1"), expectation{program: "verdict_consumers", args: []string{"2"}})
}

// libraryWaits returns waits in the C library and in C++'s standard library, and their healthy twins.
func libraryWaits() []expectation {
	out := twins(expectation{
		program: "verdict_threads", threads: 3, never: e2e.OwnCore,
		kind: picture.VerdictNeverWoken, certainty: picture.Likely,
		says: []string{"3 threads wait for pthread barrier meeting", "3 of the 4 threads came to it"},
	}, "1")
	for way, says := range []string{"for a std::future (the word at 0x", "for condition variable channel"} {
		out = append(out, twins(expectation{
			program: "verdict_future", args: []string{strconv.Itoa(way)}, threads: 3, never: e2e.OwnCore,
			kind: picture.VerdictNeverWoken, certainty: picture.Likely,
			says: []string{"3 threads wait " + says, "verdict_future.cc:" + []string{"34", "19"}[way]},
		}, strconv.Itoa(way), "1")...)
	}
	out = append(out, twins(expectation{
		program: "verdict_async", threads: 2, behind: 2, never: e2e.OwnCore, kind: picture.VerdictDeadlock,
		certainty: picture.Certain, waits: []string{"join", "mutex ledger"}, says: []string{"verdict_async.cc:38"},
	}, "1")...)
	return append(out, twins(expectation{
		program: "verdict_latch", standard: "c++20", threads: 3,
		never: "clang-14 " + e2e.OwnCore, kind: picture.VerdictNeverWoken, certainty: picture.Likely,
		says: []string{"wait for a std::latch (the word gate)", "verdict_latch.cc:17", "count the latch down"},
	}, "1")...)
}
