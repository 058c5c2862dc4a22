package generated

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Limits of a look, which takes a fraction of a second, or some seconds on a busy machine.
var (
	lookLimit = 30 * time.Minute
	lookGrace = 20 * time.Second // time within which a cancelled look must end
)

// errEndless means that a look did not end in its time; if it ignores its cancellation too, its target is lost
// with it.
var errEndless = errors.New("a look did not end")

// limited returns the result of a look, which may take lookLimit, including its opening.
func limited(look func(context.Context) (*picture.Picture, error)) (*picture.Picture, error) {
	type answer struct {
		pic *picture.Picture
		err error
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		pic, err := look(ctx)
		done <- answer{pic, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, context.DeadlineExceeded) {
			a.err = fmt.Errorf("%w in %v: %w", errEndless, lookLimit, a.err)
		}
		return a.pic, a.err
	case <-time.After(lookLimit + lookGrace):
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return nil, fmt.Errorf("%w in %v:\n%s", errEndless, lookLimit+lookGrace, stacks)
}

// lookAt returns the tool's picture of a target. It looks again while the machine is too busy to stop the process,
// as the error advises.
func lookAt(ctx context.Context, t *engine.Target) (*picture.Picture, error) {
	q := engine.Report()
	q.Budget = 0
	a, err := t.Look(ctx, q)
	for errors.Is(err, live.ErrStuck) && ctx.Err() == nil {
		a, err = t.Look(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if blind != nil {
		blind(a.Picture)
	}
	return a.Picture, nil
}

// TestEndlessLook abandons a look that does not end, whether it ends on cancellation or not.
func TestEndlessLook(t *testing.T) {
	defer func(limit, grace time.Duration) { lookLimit, lookGrace = limit, grace }(lookLimit, lookGrace)
	lookLimit, lookGrace = time.Millisecond, time.Minute
	_, err := limited(func(ctx context.Context) (*picture.Picture, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if !errors.Is(err, errEndless) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that ends when it is told to: %v", err)
	}
	lookGrace = time.Millisecond
	forever := make(chan struct{})
	defer close(forever)
	_, err = limited(func(context.Context) (*picture.Picture, error) {
		<-forever
		return nil, nil
	})
	if !errors.Is(err, errEndless) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that does not: %v", err)
	}
}
