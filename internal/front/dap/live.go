package dap

import (
	"context"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// errStands is the error of continuing a core.
var errStands = errors.New("a core stands still: it cannot go on")

// isLive reports whether the target can run.
func (a *adapter) isLive() bool { return a.view.pic.Target.Kind != picture.TargetCore }

// pause stops a process and takes a new snapshot. If the target cannot be stopped, it only takes the snapshot. A
// profile in progress ends.
func (a *adapter) pause(ctx context.Context, _ nothing) (*nothing, error) {
	a.endProfile()
	if a.program != nil && !a.held {
		if err := a.choose(a.program.PID()); err != nil {
			return nil, err
		}
	}
	if a.isLive() && !a.held {
		err := a.target.Stop(ctx)
		if a.held = err == nil; err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			a.addDeferred(func() { a.print(console, fmt.Sprintf("! took a snapshot without stopping it: %v", err)) })
		}
	}
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	a.addDeferred(a.sendStopped)
	return nil, nil
}

// continueProcess continues a stopped process.
func (a *adapter) continueProcess(context.Context, nothing) (body godap.ContinueResponseBody, err error) {
	if !a.isLive() {
		return body, errStands
	}
	return godap.ContinueResponseBody{AllThreadsContinued: true}, a.resume()
}

// release ends the stop of a process.
func (d *debuggee) release() error {
	if !d.held {
		return nil
	}
	d.held = false
	return d.target.Resume()
}

// lookAgain takes a new snapshot without stopping the process.
func (a *adapter) lookAgain(ctx context.Context, _ nothing) (changed, error) {
	if err := a.refresh(ctx); err != nil {
		return changed{}, err
	}
	return a.changed(), nil
}

// refresh takes a new snapshot and invalidates the client's state. It ends the session if the process has
// ended.
func (a *adapter) refresh(ctx context.Context) error {
	err := a.look(ctx)
	if errors.Is(err, engine.ErrExited) && a.program == nil { // otherwise the event of its end follows
		a.addDeferred(func() { a.sendEvent("terminated", nil) })
	}
	if err != nil {
		return err
	}
	a.addDeferred(func() {
		if a.client.SupportsInvalidatedEvent {
			a.sendEvent("invalidated", godap.InvalidatedEventBody{Areas: []godap.InvalidatedAreas{"all"}})
		}
		a.sendEvent(eventChanged, a.changed())
	})
	return nil
}
