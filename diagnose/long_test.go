package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// explained returns the clauses by which the one verdict on barriers explains the n threads of its cycle.
func explained(t *testing.T, s scene, n int) []string {
	t.Helper()
	const kind = picture.VerdictBarrierDivergent
	for _, v := range diagnose.Run(s.Picture) {
		if v.Kind != kind {
			continue
		}
		if len(v.Cycle) != n {
			t.Errorf("%s of %d: the cycle has %d", kind, n, len(v.Cycle))
		}
		sentence, _, _ := strings.Cut(v.Explanation, ". ")
		return strings.Split(sentence, "; ")
	}
	t.Fatalf("no %s of %d", kind, n)
	return nil
}

// TestLongCycles checks that an explanation names four threads, and counts the others, and that a deadlock has no
// explanation: its cycle and its evidence have one entry for each thread.
func TestLongCycles(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 64, 1024} {
		barriers := team(n)
		for i := range n {
			barriers.arrived(fmt.Sprint("b", i), uint64(0x100*(i+1)), []int{i + 1}, (i+1)%n+1)
		}
		got := explained(t, barriers, n)
		last := got[len(got)-1]
		switch {
		case n <= 4 && len(got) == n && strings.Contains(last, " waits "):
		case n > 4 && len(got) == 5 && last == fmt.Sprintf("and %d more", n-4):
		default:
			t.Errorf("barriers of %d: %q", n, got)
		}
		for _, v := range diagnose.Run(ring(n, picture.WaitLock).Picture) {
			if v.Kind == picture.VerdictDeadlock && (v.Explanation != "" || len(v.Cycle) != n || len(v.Evidence) != n ||
				!strings.Contains(v.Evidence[0], "thread 0 (LWP 1) waits for lock")) {
				t.Errorf("deadlock of %d: %q, %d steps, evidence %q", n, v.Explanation, len(v.Cycle), v.Evidence)
			}
		}
	}
}
