package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// leaving is a damaged core that cancels the look at one of its reads.
type leaving struct {
	endless
	leave context.CancelFunc
	at    int
	reads *int
}

// ReadMemory counts and reads, and cancels the look at the read with number at.
func (l leaving) ReadMemory(a callbacks.Address, p []byte) error {
	if *l.reads++; *l.reads == l.at {
		l.leave()
	}
	return l.endless.ReadMemory(a, p)
}

// TestCancelledAmid cancels a look that would read without an end: it stops within a few reads, and the error has the
// reason.
func TestCancelledAmid(t *testing.T) {
	path, o, done := goldenCore("llvm-tasks-deps")
	defer done()
	core, err := corefile.Open(path, corefile.Options{Exe: o.Exe, Sysroot: o.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	const at, few = 2000, 256 // a budget asks its context at every 128th read
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := leaving{endless: endless{Core: core}, leave: cancel, at: at, reads: new(int)}
	l.low, l.high = heapOf(t, core)
	target := engine.NewTarget(damaged{engine.NewCoreSource(core, path, o), l}, o)
	defer target.Close()
	q := engine.Report()
	q.Budget = 0
	if a, err := target.Look(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want that the look was cancelled", a, err)
	}
	if *l.reads < at || *l.reads > at+few {
		t.Errorf("%d reads, of which %d were before it was cancelled", *l.reads, at)
	}
}

// TestCancelledOpen opens a compressed core with a cancelled context.
func TestCancelledOpen(t *testing.T) {
	path, o, done := goldenCore("gnu-barrier")
	defer done()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engine.Open(ctx, path, o)
	omptest.Equal(t, "it was cancelled", errors.Is(err, context.Canceled), true)
}
