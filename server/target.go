package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// target is an open target. Calls use it one after the other (do).
type target struct {
	name   string
	spec   *ompdv1.TargetSpec
	opened Opened
	owner  *session
	shared bool // other sessions that know the name may use it
	lease  time.Duration
	trips  func() uint64 // requests to the debugger so far; nil if none lends it

	turn chan struct{} // has room for the call that uses the target
	gone chan struct{} // closed when the target is freed

	mu    sync.Mutex
	cut   context.CancelFunc // ends reads of the view that is made or used; may be nil
	timer *time.Timer        // frees the target when nobody used it for the time keep
	keep  time.Duration
	left  bool

	// What follows belongs to the call whose turn it is.
	stop uint32
	view *view
}

// view is the target at one stop.
type view struct {
	in      *inspect.Inspector
	lists   lists
	cursors []*cursor
}

func newTarget(owner *session, opened Opened, spec *ompdv1.TargetSpec, lease time.Duration) *target {
	t := &target{
		name: newName(), spec: spec, opened: opened, owner: owner, lease: lease, shared: lease > 0,
		turn: make(chan struct{}, 1), gone: make(chan struct{}), keep: owner.server.cfg.Limits.Idle,
	}
	t.timer = time.AfterFunc(math.MaxInt64, func() { owner.server.release(t) }) // touch sets its time
	return t
}

// info describes the target in the API's terms. It is asked in the target's turn.
func (t *target) info() *ompdv1.OpenTargetInfo {
	i := &ompdv1.OpenTargetInfo{Name: t.name, Stop: t.stop, Spec: t.spec}
	if t.lease > 0 {
		i.Lease = durationpb.New(t.lease)
	}
	if t.trips != nil {
		i.RoundTrips = t.trips()
	}
	return i
}

// do calls f when it is the call's turn. If ctx ends before f does, do returns at
// once; reads of the target then fail, so that f ends soon, and the view is thrown
// away. A panic in f is an error.
func (t *target) do(ctx context.Context, f func() error) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.gone:
		return errGone
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

// protected calls f in the target's turn.
func (t *target) protected(ctx context.Context, f func() error) (err error) {
	debug.SetPanicOnFault(true) // a file that is cut short while it is mapped
	defer func() {
		if v := recover(); v != nil {
			err = caught(v)
		}
		if ctx.Err() != nil || errors.As(err, new(*panicked)) {
			t.forget()
		}
	}()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !t.touch():
		return errGone
	}
	return f()
}

var errGone = failure(codes.Aborted, "TARGET_CLOSED", "the target was closed meanwhile")

// panicked is a panic that was caught.
type panicked struct {
	value any
	stack []byte
}

// caught makes an error of what recover gave.
func caught(v any) error { return &panicked{v, debug.Stack()} }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// look returns the view of the present stop, and makes it if there is none. It is
// asked in the target's turn.
func (t *target) look() (*view, error) {
	if t.view != nil {
		return t.view, nil
	}
	ctx, cut := context.WithCancel(context.Background())
	t.setCut(cut)
	v := &view{}
	in, err := t.opened.Look(ctx, readAll)
	if err != nil {
		cut()
		return nil, err
	}
	v.in = in
	t.view = v
	return v, nil
}

// forget drops the view. It is asked in the target's turn.
func (t *target) forget() {
	t.interrupt()
	if t.view != nil {
		for _, c := range t.view.cursors {
			c.end()
		}
	}
	t.view = nil
	t.setCut(nil)
}

// refresh moves the target on to its present stop, if it has moved.
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

// touch puts off the end of an unused target. It is false if that has come.
func (t *target) touch() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.left {
		t.timer.Reset(t.keep)
	}
	return !t.left
}

// orphan keeps the target for its lease, now that its connection ended.
func (t *target) orphan() bool {
	t.mu.Lock()
	t.keep = t.lease
	t.mu.Unlock()
	return t.touch()
}

// leave begins the end of the target. It is true for the first caller.
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

// close frees what the target holds, when the call that uses it is over.
func (t *target) close() error {
	t.interrupt()
	t.turn <- struct{}{}
	t.forget()
	return t.opened.Close()
}
