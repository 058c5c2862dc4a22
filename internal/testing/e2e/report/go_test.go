package report

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGoCores compares the picture of a Go program with OpenMP in its C code with the facts that its threads read
// from OpenMP and Go.
func TestGoCores(t *testing.T) {
	for _, l := range e2e.GoLanes {
		for _, mode := range l.Modes {
			t.Run(fmt.Sprint(l.Name, " ", mode), func(t *testing.T) {
				r := omptest.Dump(t, l.Run(t, mode))
				e2e.CheckGo(t, e2e.Report(t, r.Core, "--native"), r, l.Flags == nil)
			})
		}
	}
}
