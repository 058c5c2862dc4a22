package diagnose_test

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// itsOwn makes each of the first n threads wait for a lock of its own, which all may still release.
func itsOwn(n int, change func(scene)) func(scene) {
	return func(s scene) {
		var all []int
		for lwp := 1; lwp <= len(s.Threads); lwp++ {
			all = append(all, lwp)
		}
		for lwp := 1; lwp <= n; lwp++ {
			l := s.lock(fmt.Sprint("l", lwp))
			l.MayRelease = &picture.Candidates{Threads: all}
			s.waits(lwp, picture.WaitLock, fmt.Sprint("l", lwp))
		}
		change(s)
	}
}

// opposed makes two threads each hold a lock that the other waits for.
func (s scene) opposed(a, b int) {
	one, two := fmt.Sprint("of", a), fmt.Sprint("of", b)
	s.lock(one).Owner = a
	s.lock(two).Owner = b
	s.waits(a, picture.WaitLock, two)
	s.waits(b, picture.WaitLock, one)
}

// TestEachItsLock checks threads that wait for different locks without known holders.
func TestEachItsLock(t *testing.T) {
	orphaned := func(says string, lwps ...int) want {
		return likely(picture.VerdictLockOrphaned, "release the lock", says, lwps...)
	}
	deadlock := func(says string, lwps ...int) want {
		return hang(picture.VerdictDeadlock, "same order", says, lwps...)
	}
	check(t, []scenario{
		{"all of them", 3, itsOwn(3, func(scene) {}),
			[]want{orphaned("lock l1, lock l2, lock l3, which nobody", 1, 2, 3)}},
		{"many", 7, itsOwn(7, func(scene) {}),
			[]want{orphaned("lock l4 and 3 more, which nobody", 1, 2, 3, 4, 5, 6, 7)}},
		{"one is at work", 3, itsOwn(2, func(scene) {}), nil},
		{"one has just acquired its lock", 3, itsOwn(3, func(s scene) { s.Facts.Waits[1].Asleep = false }), nil},
		{"one waits for a lock that is free", 3, itsOwn(3, func(s scene) { s.Facts.Locks[1].Held = false }), nil},
		{"of one it is not known who may release it", 3, itsOwn(3, func(s scene) {
			s.Facts.Locks[1].MayRelease = nil
		}), nil},
		{"one joins another", 3, itsOwn(2, func(s scene) { s.joins(3, 1) }),
			[]want{likely(picture.VerdictLockOrphaned, "same order", "none of them can proceed before that: "+
				"thread 2 (LWP 3), which waits for the end of a thread", 1, 2)}},
		{"one joins a thread at work", 4, itsOwn(2, func(s scene) { s.joins(3, 4) }), nil},
		{"a task is about to be run", 4, itsOwn(3, func(s scene) {
			s.task("t", "", picture.TaskQueued, 0)
		}), nil},
		{"one may hold it who is at work and cannot release any", 3, itsOwn(2, func(s scene) {
			for i := range s.Facts.Locks {
				s.Facts.Locks[i].MayRelease.Threads = []int{1, 2}
			}
			s.Facts.Locks[0].Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
		}), nil},
		{"one is left behind at a branch, one by an exception", 2, itsOwn(2, func(s scene) {
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: at}}
			s.Facts.Locks[1].Leaks = []picture.Leak{{Frame: at, ExitCall: "__cxa_throw"}}
		}), []want{orphaned("by work x.c:9", 1), orphaned("(__cxa_throw)", 2)}},
		{"one is left behind at a branch, one by a failed check", 2, itsOwn(2, func(s scene) {
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: at}}
			failing := picture.Leak{Frame: at, ExitCall: "std::__throw_bad_alloc()", FailedCheck: true}
			s.Facts.Locks[1].Leaks = []picture.Leak{failing}
		}), []want{orphaned("by work x.c:9", 1)}},
		{"one is left by a failed check, as far as the code shows", 1, itsOwn(1, func(s scene) {
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			failing := picture.Leak{Frame: at, ExitCall: "std::__throw_bad_alloc()", FailedCheck: true}
			s.Facts.Locks[0].Leaks = []picture.Leak{failing}
		}), []want{orphaned("by an exception out of the call at work x.c:9, where the code shows only a failed check "+
			"(std::__throw_bad_alloc)", 1)}},
		{"one may be left by an unknown function", 1, itsOwn(1, func(s scene) {
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: at, UnknownCallee: true}}
		}), []want{orphaned("perhaps by an exception out of the call at work x.c:9, which executes unknown code "+
			"through a pointer.", 1)}},
		{"one is left by an unknown function or by an exception", 1, itsOwn(1, func(s scene) {
			at := func(line int) picture.Frame { return picture.Frame{Function: "work", File: "/a/x.c", Line: line} }
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: at(9), UnknownCallee: true},
				{Frame: at(12), ExitCall: "__cxa_throw"}}
		}), []want{orphaned(": by an exception out of the call at work x.c:9, which executes unknown code through a "+
			"pointer, or by an exception (__cxa_throw) out of the call at work x.c:12.", 1)}},
		{"a failed check in an unknown function's call, and another one", 1, itsOwn(1, func(s scene) {
			at := func(line int) picture.Frame { return picture.Frame{Function: "work", File: "/a/x.c", Line: line} }
			s.Facts.Locks[0].Leaks = []picture.Leak{
				{Frame: at(9), ExitCall: "std::__throw_bad_function_call()", FailedCheck: true, UnknownCallee: true},
				{Frame: at(12), ExitCall: "std::__throw_bad_alloc()", FailedCheck: true},
			}
		}), []want{orphaned("perhaps by an exception out of the call at work x.c:9, which executes unknown code "+
			"through a pointer.", 1)}},
		{"all who may release them are in a deadlock", 4, itsOwn(2, func(s scene) {
			s.opposed(3, 4)
			for i := range 2 {
				s.Facts.Locks[i].MayRelease.Threads = []int{3, 4}
			}
		}), []want{deadlock("waiting behind: 1 2", 3, 4)}},
		{"two circles behind one another", 5, itsOwn(1, func(s scene) {
			s.opposed(2, 3)
			s.opposed(4, 5)
		}), []want{deadlock("", 2, 3), deadlock("", 4, 5)}},
	})
}

// acrossTasks makes two threads wait for one lock that either may hold: in explicit tasks, or for an element of an
// array.
func acrossTasks(tasks bool, holders []picture.Holder) func(scene) {
	return func(s scene) {
		itsOwn(1, func(s scene) {
			s.waits(2, picture.WaitLock, "l1")
			s.Facts.Locks[0].Holders, s.Facts.Locks[0].MayRelease = holders, &picture.Candidates{Threads: []int{1, 2}}
			for i := range s.Threads {
				holders[i].AcquiredAt.Construct = "parallel"
				s.Facts.Waits[i].Name = "l[1]"
				s.Threads[i].UserStack = []picture.Frame{
					{Kind: picture.FrameUser, Function: "work", File: "/a/x.c", Line: 40},
				}
				if tasks {
					s.Facts.Waits[i].Name = "l"
					id := fmt.Sprint("e", i)
					s.task(id, "", picture.TaskRunning, i+1)
					s.Threads[i].Task = picture.ID(id)
				}
			}
		})(s)
	}
}

// TestSoleHolder checks a lock that a thread may hold by its code, if all others that can hold it wait for it.
func TestSoleHolder(t *testing.T) {
	at := func(line int) *picture.Frame { return &picture.Frame{Function: "work", File: "/a/x.c", Line: line} }
	may := func(lwps ...int) (out []picture.Holder) {
		for _, lwp := range lwps {
			h := picture.Holder{Thread: lwp, Certainty: picture.Possible, Evidence: "code", AcquiredAt: at(lwp),
				ReleasedOnReturn: true}
			out = append(out, h)
		}
		return out
	}
	each := func(n int, change func(s scene)) func(scene) {
		return itsOwn(n, func(s scene) {
			for i := range s.Facts.Locks {
				s.Facts.Locks[i].Holders = may(1, 2)
			}
			change(s)
		})
	}
	three := func(change func(s scene)) func(scene) {
		return each(3, func(s scene) {
			for i := range s.Facts.Locks {
				s.Facts.Locks[i].Holders = may(1, 2, 3)
			}
			change(s)
		})
	}
	orphaned := likely(picture.VerdictLockOrphaned, "release the lock", "lock l1, lock l2, which nobody", 1, 2)
	// leaves are such holders whose code may return with the lock.
	leaves := func(lwps ...int) []picture.Holder {
		out := may(lwps...)
		for i := range out {
			out[i].ReleasedOnReturn = false
		}
		return out
	}
	// atEnd makes a thread wait for the only lock, which it may hold, while another is at the end of the region.
	atEnd := func(holders []picture.Holder) func(scene) {
		return itsOwn(1, func(s scene) {
			holders[0].AcquiredAt.Construct = "parallel"
			s.Facts.Locks[0].Holders, s.Facts.Locks[0].MayRelease = holders, &picture.Candidates{Threads: []int{1}}
			s.arrived("b", 0x100, []int{2}, 1)
			s.Facts.Waits[len(s.Facts.Waits)-1].EndOfRegion = true
		})
	}
	check(t, []scenario{
		{"each may have what the other waits for", 2, each(2, func(scene) {}),
			[]want{likely(picture.VerdictDeadlock, "same order", "wait for each other", 1, 2)}},
		{"one of them is left somewhere", 2, each(2, func(s scene) {
			for i := range s.Facts.Locks {
				s.Facts.Locks[i].Leaks = []picture.Leak{{Frame: *at(9)}}
			}
		}), []want{orphaned}},
		{"one of them has the lock, and each executes a task that needs it", 2, acrossTasks(true, may(1, 2)),
			[]want{likely(picture.VerdictSelfDeadlock, "before the thread executes other tasks",
				"again at line 40. The code does not show which of them.", 1, 2)}},
		{"one of them has an element of an array that it needs again", 2, acrossTasks(false, may(1, 2)),
			[]want{likely(picture.VerdictSelfDeadlock, "locks of an array in the order",
				"two indices of an array of locks, say", 1, 2)}},
		{"one of them has such an element, or a thread left it", 2, acrossTasks(false, leaves(1, 2)),
			[]want{likely(picture.VerdictLockOrphaned, "release the lock", "lock l[1], which nobody", 1, 2)}},
		{"a thread waits for what itself may have, and another has come to the end", 2, atEnd(may(1)),
			[]want{likely(picture.VerdictSelfDeadlock, "nestable", "holds itself", 1),
				neverComplete(picture.Likely, 2)}},
		{"and either may have left it", 2, atEnd(leaves(1)),
			[]want{likely(picture.VerdictLockOrphaned, "release the lock", "l1, which nobody", 1),
				neverComplete(picture.Likely, 2)}},
		{"each of three may have what the others wait for", 3, three(func(scene) {}),
			[]want{likely(picture.VerdictDeadlock, "also release them on every path", "which lock is not known",
				1, 2, 3)}},
		{"each of three locks has one possible holder", 3, itsOwn(3, func(s scene) {
			for i := range s.Facts.Locks {
				s.Facts.Locks[i].Holders = may((i+1)%3 + 1)
			}
		}), []want{likely(picture.VerdictDeadlock, "same order",
			"waits for lock l1, which only thread 1 (LWP 2) may hold, since x.c:2", 1, 2, 3)}},
		{"one of the three is left somewhere", 3, three(func(s scene) {
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: *at(9)}}
		}), []want{
			likely(picture.VerdictLockOrphaned, "same order", "by work x.c:9", 1),
			likely(picture.VerdictLockOrphaned, "same order", "lock l2, lock l3, which nobody", 2, 3),
		}},
		{"one of the three, nobody may have", 3, three(func(s scene) { s.Facts.Locks[0].Holders = may(1) }),
			[]want{likely(picture.VerdictLockOrphaned, "release the lock", "lock l3, which nobody", 1, 2, 3)}},
		{"another thread may have them and works", 3, each(2, func(s scene) {
			s.Facts.Locks[0].Holders = may(1, 2, 3)
		}), nil},
		{"one of them works", 2, each(1, func(scene) {}), nil},
		{"a thread waits for what only itself may have", 1, itsOwn(1, func(s scene) {
			s.Facts.Locks[0].Holders = may(1)
		}), []want{likely(picture.VerdictSelfDeadlock, "nestable", "holds itself", 1)}},
		{"and by its variables it has it, though code seems to leave it", 1, itsOwn(1, func(s scene) {
			s.Facts.Locks[0].Holders = may(1)
			s.Facts.Locks[0].Holders[0].Presumed = true
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: *at(9)}}
		}), []want{likely(picture.VerdictSelfDeadlock, "nestable", "holds itself", 1)}},
		{"and code leaves it", 1, itsOwn(1, func(s scene) {
			s.Facts.Locks[0].Holders = may(1)
			s.Facts.Locks[0].Leaks = []picture.Leak{{Frame: *at(9)}}
		}), []want{likely(picture.VerdictLockOrphaned, "release", "by work x.c:9", 1)}},
	})
}

// TestReleasedHolder checks a lock whose only possible holder, at a barrier, has released it by its code: a thread that
// waits for the lock has left it if some code does.
func TestReleasedHolder(t *testing.T) {
	at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
	scenarioOf := func(change func(l *picture.Lock)) func(scene) {
		return func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2, 3)
			l := s.lock("l")
			l.MayRelease = &picture.Candidates{Threads: []int{1, 2, 3}}
			l.Leaks = []picture.Leak{{Frame: at}}
			l.Holders = []picture.Holder{{Thread: 1, Certainty: picture.Possible, Evidence: "code", AcquiredAt: &at}}
			s.waits(2, picture.WaitLock, "l")
			s.waits(3, picture.WaitLock, "l")
			change(l)
		}
	}
	check(t, []scenario{
		{"it has not released it", 3, scenarioOf(func(*picture.Lock) {}), []want{
			likely(picture.VerdictDeadlock, "waiting at a barrier", "", 1, 2),
			neverComplete(picture.Likely, 1)}},
		{"it has", 3, scenarioOf(func(l *picture.Lock) { l.Holders[0].Released = true }), []want{
			likely(picture.VerdictLockOrphaned, "release the lock", "by work x.c:9", 2, 3),
			neverComplete(picture.Likely, 1)}},
	})
}

// TestRingBehindLeftLock checks a ring of a barrier and a condition where a lock is the cause: the thread that waits
// for it would signal the condition.
func TestRingBehindLeftLock(t *testing.T) {
	behind := func(change func(s scene, book *picture.Lock)) func(scene) {
		return func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2, 3)
			s.waits(3, picture.WaitCondition, "").Lock = ""
			book := s.lock("book")
			book.MayRelease = &picture.Candidates{Threads: []int{1, 2, 3}}
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			book.Leaks = []picture.Leak{{Frame: at, ExitCall: "longjmp"}}
			s.waits(2, picture.WaitLock, "book")
			s.Facts.Wakers = &picture.Candidates{Threads: []int{1, 2}}
			change(s, book)
		}
	}
	orphaned := likely(picture.VerdictLockOrphaned, "release the lock", "(longjmp) out of the call at work x.c:9", 2)
	waiting := likely(picture.VerdictLockOrphaned, "release the lock", "waiting behind: 1 3", 2)
	ring := likely(picture.VerdictDeadlock, "before waiting at the barrier", "waiting behind: ", 1, 3)
	withLock := likely(picture.VerdictDeadlock, "before waiting at the barrier", "waiting behind: 2", 1, 3)
	barrier := neverComplete(picture.Likely, 1)
	check(t, []scenario{
		{"the lock is the cause", 3, behind(func(scene, *picture.Lock) {}), []want{waiting, barrier}},
		{"another mistake", 3, behind(func(s scene, _ *picture.Lock) { s.Facts.Wakers.Threads = []int{1} }),
			[]want{ring, orphaned, barrier}},
		{"no code leaves the lock", 3, behind(func(_ scene, l *picture.Lock) { l.Leaks = nil }),
			[]want{withLock, barrier}},
		{"a release after the barrier", 3, behind(func(_ scene, l *picture.Lock) {
			l.Releases = []picture.Release{{Thread: 1, Certainty: picture.Likely}}
		}), []want{withLock, barrier}},
		{"a thread that may have the lock works", 4, behind(func(_ scene, l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 4, Certainty: picture.Possible}}
		}), []want{incomplete(1)}},
		{"a thread that may release it works", 4, behind(func(_ scene, l *picture.Lock) {
			l.MayRelease.Threads = []int{1, 2, 3, 4}
		}), []want{incomplete(1)}},
	})
}
