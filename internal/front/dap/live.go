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

// errEnded is the error of a request for a process that has ended.
var errEnded = fmt.Errorf("the process has ended: %w", engine.ErrExited)

// isLive reports whether the target can run.
func (a *adapter) isLive() bool { return a.view.pic.Target.Kind != picture.TargetCore }

// pause stops a process and takes a new snapshot. If the target cannot be stopped, it only takes the snapshot. A
// core stays as it was, with the client's numbers of frames. A profile in progress ends.
func (a *adapter) pause(ctx context.Context, _ nothing) (*nothing, error) {
	a.endProfile()
	if !a.isLive() {
		a.addDeferred(a.sendStopped)
		return nil, nil
	}
	if a.program != nil && !a.held {
		if err := a.choose(a.program.PID()); err != nil {
			return nil, err
		}
	}
	if err := a.hold(ctx); err != nil {
		return nil, err
	}
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	a.addDeferred(a.sendStopped)
	return nil, nil
}

// hold stops a process until it is continued. If it cannot be stopped, the client is told.
func (a *adapter) hold(ctx context.Context) error {
	if !a.isLive() || a.held || a.exited {
		return nil
	}
	t, err := a.opened()
	if err != nil {
		return err
	}
	err = t.Stop(ctx)
	if a.held = err == nil; err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		a.addDeferred(func() { a.print(console, fmt.Sprintf("! took a snapshot without stopping it: %v", err)) })
	}
	return nil
}

// holdAttached stops the process as the configuration asks for it and takes the snapshot again, so that its variables
// can be read at once. Without the key "hold", a process that hangs is stopped: it loses nothing.
func (a *adapter) holdAttached(ctx context.Context) error {
	asked := a.attachment.Hold
	if asked != nil && !*asked || asked == nil && !a.view.hangs() {
		return nil
	}
	if err := a.hold(ctx); err != nil || !a.held {
		return err
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	if asked == nil && !a.view.hangs() { // it has made progress
		return a.release()
	}
	return nil
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

// lookArguments are the arguments of requestLook.
type lookArguments struct {
	// Hold stops the process until it is continued.
	Hold bool `json:"hold"`
}

// lookAgain takes a new snapshot. It does not stop the process, unless that is asked for.
func (a *adapter) lookAgain(ctx context.Context, args lookArguments) (changed, error) {
	if args.Hold {
		if err := a.hold(ctx); err != nil {
			return changed{}, err
		}
		a.addDeferred(a.sendStopped)
	}
	if err := a.refresh(ctx); err != nil {
		return changed{}, err
	}
	return a.changed(), nil
}

// refresh takes a new snapshot and invalidates the client's state. It ends the session if the process has
// ended.
func (a *adapter) refresh(ctx context.Context) error {
	err := errEnded
	if !a.exited {
		err = a.look(ctx)
	}
	if errors.Is(err, engine.ErrExited) && a.program == nil { // otherwise the event of its end follows
		a.addDeferred(a.endSession)
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
