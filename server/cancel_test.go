package server

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// halted is a core that blocks at one of its reads until the view of that read is cancelled.
type halted struct {
	*corefile.Core
	at    int64
	there chan struct{} // closed when that read starts
	reads *atomic.Int64
	ctx   context.Context // of the view
}

// ReadMemory reads, counts, and blocks.
func (h halted) ReadMemory(a callbacks.Address, p []byte) error {
	if h.reads.Add(1) == h.at {
		close(h.there)
		<-h.ctx.Done()
	}
	return h.Core.ReadMemory(a, p)
}

// Lend lends no memory: each read uses ReadMemory.
func (h halted) Lend(callbacks.Address, uint64) []byte { return nil }

// haltedSource is the source of a halted core.
type haltedSource struct {
	engine.Source
	core halted
}

// Look calls f with the core; reads end with ctx.
func (s haltedSource) Look(ctx context.Context, _, f func(callbacks.Target) error) error {
	s.core.ctx = ctx
	return f(s.core)
}

// TestCancelledAmid cancels a call in the middle of its work: its reads stop soon, the target's turn becomes
// free, and the next call is answered.
func TestCancelledAmid(t *testing.T) {
	g, err := omptest.UnpackGolden("../testdata/golden", "llvm-tasks-deps", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const at, few = 50, 256 // a budget checks its context at every 128th read
	h := halted{at: at, there: make(chan struct{}), reads: new(atomic.Int64)}
	open := func(_ context.Context, _ *ompdv1.TargetSpec, _ Means) (Opened, error) {
		var err error
		if h.Core, err = corefile.Open(g.Core, corefile.Options{Exe: g.Exe, Sysroot: g.Sysroot}); err != nil {
			return nil, err
		}
		o := engine.Options{Exe: g.Exe, Sysroot: g.Sysroot}
		target := engine.NewTarget(haltedSource{engine.NewCoreSource(h.Core, g.Core, o), h}, o)
		return (*session.Target)(target), nil
	}
	_, address := start(t, Config{Open: open})
	c := connect(t, address, "/core")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		stream, err := c.GetReport(ctx, &ompdv1.GetReportRequest{Target: c.target})
		for err == nil {
			_, err = stream.Recv()
		}
		done <- err
	}()
	<-h.there
	cancel()
	codeOf(t, "a call that was given up", <-done, codes.Canceled)
	if err := c.get(c.target); err != nil { // answered in the target's turn
		t.Fatal(err)
	}
	if n := h.reads.Load(); n < at || n > at+few {
		t.Errorf("%d reads, of which %d were before the call was given up", n, at)
	}
	before := h.reads.Load()
	if pic, _ := c.report(t); len(pic.Threads) == 0 || len(pic.Tasks) == 0 {
		t.Errorf("the next call has %d threads and %d tasks", len(pic.Threads), len(pic.Tasks))
	}
	if n := h.reads.Load() - before; n < 2*(at+few) {
		t.Errorf("a whole report takes %d reads: the one that was given up was not in its middle", n)
	}
}
