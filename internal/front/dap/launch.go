package dap

import (
	"context"
	"errors"
	"fmt"
	"time"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Launch is the configuration with which a client starts a program. What it has of Attach
// says where files are, and what is shown.
type Launch struct {
	Attach
	Program string   `json:"program"`
	Args    []string `json:"args"`
	// Cwd is the working directory; the adapter's if it is empty.
	Cwd string `json:"cwd"`
	// Env are variables of the environment beside the adapter's; null takes one away.
	Env map[string]*string `json:"env"`
	// HangAfter is for how long a process may make no progress before it is stopped, such as
	// "30s"; for ever without.
	HangAfter Duration `json:"hangAfter"`
}

// Duration is a time, which JSON has as a text such as "30s", or in seconds.
type Duration time.Duration

// UnmarshalJSON takes a text or a number.
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

// Program is a program that was started for a client, with what it starts itself.
type Program interface {
	// PID is its number.
	PID() int
	// Events tells what becomes of it. Each is to be heard before there is another.
	Events() <-chan Event
	// Open opens the program, or a process that it has started.
	Open(pid int) (*session.Target, error)
	// Signal asks it to end, or, with force, ends it, with all that it has started.
	Signal(force bool)
	// Close ends what is left of it, and waits for that.
	Close() error
}

// Event is something that became of a program.
type Event struct {
	PID int
	// Death is set for a process that is about to die, and stands still; it is not open yet.
	// Open has it as a process that does. Proceed lets it die.
	Death   bool
	Proceed func()
	// Hung is how long a process has made no progress.
	Hung time.Duration
	// Ended tells that the program has ended, with Status, as a shell has it.
	Ended  bool
	Status int
}

// launch starts a program.
func (a *adapter) launch(_ context.Context, args Launch) (_ *nothing, err error) {
	switch {
	case a.phase == attached:
		return nil, errors.New("launch: a target is open; one session has one")
	case a.config.Launch == nil:
		return nil, errors.New("launch: no programs are started here: start it, and attach to it")
	case args.Program == "":
		return nil, errors.New(`launch: which program? "program" is its path`)
	}
	output := func(category string) func(string) {
		return func(text string) { a.tell("output", godap.OutputEventBody{Category: category, Output: text}) }
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
	a.phase = attached
	a.later(a.begin)
	return nil, nil
}

// events are those of the program that the client has to hear of; none before it is ready,
// or without a program.
func (a *adapter) events() <-chan Event {
	if a.program == nil || !a.begun || a.dying != nil {
		return nil
	}
	return a.program.Events()
}

// became tells the client what became of its program.
func (a *adapter) became(e Event) {
	if e.Ended {
		a.tell("exited", godap.ExitedEventBody{ExitCode: e.Status})
		a.tell("terminated", nil)
		a.program = nil
		return
	}
	a.dying = e.Proceed
	if err := a.show(e.PID); err != nil {
		a.say(important, fmt.Sprintf("process %d: %v", e.PID, err))
		a.proceed()
		return
	}
	if e.Hung > 0 {
		a.say(important, fmt.Sprintf("process %d made no progress for %v", e.PID, e.Hung))
	}
	a.tell(eventChanged, a.changed())
	a.stopped()
	if _, told := a.view.reason(); e.Hung > 0 && !told {
		a.say(console, "no verdict is drawn: what its threads wait for is in their names")
	}
}

// show holds a process of the program and looks at it.
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

// opened is the target, which of a program that runs is opened when it is first asked for.
func (d *debuggee) opened() (*session.Target, error) {
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

// reading calls f with the target, for what pictures do not have.
func (d *debuggee) reading(ctx context.Context, f func(callbacks.Target) error) error {
	t, err := d.opened()
	if err != nil {
		return err
	}
	return t.Read(ctx, f)
}

// proceed lets a process that is about to die do so.
func (d *debuggee) proceed() {
	if d.dying != nil {
		d.dying()
		d.dying = nil
	}
}

// terminate asks the program to end.
func (a *adapter) terminate(context.Context, nothing) (*nothing, error) {
	if a.program == nil {
		return nil, errors.New("terminate: no program was launched")
	}
	err := a.goFree()
	a.program.Signal(false)
	return nil, err
}

// goFree lets what stands still go on.
func (d *debuggee) goFree() error {
	err := d.release()
	d.proceed()
	return err
}
