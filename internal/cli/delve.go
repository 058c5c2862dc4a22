package cli

import (
	"context"
	"errors"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/target/delve"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// delveTarget is a program under a headless Delve.
type delveTarget struct {
	*delve.Process
	app   *app
	name  string
	arch  callbacks.Arch
	pause delve.Pause
}

// openDelve connects to the Delve at the address name. It returns nil if name is not such an address.
func (a *app) openDelve(ctx context.Context, name string, o engine.Options) (*engine.Target, error) {
	if !strings.HasPrefix(name, delve.Scheme) {
		return nil, nil
	}
	address, err := delve.ParseAddress(name)
	if err != nil {
		return nil, usageError{err}
	}
	if o.NoStop {
		return nil, usageError{errors.New("--no-stop: Delve cannot read a running program")}
	}
	files := remote.Options{Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Memory: o.Ledger()}
	p, err := delve.Open(ctx, address, delve.Options{Options: files})
	if err != nil {
		return nil, err
	}
	return engine.NewTarget(&delveTarget{Process: p, app: a, name: name}, o), nil
}

// Look calls f with the program halted.
func (d *delveTarget) Look(ctx context.Context, _, f func(callbacks.Target) error) (err error) {
	announce := func() {
		d.app.note("the program at %s is running: it is halted, and resumed afterwards", d.name)
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM, unix.SIGHUP) // it must not stay halted
	defer stop()
	d.pause, err = d.Process.Look(ctx, announce, func(t callbacks.Target) error {
		d.arch = t.Arch()
		return f(t)
	})
	return err
}

// Living returns true: the program may run again.
func (d *delveTarget) Living() bool { return true }

// Warnings returns nil.
func (d *delveTarget) Warnings() []error { return nil }

// About describes the program and the cost of the last snapshot.
func (d *delveTarget) About() picture.Target {
	info := d.Info()
	t := picture.Target{Kind: picture.TargetProcess, Path: d.name, PID: info.PID, Executable: info.Executable,
		Arch: d.arch.String(), Command: info.Command}
	if d.pause.Halted {
		t.Pause = &picture.Pause{Threads: d.pause.Threads, Stops: 1, Microseconds: d.pause.Duration.Microseconds()}
	}
	return t
}
