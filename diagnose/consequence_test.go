package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestCause checks which hang an incomplete barrier follows from.
func TestCause(t *testing.T) {
	barrier := func(s picture.Severity, missing ...int) picture.Verdict {
		v := picture.Verdict{Kind: picture.VerdictBarrierMissing, Severity: s}
		for _, lwp := range missing {
			v.Missing = append(v.Missing, picture.MissingThread{Thread: lwp})
		}
		return v
	}
	verdicts := []picture.Verdict{
		{Kind: picture.VerdictCrash, Severity: picture.SeverityCrash, Threads: []int{1}},
		barrier(picture.SeverityHang, 3),
		{Kind: picture.VerdictDeadlock, Severity: picture.SeverityHang, Threads: []int{2, 3}, Waiting: []int{4}},
		{Kind: picture.VerdictSpinning, Severity: picture.SeverityWarning, Threads: []int{5}},
	}
	for _, c := range []struct {
		name string
		v    picture.Verdict
		want *picture.Verdict
	}{
		{"a thread of the deadlock is missing", barrier(picture.SeverityHang, 3), &verdicts[2]},
		{"one that waits for the deadlock is missing", barrier(picture.SeverityHang, 4), &verdicts[2]},
		{"one of several is deadlocked", barrier(picture.SeverityHang, 6, 2), &verdicts[2]},
		{"the missing thread is in no hang", barrier(picture.SeverityHang, 6), nil},
		{"the missing thread only spins", barrier(picture.SeverityHang, 5), nil},
		{"the missing thread has crashed", barrier(picture.SeverityHang, 1), nil},
		{"no thread is known to be missing", barrier(picture.SeverityHang), nil},
		{"it may still complete", barrier(picture.SeverityInfo, 3), nil},
		{"another kind", verdicts[2], nil},
	} {
		if got := diagnose.Cause(&c.v, verdicts); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
