package dap

import (
	"context"
	"errors"
	"fmt"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Launch is the configuration with which a client starts a program. The embedded Attach contains the places of
// files and the options of the display.
type Launch struct {
	Attach
	Program string   `json:"program"`
	Args    []string `json:"args"`
	// Cwd is the working directory; "" means that of the adapter.
	Cwd string `json:"cwd"`
	// Env contains changes to the adapter's environment; null removes a variable.
	Env map[string]*string `json:"env"`
	// HangAfter is the time without progress after which a process is stopped, such as "30s"; 0 means never.
	HangAfter Duration `json:"hangAfter"`
}

// Duration is a time. Its JSON form is a text such as "30s", or a number of seconds.
type Duration time.Duration

// UnmarshalJSON parses a text or a number.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var n Name
	if err := n.UnmarshalJSON(b); err != nil {
		return err
	}
	text := string(n)
	if len(b) > 0 && b[0] != '"' {
		text += "s"
	}
	t, err := time.ParseDuration(text)
	*d = Duration(t)
	return err
}

// Program is a program that was started for a client, with the processes that it starts.
type Program interface {
	// PID returns the number of the process.
	PID() int
	// Events returns the channel of events. Each event must be received before the next one is sent.
	Events() <-chan Event
	// Open opens the program, or a process that it has started.
	Open(pid int) (*engine.Target, error)
	// Signal asks the program to end; with force, it kills the program and all processes that it started.
	Signal(force bool)
	// Close ends the remaining processes and waits for their end.
	Close() error
}

// Event is an event of a program.
type Event struct {
	PID int
	// Death is set for a process that is about to die and is stopped. It is not open yet: Open opens it in this
	// state. Proceed lets it die.
	Death   bool
	Proceed func()
	// Hung is the time for which a process has made no progress.
	Hung time.Duration
	// Ended reports whether the program has ended; Status is its exit status as a shell reports it.
	Ended  bool
	Status int
}

// launch starts a program.
func (a *adapter) launch(_ context.Context, args Launch) (_ *nothing, err error) {
	if a.phase == attach {
		return nil, errors.New("launch: a target is open; one session has one")
	}
	if err := a.admit(args.Secret); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	a.reportUnknownKeys(args)
	switch {
	case a.config.Launch == nil:
		return nil, errors.New("launch: no programs are started here: start it, and attach to it")
	case args.Program == "":
		return nil, errors.New(`launch: which program? "program" is its path`)
	}
	output := func(category string) func(string) {
		return func(text string) { a.sendEvent("output", godap.OutputEventBody{Category: category, Output: text}) }
	}
	a.program, err = a.config.Launch(args, output("stdout"), output("stderr"))
	if err != nil {
		return nil, err
	}
	a.attachment = args.Attach
	pic := &picture.Picture{Schema: picture.Schema, Target: picture.Target{
		Kind: picture.TargetProcess, PID: a.program.PID(), Executable: args.Program, Threads: 1,
	}}
	pic.Threads = []picture.Thread{{LWP: pic.Target.PID, Role: picture.RoleNone}}
	a.view = newView(pic, a.attachment, a.client, &a.ids)
	a.phase = attach
	a.addDeferred(a.begin)
	return nil, nil
}

// programEvents returns the channel of the program's events; nil before the client is ready, or without a
// program.
func (a *adapter) programEvents() <-chan Event {
	if a.program == nil || !a.begun || a.dying != nil {
		return nil
	}
	return a.program.Events()
}

// handleEvent handles an event of the program and informs the client.
func (a *adapter) handleEvent(e Event) {
	if e.Ended {
		a.sendEvent("exited", godap.ExitedEventBody{ExitCode: e.Status})
		a.endSession()
		a.program = nil
		return
	}
	a.dying = e.Proceed
	if err := a.show(e.PID); err != nil {
		a.print(important, fmt.Sprintf("process %d: %v", e.PID, err))
		a.proceed()
		return
	}
	if e.Hung > 0 {
		a.print(important, fmt.Sprintf("process %d made no progress for %v", e.PID, e.Hung))
	}
	a.sendEvent(eventChanged, a.changed())
	a.sendStopped()
	if _, told := a.view.reason(); e.Hung > 0 && !told {
		a.print(console, "there is no verdict: the names of the threads show the waits")
	}
}

// show stops a process of the program and takes a snapshot of it.
func (a *adapter) show(pid int) error {
	if err := a.choose(pid); err != nil {
		return err
	}
	if err := a.target.Stop(a.life); err != nil {
		return err
	}
	a.held = true
	return a.look(a.life)
}

// choose makes a process of the program the target.
func (d *debuggee) choose(pid int) error {
	if err := d.closeTarget(); err != nil {
		return err
	}
	var err error
	d.target, err = d.program.Open(pid)
	return err
}

// opened returns the target. A running program is opened on first use.
func (d *debuggee) opened() (*engine.Target, error) {
	if d.target == nil && d.program == nil {
		return nil, errors.New("the program has ended")
	}
	if d.target == nil {
		if err := d.choose(d.program.PID()); err != nil {
			return nil, err
		}
	}
	return d.target, nil
}

// withTarget calls f with the target, for data that pictures do not contain.
func (d *debuggee) withTarget(ctx context.Context, f func(callbacks.Target) error) error {
	t, err := d.opened()
	if err != nil {
		return err
	}
	return t.Read(ctx, f)
}

// proceed lets a process die that is about to.
func (d *debuggee) proceed() {
	if d.dying != nil {
		d.dying()
		d.dying = nil
	}
}

// terminate asks the program to end. An attached target is not ended, only the session.
func (a *adapter) terminate(context.Context, nothing) (*nothing, error) {
	if a.program == nil {
		a.addDeferred(a.endSession)
		return nil, a.resume()
	}
	err := a.resume()
	a.program.Signal(false)
	return nil, err
}

// resume continues the stopped target.
func (d *debuggee) resume() error {
	err := d.release()
	d.proceed()
	return err
}
