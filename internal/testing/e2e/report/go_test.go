package report

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGoCores compares what is shown of a Go program whose C side uses OpenMP with
// what OpenMP and Go told its threads.
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
