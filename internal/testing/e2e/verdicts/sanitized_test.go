package verdicts

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// watchedLanes returns lanes of programs with a sanitizer: the program's code calls the sanitizer all the time,
// and its frames are between the program or the runtime and the C library. They run as processes, as the
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

// watchedVerdicts returns kinds of defects, and similar healthy programs.
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
		{program: "verdict_woken", args: []string{"0"}, kind: picture.VerdictNeverWoken, threads: 3, only: "libgomp",
			says: []string{"3 threads wait for condition variable filled"}}, // clang links the sanitizer statically
		{program: "verdict_once", kind: picture.VerdictSelfDeadlock, threads: 1, waits: []string{"once loaded"}},
		{program: "verdict_once", args: []string{"0", "1"}},
	}
}

// watchedSpins returns loops that read a flag: each read is a call of the thread sanitizer, and the address
// sanitizer also reads its shadow of the flag. The thread sanitizer has a thread of its own, which could change
// the flag as far as the tool knows. The analysis does not yet follow UBSan's code in such a loop, which may
// report the value that it reads.
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
			e.says[0] = "3 threads poll in "
			e.never = "libgomp-bookworm-O1" // the pointer to the flag is named, too, or there is no verdict
		}
		out = append(out, e, expectation{program: "verdict_spin", args: []string{way, "1"}})
	}
	return out
}

// TestSpinsInStaticPrograms checks the verdicts on loops that read a flag if the C library is in the executable,
// including its functions that set signal handlers.
func TestSpinsInStaticPrograms(t *testing.T) {
	l := e2e.Lane{
		Name: "gcc-12-static", Family: "libgomp", Build: "O1 -static", Mode: omptest.Live,
		Runtime: func(tb testing.TB) omptest.Runtime { return omptest.Libgomp(tb) },
	}
	checkVerdicts(t, l, spins())
}

// TestVerdictsUnderSanitizers checks the verdicts on programs with a sanitizer.
func TestVerdictsUnderSanitizers(t *testing.T) {
	for _, l := range watchedLanes() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			checkVerdicts(t, l, slices.Concat(watchedVerdicts(), watchedSpins(l.Watched)))
		})
	}
}
