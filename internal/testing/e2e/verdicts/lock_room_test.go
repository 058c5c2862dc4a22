package verdicts

import (
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestLockPastElements looks at a thread that waits for a lock past the last element of a std::vector, in memory that
// the vector has reserved, with which another thread has ended. The lock works, so the verdict is that of any lock, but
// it has no name, and the evidence has the number of elements. The last elements of arrays have their names.
func TestLockPastElements(t *testing.T) {
	const past = "it would be element "
	ways := []struct{ has, lacks []string }{
		{has: []string{past + "64 of locks, which has 64 elements: check the index"}, lacks: []string{"locks[64]"}},
		{has: []string{"lock locks[63]"}, lacks: []string{past}},
		{has: []string{"lock unbound[63]"}, lacks: []string{past}},
		{lacks: []string{past}},
	}
	var cases []hangCase
	for way, w := range ways {
		number := strconv.Itoa(way)
		cases = append(cases, hangCase{name: number, program: "verdict_lock_room", args: []string{number},
			env: e2e.Asleep, kind: picture.VerdictLockOrphaned, has: append(w.has, "which nobody will release"),
			lacks: append(w.lacks, "INVALID LOCK")})
	}
	checkHangs(t, cases)
}
