package server

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// target is an open target. Calls use it one after the other (do).
type target struct {
	name   string
	spec   *ompdv1.TargetSpec
	opened Opened
	owner  *connection
	shared bool          // other sessions that know the name may use it
	trips  func() uint64 // number of requests to the debugger; nil without one
	memory *budget.Ledger

	turn chan struct{} // holds the call that uses the target
	gone chan struct{} // closed when the target is freed

	mu  sync.Mutex
	cut context.CancelFunc // ends reads of the view in use or in construction; may be nil
	term

	// The following fields belong to the call that has the turn.
	stop      uint32
	view      *view
	histories map[*recorded]bool // of calls in progress
}

// term is the lifetime of a target.
type term struct {
	lease time.Duration // life after its session; 0: ends with it
	timer *time.Timer   // frees the target after the idle time keep
	keep  time.Duration
	left  bool
}

// view is the target at one stop.
type view struct {
	ctx      context.Context // ends its reads
	snapshot *engine.Snapshot
	lists    lists
	cursors  []*cursor
	last     pictured
}

func newTarget(owner *connection, opened Opened, spec *ompdv1.TargetSpec, lease time.Duration) *target {
	t := &target{
		name: newName(), spec: spec, opened: opened, owner: owner, shared: lease > 0,
		turn: make(chan struct{}, 1), gone: make(chan struct{}), histories: map[*recorded]bool{},
		term: term{lease: lease, keep: owner.server.cfg.Limits.Idle},
	}
	t.timer = time.AfterFunc(math.MaxInt64, func() { owner.server.release(t) }) // touch sets its time
	return t
}

// info describes the target in the API's terms, in the target's turn.
func (t *target) info() *ompdv1.OpenTargetInfo {
	i := &ompdv1.OpenTargetInfo{Name: t.name, Stop: t.stop, Spec: t.spec}
	if t.lease > 0 {
		i.Lease = durationpb.New(t.lease)
	}
	if t.trips != nil {
		i.RoundTrips = t.trips()
	}
	t.describe(i)
	return i
}

// describe adds the target's description and runtimes, as far as they are known without a look. What cannot be read is
// missing: the calls that need it return the reason.
func (t *target) describe(i *ompdv1.OpenTargetInfo) {
	source, ok := t.opened.(interface{ About() picture.Target })
	if !ok {
		return
	}
	about, from := &ompdv1.Target{}, source.About()
	if wire.Pack(&from, about) == nil {
		i.About = about
	}
	if v := t.view; v != nil {
		i.Runtimes, _ = wire.PackAll[ompdv1.Runtime, picture.Runtime](v.snapshot.Picture(picture.Parts{}).Runtimes)
	}
}

// do calls f in the call's turn. If ctx ends first, do returns immediately; reads of the target then fail, so
// that f ends soon, and the view is dropped. A panic in f becomes an error.
func (t *target) do(ctx context.Context, f func() error) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.gone:
		return errGone()
	}
	done := make(chan error, 1)
	go func() {
		err := t.protected(ctx, f)
		<-t.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		t.interrupt()
		return ctx.Err()
	}
}

// protected calls f in the target's turn and drops partial results on failure.
func (t *target) protected(ctx context.Context, f func() error) error {
	err := contain.Run(func() error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !t.touch():
			return errGone()
		}
		if t.view != nil {
			t.view.snapshot.Bound(t.view.ctx, t.owner.server.cfg.Limits.Work)
		}
		return f()
	})
	spent := t.view != nil && t.view.snapshot.Spent() != nil
	broken := errors.As(err, new(*contain.Panic)) || errors.Is(err, contain.ErrCutShort)
	if spent || broken || ctx.Err() != nil {
		t.forget()
	}
	return err
}

// errGone returns the error of calls for a target closed meanwhile. It is made on first use, as it contains a
// message.
var errGone = sync.OnceValue(func() error {
	return failure(codes.Aborted, "TARGET_CLOSED", "the target was closed meanwhile")
})

// look returns the view of the present stop, creating it if necessary. The caller has the target's turn.
func (t *target) look() (*view, error) {
	if t.view != nil {
		return t.view, nil
	}
	if err := t.owner.server.full(); err != nil {
		return nil, err
	}
	ctx, cut := context.WithCancel(context.Background())
	t.setCut(cut)
	q := session.Everything()
	q.Budget = t.owner.server.cfg.Limits.Work
	s, err := t.opened.Snapshot(ctx, q)
	if err != nil {
		cut()
		return nil, err
	}
	t.view = &view{ctx: ctx, snapshot: (*engine.Snapshot)(s)}
	return t.view, nil
}

// lookAtProcess is look for a process; it returns nil for other targets.
func (t *target) lookAtProcess() (*view, error) {
	if t.spec.GetPid() == 0 {
		return nil, nil
	}
	return t.look()
}

// forget drops the view. The caller has the target's turn.
func (t *target) forget() {
	t.interrupt()
	if t.view != nil {
		for _, c := range t.view.cursors {
			c.end()
		}
		t.view.last.forget()
		_ = t.view.snapshot.Close() // only read
	}
	t.view = nil
	t.setCut(nil)
}

// refresh moves the target to its present stop, if that changed.
func (t *target) refresh() {
	if !t.opened.Living() {
		return
	}
	t.forget()
	t.stop++
}

func (t *target) setCut(cut context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = cut
}

// interrupt ends all reads of the present view.
func (t *target) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut != nil {
		t.cut()
	}
}

// touch restarts the idle time. It returns false if the target has expired.
func (t *target) touch() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.left {
		t.timer.Reset(t.keep)
	}
	return !t.left
}

// orphan keeps the target for its lease after its connection ended.
func (t *target) orphan() bool {
	t.mu.Lock()
	t.keep = t.lease
	t.mu.Unlock()
	return t.touch()
}

// leave starts the end of the target. It returns true to the first caller.
func (t *target) leave() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return false
	}
	t.left = true
	t.timer.Stop()
	close(t.gone)
	return true
}

// close frees the target's resources after the call that uses it.
func (t *target) close() error {
	t.interrupt()
	t.turn <- struct{}{}
	t.forget()
	for h := range t.histories {
		h.end()
	}
	return t.free()
}

// free closes the opened target and releases its memory.
func (t *target) free() error {
	defer t.memory.Close()
	return t.opened.Close()
}

// newName returns an unguessable name for a target.
func newName() string { return "t" + rand.Text() }
