package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMisplacedBarrier checks members of a team at different barriers, one of them in a construct that must not
// contain one, by its code.
func TestMisplacedBarrier(t *testing.T) {
	const kind = picture.VerdictIllegalBarrier
	parts := func(at picture.StateName, thread int, own bool) func(scene) {
		return func(s scene) {
			b := s.arrived("first", 0x100, []int{1}, 2)
			b.Misplaced = []picture.Misplaced{{
				Thread: thread, Frame: &picture.Frame{File: "/src/a.c", Line: 7},
				Construct: picture.Construct{Name: "single", Uncertain: own, Frame: &picture.Frame{File: "/src/a.c",
					Line: 12}},
			}}
			s.arrived("second", 0x200, []int{2}, 1)
			s.placeThread(1, 14, at)
			s.placeThread(2, 20, picture.StateBarrierParallel)
		}
	}
	slow := func(own bool) func(scene) { // the other thread may still come
		return func(s scene) {
			b := s.arrived("first", 0x100, []int{1}, 2)
			b.Misplaced = []picture.Misplaced{{Thread: 1, Construct: picture.Construct{Name: "single", Uncertain: own}}}
			s.placeThread(1, 14, picture.StateBarrierExplicit)
			s.placeThread(2, 20, picture.StateWorkParallel)
		}
	}
	branch := func(s scene) {
		parts(picture.StateBarrierExplicit, 0, true)(s)
		s.Facts.Barriers[0].Misplaced[0].Construct = picture.Construct{Name: picture.ConstructBranch,
			Frame: &picture.Frame{File: "/src/a.c", Line: 5}}
	}
	workshare, explicit := picture.StateBarrierWorkshare, picture.StateBarrierExplicit
	stuck := func(w want) []want {
		return []want{w, neverComplete(picture.Certain, 1), neverComplete(picture.Certain, 2)}
	}
	check(t, []scenario{
		{"in it now", 2, parts(explicit, 1, false), stuck(hang(kind, "out of the construct", "", 1, 2))},
		{"a condition", 2, parts(explicit, 1, true), stuck(hang(kind, "out of the construct", "", 1, 2))},
		{"past it", 2, parts(workshare, 0, false), stuck(hang(kind, "out of the construct", "a.c:7 is in", 1, 2))},
		{"a branch", 2, branch, stuck(hang(picture.VerdictBarrierDivergent, "same side of that branch",
			"only one side of the branch at a.c:5 leads to the barrier at a.c:7", 1, 2))},
		{"it may go on", 2, slow(false), []want{warning(kind, "out of the construct", "", 1), incomplete(1)}},
		{"it may go on, on a condition", 2, slow(true), []want{incomplete(1)}},
	})
}

// TestShiftedCrash checks a crash while other members of the team wait at different barriers, at one barrier, or in
// another team.
func TestShiftedCrash(t *testing.T) {
	const says = "Other threads of its team wait at different barriers"
	dies := func(second int, region picture.ID) func(scene) {
		return func(s scene) {
			b := s.arrived("b", 0x100, []int{2, 3}, 1)
			b.Misplaced = []picture.Misplaced{{Frame: &picture.Frame{File: "/src/a.c", Line: 7},
				Construct: picture.Construct{Name: "master", Frame: &picture.Frame{File: "/src/a.c", Line: 6}}}}
			s.placeThread(1, 50, picture.StateWorkParallel)
			s.placeThread(2, 20, picture.StateBarrierExplicit)
			s.placeThread(3, second, picture.StateBarrierExplicit)
			s.Threads[0].Region = region
			died("SIGSEGV", 1, 0, func(f *picture.Fault) { f.NullPointer, f.Address = true, hex(0) })(s)
		}
	}
	died := func(fix, says string) want {
		return want{picture.VerdictCrash, picture.SeverityCrash, picture.Certain, []int{1}, fix, says}
	}
	divergent := warning(picture.VerdictBarrierDivergent, "out of the construct",
		"the barrier at a.c:7 is in the master", 2, 3)
	check(t, []scenario{
		{"at two", 3, dies(30, "r"), []want{died("out of the construct", says), incomplete(2, 3)}},
		{"at one", 3, dies(20, "r"), []want{died("", "null pointer"), incomplete(2, 3)}},
		{"in another team", 3, dies(30, "other"), []want{died("", "null pointer"), divergent, incomplete(2, 3)}},
	})
}

// TestBarrierInHeader checks that the verdict on a barrier in an inlined function of a header also names the
// calling line.
func TestBarrierInHeader(t *testing.T) {
	check(t, []scenario{
		{"in a header", 2, func(s scene) {
			s.arrived("first", 0x100, []int{1}, 2)
			s.arrived("second", 0x200, []int{2}, 1)
			s.placeThread(1, 110, picture.StateBarrierExplicit)
			s.placeThread(2, 20, picture.StateBarrierParallel)
			s.Threads[0].UserStack = append([]picture.Frame{
				{Kind: picture.FrameUser, Function: "flush", File: "/src/queue.h", Line: 106, Inlined: true},
			}, s.Threads[0].UserStack...)
		}, []want{
			hang(picture.VerdictBarrierDivergent, "move the barrier", "queue.h:106 (inlined at a.c:110)", 1, 2),
			neverComplete(picture.Certain, 1), neverComplete(picture.Certain, 2),
		}},
	})
}

// TestBarrierTailCalled checks a barrier that was tail-called: its line is unknown, and the verdict names that of
// the fork.
func TestBarrierTailCalled(t *testing.T) {
	pc := picture.Address(0x10)
	parts := func(forked bool) func(scene) {
		return func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 41, picture.StateBarrierExplicit)
			s.placeThread(2, 67, picture.StateBarrierExplicit)
			for i := range s.Threads {
				for j := range s.Threads[i].UserStack {
					s.Threads[i].UserStack[j].PC = pc
				}
			}
			if forked {
				s.Facts.Forks = []picture.Fork{{Region: s.Facts.Waits[0].Region, Frame: &picture.Frame{PC: pc,
					Line: 41}}}
				s.Threads[1].UserStack[0].PC = picture.Address(0x20)
			}
		}
	}
	check(t, []scenario{
		{"at two lines", 3, parts(false), []want{
			incomplete(1, 2), warning(picture.VerdictBarrierDivergent, "move the barriers", "", 1, 2),
		}},
		{"at one, and at the fork", 3, parts(true), []want{incomplete(1, 2)}},
	})
}
