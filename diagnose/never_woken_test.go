package diagnose_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// sleeps makes a thread sleep until another wakes it; semaphores are the lock s.
func (s scene) sleeps(lwp int, kind picture.WaitKind) {
	w := s.waits(lwp, kind, "")
	w.Address, w.Lock, w.Asleep = hex(0x700), "", true
	if kind == picture.WaitSemaphore {
		w.Lock = "s"
	}
}

// asleep makes all threads sleep; 1 and 2 may wake others, and change makes further changes.
func asleep(kind picture.WaitKind, change func(scene)) func(scene) {
	return func(s scene) {
		s.Facts.StacksComplete = true
		if kind == picture.WaitSemaphore {
			l := s.lock("s")
			l.Held, l.MayRelease = false, &picture.Candidates{Threads: []int{1, 2}}
		}
		for lwp := range s.Threads {
			s.sleeps(lwp+1, kind)
		}
		s.Facts.Wakers = &picture.Candidates{Threads: []int{1, 2}}
		change(s)
	}
}

// inFunction makes two threads sleep on a word in a function of a library that their code called.
func inFunction(function string) func(scene) {
	return asleep(picture.WaitFutex, func(s scene) {
		for i := range s.Threads {
			s.placeThread(i+1, 7, "wait_futex")
			called := picture.Frame{Kind: picture.FrameUser, Function: function, File: "/usr/include/c++/12/future"}
			s.Threads[i].UserStack = append([]picture.Frame{called}, s.Threads[i].UserStack...)
		}
	})
}

// TestNeverWoken checks that a sleeping thread hangs only if no thread that may wake it can.
func TestNeverWoken(t *testing.T) {
	same := func(scene) {}
	awake := func(lwp int) func(scene) {
		return func(s scene) { s.Facts.Waits = append(s.Facts.Waits[:lwp-1], s.Facts.Waits[lwp:]...) }
	}
	never := func(says, fix string) []want {
		return []want{likely(picture.VerdictNeverWoken, fix, says, 1, 2)}
	}
	condition := never("for condition variable", "signal or broadcast")
	check(t, []scenario{
		{"all on a condition", 2, asleep(picture.WaitCondition, same), condition},
		{"all on a semaphore", 2, asleep(picture.WaitSemaphore, same), never("for semaphore", "post")},
		{"all on a word", 2, asleep(picture.WaitFutex, same), never("for the word", "change the word")},
		{"all for a future", 2, inFunction("std::future<int>::get()"), never("for a std::future (the", "each promise")},
		{"all at a latch", 2, inFunction("std::latch::wait() const"), never("for a std::latch (the",
			"count the latch")},
		{"all at a barrier of the library", 2, func(s scene) {
			inFunction("std::barrier<std::__empty_completion>::arrive_and_wait()")(s)
			for i := range s.Threads {
				s.Facts.Waits[i].Name = "__w[10]" // of all such objects
			}
		}, never("wait for a std::barrier, and", "initialize the barrier")},
		{"all in a class of the program", 2, inFunction("mystd::latch::wait()"), never("for the word",
			"change the word")},
		{"all at a barrier of threads", 2, asleep(picture.WaitThreads, same), never("pthread barrier", "initialize")},
		{"one at work beside it", 3, asleep(picture.WaitThreads, awake(3)), nil},
		{"one at work that may signal", 3, asleep(picture.WaitCondition, func(s scene) {
			awake(3)(s)
			s.Facts.Wakers.Threads = []int{1, 2, 3}
		}), nil},
		{"one at work that may not, by its code", 3, asleep(picture.WaitCondition, awake(3)), nil},
		{"one of no team that may not", 3, asleep(picture.WaitCondition, func(s scene) {
			awake(3)(s)
			s.Threads[2].Role = picture.RoleNone
		}), condition},
		{"one at work beside a word", 3, asleep(picture.WaitFutex, awake(3)), nil},
		{"with a time limit", 2, asleep(picture.WaitCondition, func(s scene) {
			s.Facts.Waits[0].Asleep, s.Facts.Waits[1].Asleep = false, false
		}), nil},
		{"one has a time limit and may signal", 2, asleep(picture.WaitCondition, func(s scene) {
			s.Facts.Waits[1].Asleep = false
		}), nil},
		{"who may signal joins a sleeper", 3, asleep(picture.WaitCondition, func(s scene) {
			awake(3)(s)
			s.joins(3, 1)
			s.Facts.Wakers.Threads = []int{3}
		}), []want{likely(picture.VerdictDeadlock, "signal the condition variable before", "waiting behind: 2", 1, 3)}},
		{"a task is about to be run", 2, asleep(picture.WaitCondition, func(s scene) {
			s.task("t", "", picture.TaskCreated, 0)
		}), nil},
		{"who may signal is not known", 2, asleep(picture.WaitCondition, func(s scene) { s.Facts.Wakers = nil }), nil},
		{"a stack is not whole", 2, asleep(picture.WaitCondition, func(s scene) { s.Facts.StacksComplete = false }),
			nil},
		{"outside of regions", 2, asleep(picture.WaitCondition, func(s scene) {
			for i := range s.Threads {
				s.Threads[i].Level = some(0)
			}
		}), nil},
	})
}

// TestBehindLock checks a semaphore that only a waiter of a lock could post, while the possible holder of the lock
// sleeps until a post. If the holder's code reaches no release any more, the lock was left; else that is unknown.
func TestBehindLock(t *testing.T) {
	sleeper := func(may ...int) func(scene) {
		return asleep(picture.WaitSemaphore, func(s scene) {
			s.Facts.Waits = s.Facts.Waits[2:]
			l := s.lock("a")
			l.MayRelease = &picture.Candidates{Threads: may}
			l.Holders = []picture.Holder{
				{Thread: 1, Certainty: picture.Possible}, {Thread: 3, Certainty: picture.Possible},
			}
			for _, lwp := range []int{1, 2} {
				s.waits(lwp, picture.WaitLock, "a")
			}
		})
	}
	never := likely(picture.VerdictNeverWoken, "post", "the code of 2 threads may reach a call that posts a "+
		"semaphore, but cannot before: thread 0 (LWP 1) waits for lock a; thread 1 (LWP 2) waits for lock a", 3)
	check(t, []scenario{
		{"comes to no release", 3, sleeper(1, 2), []want{
			likely(picture.VerdictLockOrphaned, "release the lock", "each of them waits for it or comes to no "+
				"release any more", 1, 2), never}},
		{"may release it", 3, sleeper(1, 2, 3), []want{never}},
		{"may release it, and does not sleep", 3, func(s scene) {
			sleeper(1, 2, 3)(s)
			s.Facts.Waits = slices.DeleteFunc(s.Facts.Waits, func(w picture.Wait) bool { return w.Thread == 3 })
		}, nil},
	})
}
