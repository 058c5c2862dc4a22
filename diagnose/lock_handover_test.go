package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// releases adds a thread that may release a lock without having acquired it.
func (s scene) releases(lwp int, lock string, c picture.Certainty) {
	for i := range s.Facts.Locks {
		if l := &s.Facts.Locks[i]; l.ID == picture.ID(lock) {
			at := picture.Frame{Function: "fill", File: "/a/x.c", Line: 23}
			l.Releases = append(l.Releases, picture.Release{Thread: lwp, Certainty: c, Frame: &at})
		}
	}
}

// TestHandover checks locks that another thread than the one that acquired them may release.
func TestHandover(t *testing.T) {
	handed := func(says string, lwps ...int) want {
		return want{picture.VerdictLockHandedOver, picture.SeverityInfo, picture.Likely, lwps, "task dependences", says}
	}
	deadlock := func(says string, lwps ...int) want {
		return likely(picture.VerdictDeadlock, "acquire these locks", says, lwps...)
	}
	// held makes a thread wait for a lock that it holds itself.
	held := func(change func(s scene)) func(scene) {
		return func(s scene) {
			s.holds(1, 1, picture.WaitLock, "full")
			change(s)
		}
	}
	check(t, []scenario{
		{"of one who holds it itself, by one who is at work", 2, held(func(s scene) {
			s.releases(2, "full", picture.Likely)
		}), []want{handed("thread 1 (LWP 2) may release it in fill x.c:23, which OpenMP does not allow", 1)}},
		{"by nobody else", 2, held(func(scene) {}), []want{hang(picture.VerdictSelfDeadlock, "release", "", 1)}},
		{"by one who waits for another lock of the same", 2, held(func(s scene) {
			s.holds(1, 2, picture.WaitLock, "stop")
			s.releases(2, "full", picture.Likely)
		}), []want{deadlock("which it holds itself and thread 1 (LWP 2) may release in fill x.c:23", 1, 2)}},
		{"by one who waits for a lock that a third may release", 3, held(func(s scene) {
			s.holds(1, 2, picture.WaitLock, "stop")
			s.releases(2, "full", picture.Likely)
			s.releases(3, "stop", picture.Likely)
		}), []want{handed("lock full", 1), handed("lock stop", 2)}},
		{"by one who waits for its own lock", 2, held(func(s scene) {
			s.holds(2, 2, picture.WaitLock, "own")
			s.releases(2, "full", picture.Likely)
		}), []want{hang(picture.VerdictSelfDeadlock, "release", "lock own", 2)}},
		{"by one who sleeps, and nobody wakes", 2, held(func(s scene) {
			s.sleeps(2, picture.WaitFutex)
			s.releases(2, "full", picture.Likely)
		}), []want{likely(picture.VerdictNeverWoken, "change the word", "", 2)}},
		{"it is not known which lock, by one who is at work", 2, held(func(s scene) {
			s.releases(2, "full", picture.Possible)
		}), []want{{picture.VerdictSelfDeadlock, picture.SeverityHang, picture.Possible, []int{1}, "release", ""}}},
		{"it is not known which lock, by one who waits for the thread", 2, held(func(s scene) {
			s.holds(1, 2, picture.WaitLock, "stop")
			s.releases(2, "full", picture.Possible)
		}), []want{hang(picture.VerdictSelfDeadlock, "release", "lock full", 1)}},
		{"of two who wait for each other, by a third", 3, func(s scene) {
			s.opposed(1, 2)
			s.releases(3, string(s.Facts.Locks[0].ID), picture.Likely)
		}, []want{handed("", 2)}},
		{"of two who wait for each other, by a third who waits for them", 3, func(s scene) {
			s.opposed(1, 2)
			s.holds(1, 3, picture.WaitLock, "third")
			s.releases(3, string(s.Facts.Locks[0].ID), picture.Likely)
		}, []want{hang(picture.VerdictDeadlock, "acquire these locks", "waiting behind: 3", 1, 2)}},
		{"of one who may just have been given it", 2, func(s scene) {
			l := s.lock("full")
			none := 0
			l.HandedOver = true
			l.Waiting, l.Holders = &none, []picture.Holder{{Thread: 1, Certainty: picture.Certain, Evidence: "code"}}
			s.waits(1, picture.WaitLock, "full")
		}, nil},
	})
}
