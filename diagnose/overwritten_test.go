package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestOverwritten: a runtime whose fields contradict one another, and one that was read while
// the process changed it.
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
