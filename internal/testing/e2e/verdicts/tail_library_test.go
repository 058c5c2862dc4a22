package verdicts

import (
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestTailCallsOfLibrary looks at threads that wait in the C library in the last call of a function. With optimization
// it is a tail call: the function has no frame, and the awaited thing is an argument in no frame's call.
func TestTailCallsOfLibrary(t *testing.T) {
	const semaphore, condition = "waits for semaphore given, and no", "waits for condition variable changed, and no"
	ways := []struct {
		kind picture.VerdictKind
		says []string
	}{
		{picture.VerdictNeverWoken, []string{semaphore, "in take verdict_tail_library.c:22"}},
		{picture.VerdictNeverWoken, []string{"waits for semaphore kept, and no thread is left", "in take_one"}},
		{picture.VerdictNeverWoken, []string{condition, "in await verdict_tail_library.c:31"}},
		{picture.VerdictDeadlock, []string{"waits for mutex ready", "pthread_spin_lock in keeps"}},
		{picture.VerdictDeadlock, []string{
			"waits for lock table", "waits for the end of LWP", "omp_set_lock in with_own",
		}},
		{picture.VerdictNeverWoken, []string{semaphore, "in take_in_region"}},
		{picture.VerdictNeverWoken, []string{condition, "in await_in_region"}},
		{picture.VerdictDeadlock, []string{"waits for mutex ready", "pthread_spin_lock in spin_in_region"}},
	}
	var cases []hangCase
	for way, w := range ways {
		number := strconv.Itoa(way)
		cases = append(cases, hangCase{name: number, program: "verdict_tail_library", args: []string{number},
			kind: w.kind, has: w.says})
	}
	checkHangs(t, cases)
}
