package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestHolderAtEnd checks a thread that waits for a lock that it may have acquired itself, in the code of its
// region. Another thread at the end of the region may have acquired it as well.
func TestHolderAtEnd(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		s := team(2)
		l := s.lock("a")
		one, taken := 1, &picture.Frame{Function: "f", File: "f.c", Line: 3,
			Outlined: picture.Outlined{Construct: "parallel"}}
		l.Waiting = &one
		l.Holders = []picture.Holder{{Thread: 1, Certainty: picture.Possible, AcquiredAt: taken}}
		l.MayRelease = &picture.Candidates{Threads: []int{1}}
		s.waits(1, picture.WaitLock, "a")
		s.arrived("b", 0x5000, []int{2}, 1)
		for i := range s.Facts.Waits {
			w := &s.Facts.Waits[i]
			w.Region, w.EndOfRegion = "r", atEnd && w.Thread == 2
		}
		want := picture.VerdictSelfDeadlock
		if atEnd {
			want = picture.VerdictLockOrphaned
		}
		if vs := diagnose.Run(s.Picture); len(vs) == 0 || vs[0].Kind != want {
			t.Errorf("the other is at the end: %v: %v, want %s", atEnd, kindsOf(vs), want)
		}
	}
}

// TestHolderByUnknownCall checks a thread that may have acquired a lock by one of several calls, while another
// thread waits for it in one of these: that one may have acquired it there before, and left it.
func TestHolderByUnknownCall(t *testing.T) {
	at, entry := picture.Hex(0x1234), picture.Hex(0x1000)
	for i, same := range []bool{false, true, true} {
		s := team(2)
		l, one := s.lock("a"), 1
		call := picture.Frame{Kind: picture.FrameUser, Function: "f", PC: &at, Entry: &entry, Module: "m"}
		own := picture.Frame{Kind: picture.FrameUser, Function: "g", PC: &entry, Module: "m"}
		if same {
			own.Function = "f"
		}
		l.Waiting = &one
		l.Holders = []picture.Holder{
			{Thread: 1, Certainty: picture.Possible}, {Thread: 2, Certainty: picture.Possible, AcquiredAt: &call},
		}
		if i == 2 { // the call of the other holder is unknown, too
			l.Holders[1].AcquiredAt = nil
		}
		l.MayRelease = &picture.Candidates{Threads: []int{1, 2}}
		s.waits(2, picture.WaitLock, "a")
		s.waits(1, picture.WaitJoin, "b").WaitOn = 2
		for i := range s.Threads {
			s.Threads[i].UserStack = []picture.Frame{[]picture.Frame{own, call}[i]}
		}
		want := picture.VerdictDeadlock
		if same {
			want = picture.VerdictLockOrphaned
		}
		if vs := diagnose.Run(s.Picture); len(vs) == 0 || vs[0].Kind != want {
			t.Errorf("%d: in the same function: %v: %v, want %s", i, same, kindsOf(vs), want)
		}
	}
}

// TestHolderInCopy checks a thread that may have acquired a lock by one of two copies that a compiler made of a
// call. Another thread waits for the lock in the second copy: it may have acquired the lock in the first. A call
// at another line of the same function is no copy.
func TestHolderInCopy(t *testing.T) {
	first, second := picture.Hex(0x317c), picture.Hex(0x3196)
	for line, want := range map[int]picture.VerdictKind{43: picture.VerdictLockOrphaned, 50: picture.VerdictDeadlock} {
		s := team(2)
		l, one := s.lock("a"), 1
		taken := picture.Frame{Kind: picture.FrameUser, Function: "f", File: "f.c", Line: 43, PC: &first, Module: "m"}
		waiting := taken
		waiting.PC, waiting.Line = &second, line
		l.Waiting = &one
		l.Holders = []picture.Holder{
			{Thread: 1, Certainty: picture.Possible, AcquiredAt: &taken},
			{Thread: 2, Certainty: picture.Possible, AcquiredAt: &taken},
		}
		l.MayRelease = &picture.Candidates{Threads: []int{1, 2}}
		s.waits(2, picture.WaitLock, "a")
		s.waits(1, picture.WaitJoin, "b").WaitOn = 2
		s.Threads[0].UserStack = []picture.Frame{{Kind: picture.FrameUser, Function: "g", PC: &second, Module: "n"}}
		s.Threads[1].UserStack = []picture.Frame{waiting}
		if vs := diagnose.Run(s.Picture); len(vs) == 0 || vs[0].Kind != want {
			t.Errorf("line %d: %v, want %s", line, kindsOf(vs), want)
		}
	}
}
