package dap

import (
	"context"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// errStands says that what cannot run cannot go on.
var errStands = errors.New("a core stands still: it cannot go on")

// runs reports whether the target is one that may run on by itself.
func (a *adapter) runs() bool { return a.view.pic.Target.Kind != picture.TargetCore }

// pause holds a process, and looks at it again. What cannot be held is only looked at.
func (a *adapter) pause(ctx context.Context, _ nothing) (*nothing, error) {
	if a.program != nil && !a.held {
		if err := a.choose(a.program.PID()); err != nil {
			return nil, err
		}
	}
	if a.runs() && !a.held {
		err := a.target.Stop(ctx)
		if a.held = err == nil; err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			a.later(func() { a.say(console, fmt.Sprintf("! it is looked at, and not held: %v", err)) })
		}
	}
	if err := a.again(ctx); err != nil {
		return nil, err
	}
	a.later(a.stopped)
	return nil, nil
}

// goOn lets a process that is held go on.
func (a *adapter) goOn(context.Context, nothing) (body godap.ContinueResponseBody, err error) {
	if !a.runs() {
		return body, errStands
	}
	return godap.ContinueResponseBody{AllThreadsContinued: true}, a.goFree()
}

// release ends the hold of a process.
func (d *debuggee) release() error {
	if !d.held {
		return nil
	}
	d.held = false
	return d.target.Resume()
}

// lookAgain looks at the target anew, and holds nothing.
func (a *adapter) lookAgain(ctx context.Context, _ nothing) (changed, error) {
	if err := a.again(ctx); err != nil {
		return changed{}, err
	}
	return a.changed(), nil
}

// again looks anew, and has the client forget what it knows. A process that has ended ends
// the session.
func (a *adapter) again(ctx context.Context) error {
	err := a.look(ctx)
	if errors.Is(err, session.ErrExited) && a.program == nil { // else its end is told
		a.later(func() { a.tell("terminated", nil) })
	}
	if err != nil {
		return err
	}
	a.later(func() {
		if a.client.SupportsInvalidatedEvent {
			a.tell("invalidated", godap.InvalidatedEventBody{Areas: []godap.InvalidatedAreas{"all"}})
		}
		a.tell(eventChanged, a.changed())
	})
	return nil
}
