package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestOverwritten checks a runtime with contradicting fields, and one that was read while the process changed it.
func TestOverwritten(t *testing.T) {
	damaged := func(s scene) {
		s.Runtimes = []picture.Runtime{{ID: "libgomp", Damage: []string{"team at 0x100: nthreads is 0, its total 4"}}}
	}
	verdict := func(threads ...int) []want {
		return []want{{picture.VerdictOverwritten, picture.SeverityCrash, picture.Likely, threads, "-fsanitize=address",
			"past the end of an array"}}
	}
	check(t, []scenario{
		{"of a process", 2, damaged, verdict()},
		{"of one that died", 2, func(s scene) { damaged(s); s.Target.CrashedLWP = 1 }, verdict(1)},
		{"stopped", 2, func(s scene) { damaged(s); s.Target.Pause = &picture.Pause{Threads: 2} }, verdict()},
		{"words changed", 2, func(s scene) { damaged(s); s.Target.Pause = &picture.Pause{Unsettled: 1} }, nil},
		{"threads ran", 2, func(s scene) { damaged(s); s.Target.Pause = &picture.Pause{Running: 1} }, nil},
		{"nothing is wrong", 2, func(s scene) { s.Runtimes = []picture.Runtime{{ID: "libgomp"}} }, nil},
	})
}

// TestBrokenHeap checks a heap with a broken chain of blocks, alone and with contradicting fields of a runtime.
func TestBrokenHeap(t *testing.T) {
	broken := func(s scene) {
		s.Target.CrashedLWP = 1
		s.Facts.Heap = &picture.BrokenHeap{Low: 0x5000, High: 0x5108, Size: 0}
	}
	heap := want{picture.VerdictOverwritten, picture.SeverityCrash, picture.Likely, []int{1}, "-fsanitize=address",
		"behind a block of 264B at 0x5000"}
	runtime := want{picture.VerdictOverwritten, picture.SeverityCrash, picture.Likely, []int{1}, "-fsanitize=address",
		"fields contradict one another"}
	check(t, []scenario{
		{"alone", 2, broken, []want{heap}},
		{"and a runtime", 2, func(s scene) {
			broken(s)
			s.Runtimes = []picture.Runtime{{ID: "libgomp", Damage: []string{"team at 0x100: nthreads is 0"}}}
		}, []want{heap, runtime}},
	})
}
