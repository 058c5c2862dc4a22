package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestNever checks that a thread cannot proceed if it waits for one that never will.
func TestNever(t *testing.T) {
	held := func(hs ...picture.Holder) func(scene) {
		return func(s scene) { // 1 waits for a lock, and 2 for 1
			s.lock("a").Holders = hs
			s.waits(1, picture.WaitLock, "a")
			s.arrived("b", 0x100, []int{2}, 1)
		}
	}
	self := likely(picture.VerdictSelfDeadlock, "nestable", "holds itself", 1)
	check(t, []scenario{
		{"the owner is gone", 2, func(s scene) {
			s.lock("a").OwnerEnded = true
			s.waits(1, picture.WaitLock, "a")
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{
			{picture.VerdictLockOrphaned, picture.SeverityHang, picture.Certain, []int{1}, "release the lock", ""},
			neverComplete(picture.Certain, 2),
		}},
		{"the only holder waits", 2, held(picture.Holder{Thread: 1, Certainty: picture.Likely, Evidence: "code"}),
			[]want{self, neverComplete(picture.Certain, 2)}},
		{"the surest holder waits", 2, held(
			picture.Holder{Thread: 1, Certainty: picture.Likely, Evidence: "code"},
			picture.Holder{Thread: 2, Certainty: picture.Possible, Evidence: "code"},
		), []want{self, neverComplete(picture.Certain, 2)}},
		{"two hold it as surely", 2, held(
			picture.Holder{Thread: 1, Certainty: picture.Likely, Evidence: "code"},
			picture.Holder{Thread: 2, Certainty: picture.Likely, Evidence: "code"},
		), []want{incomplete(2)}},
		{"the holder may be the waiter", 2, held(
			picture.Holder{Thread: 1, Certainty: picture.Possible, Evidence: "code"},
		), []want{incomplete(2)}},
	})
}

// TestWeakest checks that a conclusion is as sure as the least sure fact that it follows from.
func TestWeakest(t *testing.T) {
	cycle := func(c picture.Certainty) func(scene) {
		return func(s scene) { // 2 and 3 wait for each other's lock, and 1 for 2
			s.lock("a").Holders = []picture.Holder{{Thread: 3, Certainty: c, Evidence: "code"}}
			s.waits(2, picture.WaitLock, "a")
			s.holds(2, 3, picture.WaitLock, "b")
			s.arrived("x", 0x100, []int{1}, 2)
		}
	}
	dead := want{picture.VerdictDeadlock, picture.SeverityHang, picture.Certain, []int{2, 3}, "same order", ""}
	guess := dead
	guess.certainty = picture.Likely
	check(t, []scenario{
		{"all is certain", 3, cycle(picture.Certain), []want{dead, neverComplete(picture.Certain, 1)}},
		{"one edge is likely", 3, cycle(picture.Likely), []want{guess, neverComplete(picture.Likely, 1)}},
		{"one edge is possible", 3, cycle(picture.Possible), []want{incomplete(1)}},
		{"the likely edge is behind the cycle", 4, func(s scene) {
			cycle(picture.Likely)(s)
			s.holds(1, 4, picture.WaitLock, "c")
		}, []want{guess, neverComplete(picture.Likely, 1)}},
	})
}

// TestAnyOf checks that one of the threads that may wake another is enough.
func TestAnyOf(t *testing.T) {
	wakers := func(lwps ...int) func(scene) {
		return func(s scene) { // 1 waits on a condition variable and holds a lock that 2 waits for
			s.Facts.Wakers = &picture.Candidates{Threads: lwps}
			s.waits(1, picture.WaitCondition, "c").Lock = ""
			s.holds(1, 2, picture.WaitLock, "a")
		}
	}
	and := func(first, then func(scene)) func(scene) {
		return func(s scene) {
			first(s)
			then(s)
		}
	}
	dead := likely(picture.VerdictDeadlock, "hold no lock", "condition variable c", 1, 2)
	check(t, []scenario{
		{"the only one waits", 3, wakers(2), []want{dead}},
		{"two, of whom one is at work", 3, wakers(2, 3), nil},
		{"two, of whom the first is at work", 3, wakers(3, 2), nil},
		{"two, and both wait", 3, and(wakers(2, 3), func(s scene) {
			s.waits(3, picture.WaitLock, "a")
		}), []want{dead}},
		{"three, of whom one is at work", 4, and(wakers(2, 3, 4), func(s scene) {
			s.waits(3, picture.WaitLock, "a")
		}), nil},
		{"itself, and one that waits", 3, wakers(1, 2), []want{dead}},
		{"a task is queued that may", 3, and(wakers(2), func(s scene) {
			s.implicit()
			s.task("q", "i3", picture.TaskQueued, 0)
			s.Facts.Wakers.Tasks = []picture.ID{"q"}
		}), nil},
	})
}

// TestBegun checks tasks that threads have started, at a barrier and elsewhere.
func TestBegun(t *testing.T) {
	check(t, []scenario{
		{"the barrier does not wait for tasks yet", 3, func(s scene) {
			s.implicit()
			s.task("a", "i3", picture.TaskRunning, 3)
			s.arrived("b", 0x100, []int{1, 2})
			s.holds(1, 3, picture.WaitLock, "l")
		}, nil},
		{"a thread's own task, at the barrier", 2, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 1)
			s.arrived("b", 0x100, []int{1, 2}).WaitsForTasks = true
		}, nil},
		{"its own, and one that waits for it", 3, func(s scene) {
			s.implicit()
			s.task("a", "i1", picture.TaskRunning, 1)
			s.task("c", "i3", picture.TaskRunning, 3)
			s.arrived("b", 0x100, []int{1, 2}).WaitsForTasks = true
			s.holds(1, 3, picture.WaitLock, "l")
		}, []want{hang(picture.VerdictDeadlock, "waiting at a barrier", "at a barrier", 1, 3)}},
	})
}

// TestFulfillers checks that a thread that waits for an event cannot fulfil it itself.
func TestFulfillers(t *testing.T) {
	counted := func(fulfillers ...int) func(scene) {
		return func(s scene) {
			s.implicit()
			s.Tasks[0].IncompleteChildren = some(1)
			s.taskwait(1, "i1")
			s.arrived("b", 0x100, []int{2}, 1)
			s.Facts.EventMakers = []int{1}
			s.Facts.Fulfillers = &picture.Candidates{Threads: fulfillers}
		}
	}
	maybe := []want{{picture.VerdictTaskStarved, picture.SeverityInfo, picture.Possible, []int{1},
		"omp_fulfill_event", "a detached task that has been executed"}, incomplete(2)}
	check(t, []scenario{
		{"the waiter alone may", 2, counted(1), []want{
			likely(picture.VerdictTaskStarved, "omp_fulfill_event", "a detached task", 1),
			neverComplete(picture.Certain, 2),
		}},
		{"another thread may", 2, counted(9), maybe},
		{"the waiter and another may", 2, counted(1, 9), maybe},
		{"the runtime lists fewer than it counts", 2, func(s scene) {
			counted(9)(s)
			s.Tasks[0].IncompleteChildren = some(5)
			d := s.task("d", "i1", picture.TaskWaiting, 0)
			d.Flags = []string{picture.FlagDetachable}
		}, maybe},
	})
}

// TestStackOrNot checks accesses near a stack, of every kind.
func TestStackOrNot(t *testing.T) {
	const low, high = 0x10000000, 0x10400000
	at := func(sp uint64) func(*picture.Fault) {
		return func(f *picture.Fault) {
			f.Stack = &picture.FaultStack{Low: hex(low), High: hex(high), Source: "the runtime", SP: hex(sp)}
		}
	}
	check(t, []scenario{
		{"no address, and not of the kernel", 1, died("SIGSEGV", 1, 0, at(low-16)), crash("used an invalid address")},
		{"read-only, by a key", 1, died("SIGSEGV", 4, 0x8000, mapped("r--", "/bin/a")),
			crash("its protection forbids")},
		{"read-only, by its mapping", 1, died("SIGSEGV", 2, 0x8000, mapped("r--", "/bin/a")),
			crash("wrote to read-only memory")},
	})
}

// TestWhyOne checks the cause of a team of one thread if several causes apply.
func TestWhyOne(t *testing.T) {
	orIf := func(n int) func(scene, *picture.Fork) {
		return func(_ scene, f *picture.Fork) {
			if f.Clause, f.MaybeIf = true, true; n != 0 {
				f.ClauseValue = some(n)
			}
		}
	}
	with := func(n int, change func(*picture.Fork)) func(scene, *picture.Fork) {
		return func(s scene, f *picture.Fork) {
			orIf(n)(s, f)
			change(f)
		}
	}
	check(t, []scenario{
		{"nest-var is false, and it is not nested", 1, forked(func(_ scene, f *picture.Fork) {
			f.NestOff, f.NThreads = true, some(1)
		}), []want{warning(picture.VerdictOneThread, "", "nthreads-var is 1", 1)}},
		{"a clause of 1, or an if clause", 1, forked(orIf(1)), asked("or its if clause was false")},
		{"a clause, or an if clause", 1, forked(orIf(0)), asked("or its if clause was false")},
		{"either, where the default is one", 1, forked(with(0, func(f *picture.Fork) { f.NThreads = some(1) })),
			[]want{warning(picture.VerdictOneThread, "", "nthreads-var is 1", 1)}},
		{"either, and dyn-var", 1, forked(with(0, func(f *picture.Fork) { f.Dynamic = true })), nil},
		{"either, and no limit is known", 1, forked(with(0, func(f *picture.Fork) { f.ThreadLimit = nil })),
			asked("or its if clause was false")},
		{"either, and a limit of one", 1, forked(with(0, func(f *picture.Fork) { f.ThreadLimit = some(1) })), nil},
	})
}
