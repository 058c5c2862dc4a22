package verdicts

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// watchedLanes are programs that a sanitizer watches: its code is called by the program's all the
// time, and stands between the program or the runtime and the C library. Processes, as the
// sanitizers' shadows make cores of terabytes.
func watchedLanes() []e2e.Lane {
	var out []e2e.Lane
	for _, sanitizer := range []string{"thread", "address", "undefined"} {
		for _, l := range []e2e.Lane{
			{Name: "libomp-16", Family: "libomp", Runtime: func(tb testing.TB) omptest.Runtime {
				return omptest.RuntimeOf(tb, 16)
			}},
			{Name: "libgomp-bookworm", Family: "libgomp", Runtime: func(tb testing.TB) omptest.Runtime {
				return omptest.Libgomp(tb)
			}},
		} {
			l.Build, l.Watched, l.Mode = "O1", sanitizer, omptest.Live
			out = append(out, l)
		}
	}
	return out
}

// watchedVerdicts are kinds of mistakes, and what looks alike and is healthy.
func watchedVerdicts() []expectation {
	return []expectation{
		{program: "lock_cycle", kind: picture.VerdictDeadlock, threads: 2,
			waits: []string{"lock first", "lock second"}},
		{program: "verdict_lock_path", args: []string{"1"}, kind: picture.VerdictLockOrphaned, threads: anyNumber,
			says: []string{"lock stat"}},
		{program: "verdict_lock_path", args: []string{"2"}},
		{program: "verdict_barrier_left", kind: picture.VerdictBarrierDivergent, threads: 2,
			waits: []string{"barrier", "barrier"}},
		{program: "verdict_mutex_lock", kind: picture.VerdictDeadlock, threads: 2,
			waits: []string{"lock queue", "mutex journal"}},
		{program: "verdict_condition", args: []string{"1"}},
		{program: "verdict_once", kind: picture.VerdictSelfDeadlock, threads: 1, waits: []string{"once loaded"}},
		{program: "verdict_once", args: []string{"0", "1"}},
	}
}

// watchedSpins are loops that read a flag: the reads are calls of the thread sanitizer's, and the address sanitizer
// reads its shadow of the flag, too. The thread sanitizer has a thread of its own, of which it is not known that it
// changes nothing. What UBSan adds to such a loop, which may report what it reads, is not followed yet.
func watchedSpins(sanitizer string) []expectation {
	if sanitizer == "undefined" {
		return nil
	}
	var out []expectation
	for _, way := range []string{"0", "1", "2"} {
		e := expectation{
			program: "verdict_spin", args: []string{way}, kind: picture.VerdictSpinning, threads: 3,
			says: []string{"3 threads spin in ", "until own"}, info: sanitizer == "thread",
		}
		if e.info {
			e.certainty = picture.Certain
		}
		if way == "2" {
			e.never = "libgomp-bookworm-O1" // the pointer to the flag is named, too, or there is no verdict
		}
		out = append(out, e, expectation{program: "verdict_spin", args: []string{way, "1"}})
	}
	return out
}

// TestSpinsInStaticPrograms asserts the verdicts on loops that read a flag where the C library is in the executable,
// and so is what sets handlers of signals.
func TestSpinsInStaticPrograms(t *testing.T) {
	l := e2e.Lane{
		Name: "gcc-12-static", Family: "libgomp", Build: "O1 -static", Mode: omptest.Live,
		Runtime: func(tb testing.TB) omptest.Runtime { return omptest.Libgomp(tb) },
	}
	checkVerdicts(t, l, spins())
}

// TestVerdictsUnderSanitizers asserts the verdicts on programs that a sanitizer watches.
func TestVerdictsUnderSanitizers(t *testing.T) {
	for _, l := range watchedLanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			checkVerdicts(t, l, slices.Concat(watchedVerdicts(), watchedSpins(l.Watched)))
		})
	}
}
