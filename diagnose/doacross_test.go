package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// awaits makes a thread wait for an iteration of a loop with dependences.
func (s scene) awaits(lwp int, n ...int64) {
	w := s.waits(lwp, picture.WaitOrdered, "")
	w.Awaited, w.Evidence, w.Asleep, w.Lock = &picture.Awaited{Iteration: n}, "not posted", false, ""
}

// giveIterations gives a thread a part of the loop, and the iteration that it is in.
func (s scene) giveIterations(lwp int, from, to int64, in ...int64) {
	s.Threads[lwp-1].Loop = &picture.Loop{From: &from, To: &to}
	if len(in) > 0 {
		s.Threads[lwp-1].Loop.At = &in[0]
	}
}

// giveStatic gives a thread an iteration of a static loop from 0 with a chunk size.
func (s scene) giveStatic(lwp int, in int64, chunk uint64) {
	first, step := int64(0), int64(1)
	s.Threads[lwp-1].Loop = &picture.Loop{
		Schedule: "static", Chunk: &chunk, First: &first, Step: &step, From: &in, To: &in,
	}
}

// endLoop gives the loop of a thread its last iteration, and the number of iterations that no thread has yet.
func (s scene) endLoop(lwp int, last int64, left uint64) {
	s.Threads[lwp-1].Loop.Last, s.Threads[lwp-1].Loop.Left = &last, &left
}

// TestDoacross checks threads that wait for iterations of a loop with dependences.
func TestDoacross(t *testing.T) {
	stuck := func(says string, lwps ...int) want {
		return hang(picture.VerdictDoacrossStuck, "depend(source)", says, lwps...)
	}
	behind := likely(picture.VerdictLockOrphaned, "same order", "thread 0 (LWP 1), which waits for iteration 1", 2)
	check(t, []scenario{
		{"of each other", 2, func(s scene) {
			s.awaits(1, 1)
			s.awaits(2, 0)
		}, []want{stuck("wait for iteration 0, 1 of a loop", 1, 2)}},
		{"of one at work", 3, func(s scene) {
			s.awaits(1, 1)
			s.awaits(2, 0)
		}, nil},
		{"that was posted meanwhile", 2, func(s scene) {
			s.awaits(1, 1)
			s.Facts.Waits[0].Awaited = nil
			s.awaits(2, 0)
		}, nil},
		{"of one at the barrier behind the loop", 2, func(s scene) {
			s.awaits(1, 1, 2)
			s.giveIterations(1, 2, 3)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck("Iteration (1, 2) is that of no thread which is still in the loop", 1),
			neverComplete(picture.Certain, 2)}},
		{"of its own, to come", 2, func(s scene) {
			s.awaits(1, 1)
			s.giveIterations(1, 0, 1, 0)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{hang(picture.VerdictDoacrossStuck, "depend(sink: i - 1)",
			"thread 0 (LWP 1) itself has yet to come to", 1), neverComplete(picture.Certain, 2)}},
		{"of later ones", 2, func(s scene) {
			s.awaits(1, 1)
			s.awaits(2, 2)
			s.giveStatic(1, 0, 1)
			s.giveStatic(2, 1, 1)
		}, []want{hang(picture.VerdictDoacrossStuck, "depend(sink: i - 1)",
			"Each waits for an iteration that comes after", 1, 2)}},
		{"of a later one", 2, func(s scene) {
			now := int64(0)
			s.awaits(1, 1)
			s.Threads[0].Loop = &picture.Loop{At: &now}
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{hang(picture.VerdictDoacrossStuck, "depend(sink: i - 1)",
			"It waits for an iteration that comes after", 1), neverComplete(picture.Certain, 2)}},
		{"of one that the loop does not have", 2, func(s scene) {
			s.awaits(1, 1<<32)
			s.giveStatic(1, 2, 1)
			s.endLoop(1, 9, 0)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{hang(picture.VerdictDoacrossStuck, "its variable is unsigned",
			"There is no iteration 4294967296: the last one is 9.", 1), neverComplete(picture.Certain, 2)}},
		{"of one that a thread has passed, by the schedule", 2, func(s scene) {
			s.awaits(1, 1)
			s.giveStatic(1, 2, 1)
			s.awaits(2, 2)
			s.giveStatic(2, 3, 1)
		}, []want{stuck("Iteration 1 is one of thread 1 (LWP 2) by the schedule, which is past it", 1, 2)}},
		{"of one that may be no thread's yet", 2, func(s scene) {
			s.awaits(1, 2)
			s.giveIterations(1, 3, 3)
			s.endLoop(1, 9, 4)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck("went on without posting it, or no thread has it yet.", 1), neverComplete(picture.Certain, 2)}},
		{"of one that a thread has had", 2, func(s scene) {
			s.awaits(1, 2)
			s.giveIterations(1, 3, 3)
			s.endLoop(1, 9, 0)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck("the one that had it went on without posting it. ", 1), neverComplete(picture.Certain, 2)}},
		{"of one that left, by the schedule", 2, func(s scene) {
			s.awaits(1, 1)
			s.giveStatic(1, 2, 1)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck("Iteration 1 is one of thread 1 by the schedule", 1), neverComplete(picture.Certain, 2)}},
		{"of its own", 2, func(s scene) {
			s.awaits(1, 1)
			s.giveIterations(1, 0, 1)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck("thread 0 (LWP 1) has itself", 1), neverComplete(picture.Certain, 2)}},
		{"of one that waits for a lock of the waiter", 2, func(s scene) {
			s.awaits(1, 1)
			s.holds(1, 2, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "iteration 1 of a loop with dependences", 1, 2)}},
		{"of one that waits for a lock of one at work", 3, func(s scene) {
			s.awaits(1, 1)
			s.holds(3, 2, picture.WaitLock, "a")
		}, nil},
		{"of one that waits for a lock that was left", 2, leftLock(func(s scene) { s.awaits(1, 1) }),
			[]want{behind}},
		{"of each other, beside a lock that was left", 3, leftLock(func(s scene) {
			s.awaits(1, 1)
			s.awaits(3, 0)
		}), []want{behind}},
		{"alone", 1, func(s scene) { s.awaits(1, 1) },
			[]want{stuck("thread 0 (LWP 1) waits for iteration 1 of a loop", 1)}},
	})
}

// TestUnordered checks threads that wait for their turn in a loop without an ordered clause.
func TestUnordered(t *testing.T) {
	turn := func(s scene, lwp, owner int) {
		s.waits(lwp, picture.WaitOrdered, "turn")
		l := s.lock("turn")
		l.Owner, l.Held, l.NeverLock, l.InvalidReason = owner, true, true, "no loop with the clause"
	}
	stuck := func(lwps ...int) want {
		return hang(picture.VerdictDoacrossStuck, "write the clause", "the loop has no ordered clause", lwps...)
	}
	check(t, []scenario{
		{"of nobody", 2, func(s scene) {
			turn(s, 1, 0)
		}, []want{stuck(1)}},
		{"of one at work", 2, func(s scene) {
			turn(s, 1, 2)
		}, nil},
		{"of one at the barrier behind the loop", 2, func(s scene) {
			turn(s, 1, 2)
			s.arrived("b", 0x100, []int{2}, 1)
		}, []want{stuck(1), neverComplete(picture.Certain, 2)}},
		{"of one that waits for a lock of the waiter", 2, func(s scene) {
			turn(s, 1, 2)
			s.holds(1, 2, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "", 1, 2)}},
	})
}

// leftLock makes the second thread wait for a lock that all threads may still release; change makes further
// changes.
func leftLock(change func(scene)) func(scene) {
	return func(s scene) {
		s.lock("a").MayRelease = &picture.Candidates{Threads: all(len(s.Threads))}
		s.waits(2, picture.WaitLock, "a")
		change(s)
	}
}
