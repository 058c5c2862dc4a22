package rtl_test

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// TestLoop walks lists without a cycle, and lists with a cycle of some or all nodes.
func TestLoop(t *testing.T) {
	for lead := range 40 {
		for circle := range 40 {
			var l rtl.Loop
			steps, at := 0, 0
			var err error
			for ; err == nil && steps < 1000; steps++ {
				err = l.Visit(callbacks.Addr(uint64(8 + 8*at)))
				if at++; at == lead+circle && circle > 0 {
					at = lead
				}
			}
			if circle == 0 && err != nil {
				t.Fatalf("a list without a circle: %v", err)
			}
			if circle > 0 && (!errors.Is(err, callbacks.Incomplete) || steps > 3*(lead+circle)+1) {
				t.Fatalf("%d nodes and a circle of %d: %v after %d steps", lead, circle, err, steps)
			}
		}
	}
}
