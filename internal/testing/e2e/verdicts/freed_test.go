package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestVerdictOfUnmappedLock looks, without a stop, at a process in which a thread waits for a lock in unmapped
// memory: a thread that sleeps on such a word dies of it when any tracer stops and resumes it.
func TestVerdictOfUnmappedLock(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			e := expectation{
				program: "verdict_lock_freed", args: []string{"4"}, env: []string{"GOMP_SPINCOUNT=0"},
				kind: "lock_freed", certainty: "possible", threads: 1, says: []string{"no memory is mapped"},
			}
			target := l.Look(t, e.inLane())
			var flags []string
			if l.Family == "libgomp" {
				flags = []string{"--no-stop"}
			}
			status, pic := e2e.Diagnose(t, target, flags...)
			e.judge(t, l, status, pic, target)
		})
	}
}
