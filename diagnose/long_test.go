package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// explained returns the clauses by which the one verdict of a kind explains the n threads of its cycle.
func explained(t *testing.T, s scene, n int, kind picture.VerdictKind) []string {
	t.Helper()
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

// TestLongCycles checks that an explanation names four threads, and counts the others.
func TestLongCycles(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 64, 1024} {
		barriers := team(n)
		for i := range n {
			barriers.arrived(fmt.Sprint("b", i), uint64(0x100*(i+1)), []int{i + 1}, (i+1)%n+1)
		}
		for kind, s := range map[picture.VerdictKind]scene{
			picture.VerdictDeadlock: ring(n, picture.WaitLock), picture.VerdictBarrierDivergent: barriers,
		} {
			got := explained(t, s, n, kind)
			last := got[len(got)-1]
			switch {
			case n <= 4 && len(got) == n && strings.Contains(last, " waits "):
			case n > 4 && len(got) == 5 && last == fmt.Sprintf("and %d more", n-4):
			default:
				t.Errorf("%s of %d: %q", kind, n, got)
			}
		}
	}
}
