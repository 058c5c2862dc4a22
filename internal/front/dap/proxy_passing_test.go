package dap

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestPassing leaves out threads that may not have arrived at a barrier, where a debugger stopped the program amid its
// work. A pause by the user, a signal and certain verdicts are shown.
func TestPassing(t *testing.T) {
	for reason, want := range map[string]bool{
		"breakpoint": true, "function breakpoint": true, "step": true, "goto": true,
		"pause": false, "exception": false, "signal": false, "attach": false, "entry": false,
	} {
		omptest.Equal(t, reason, isPassing(reason), want)
	}
	left := withoutPassing([]picture.Verdict{
		{Kind: picture.VerdictBarrierMissing, Certainty: picture.Possible},
		{Kind: picture.VerdictBarrierMissing, Certainty: picture.Certain},
		{Kind: picture.VerdictDeadlock, Certainty: picture.Possible},
	})
	omptest.Equal(t, "verdicts", len(left), 2)
	omptest.Equal(t, "the first", left[0].Certainty, picture.Certain)
}
