package verdicts

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// twoThreads lets a league's team have two threads on one processor. Clauses do not suffice for LLVM's runtime: it
// gives a team at most as many threads as a region has that asks for none.
var twoThreads = []string{"OMP_NUM_THREADS=2"}

// TestVariablesOfLocks looks at deadlocks on locks that are local variables: of the caller, passed by reference, and of
// a region around that of the threads; and on critical constructs in functions that end with the release, in a teams
// construct. The verdicts name the program's variables and functions, not those of compilers.
func TestVariablesOfLocks(t *testing.T) {
	for _, c := range []struct {
		program string
		has     []string // in each build
		named   []string // in builds without optimization
	}{
		{"verdict_lock_reference", []string{"waits for lock gate[0] in main", "waits for lock gate[1] in main",
			"acquired it with omp_set_lock in Plant::join(omp_lock_t&, omp_lock_t&, int) at " +
				"verdict_lock_reference.cc:37",
		}, nil},
		{"verdict_lock_inner", nil, []string{"waits for lock tap[0] in brew", "waits for lock tap[1] in brew",
			"acquired it with omp_set_lock in the parallel region of brew at verdict_lock_inner.c:41"}},
		{"verdict_critical_teams", []string{"waits for critical section left_side",
			"waits for critical section right_side", "at from_left verdict_critical_teams.c:49",
			"in from_left at verdict_critical_teams.c:45", "in from_right at verdict_critical_teams.c:54"}, nil},
	} {
		for i, run := range handoverRuns(t, c.program) {
			run.Env = twoThreads
			t.Run(c.program+"/"+handoverName(i, run), func(t *testing.T) {
				kinds, words := hangOf(t, run)
				if !slices.Equal(kinds, []picture.VerdictKind{picture.VerdictDeadlock}) {
					t.Errorf("hangs %v, want %s", kinds, picture.VerdictDeadlock)
				}
				has := c.has
				if i < 3 {
					has = slices.Concat(has, c.named)
				}
				checkWords(t, words, has, []string{"omp_outlined", "_omp_fn"})
			})
		}
		for i, run := range handoverRuns(t, c.program, "1") {
			run.Env = twoThreads
			t.Run(c.program+"_healthy/"+handoverName(i, run), func(t *testing.T) {
				if kinds, words := hangOf(t, run); len(kinds) > 0 {
					t.Errorf("hangs %v of a healthy program:\n%s", kinds, words)
				}
			})
		}
	}
}
