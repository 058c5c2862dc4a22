package stacks

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// TestCalledIn reads the call of a frame, and that before the first instruction of a function, which is of another one.
func TestCalledIn(t *testing.T) {
	const ret = 0x1000
	c := &Code{names: names{calls: map[uint64]string{ret: "abort"}}}
	if got := c.CalledIn(unwind.Frame{PC: ret}); got != "abort" {
		t.Errorf("a frame that calls: %q", got)
	}
	if got := c.CalledIn(unwind.Frame{PC: ret, Exact: true}); got != "" {
		t.Errorf("the innermost frame: %q", got)
	}
}
