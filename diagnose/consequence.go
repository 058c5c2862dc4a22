package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Cause returns the verdict that an incomplete barrier follows from, nil without one: another hang, in which one of the
// threads that are missing at the barrier waits for ever.
func Cause(v *picture.Verdict, verdicts []picture.Verdict) *picture.Verdict {
	if v.Kind != picture.VerdictBarrierMissing || v.Severity != picture.SeverityHang {
		return nil
	}
	for i := range verdicts {
		cause := &verdicts[i]
		if cause.Severity != picture.SeverityHang || cause.Kind == v.Kind {
			continue
		}
		stuck := func(m picture.MissingThread) bool {
			return slices.Contains(cause.Threads, m.Thread) || slices.Contains(cause.Waiting, m.Thread)
		}
		if slices.ContainsFunc(v.Missing, stuck) {
			return cause
		}
	}
	return nil
}
