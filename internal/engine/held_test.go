package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
)

// held is a target that is stopped until the query is answered.
type held struct{ endless }

// IsHeld is true.
func (held) IsHeld() bool { return true }

// living is a source of a target that could run.
type living struct{ damaged }

// Living is true.
func (living) Living() bool { return true }

// Look asks once.
func (l living) Look(_ context.Context, _, f func(callbacks.Target) error) error { return f(l.target) }

// TestHeld looks at a target that is stopped during a long look: the look ends when a small part of the budget is
// spent.
func TestHeld(t *testing.T) {
	path, o, done := goldenCore("llvm-tasks-deps")
	defer done()
	core, err := corefile.Open(path, corefile.Options{Exe: o.Exe, Sysroot: o.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	h := held{endless{Core: core}}
	h.low, h.high = heapOf(t, core)
	target := engine.NewTarget(living{damaged{engine.NewCoreSource(core, path, o), h}}, o)
	defer target.Close()
	q := engine.Report()
	q.Budget = 10 * time.Minute
	if pic := look(t, target, q); len(pic.Incomplete) > 0 {
		t.Errorf("with 6 s, %v is not reached", pic.Incomplete)
	}
	q.Budget = 100 * time.Millisecond
	if pic := look(t, target, q); !slices.Contains(pic.Incomplete, "verdicts") {
		t.Errorf("all was read in 1 ms but %v", pic.Incomplete)
	}
}
