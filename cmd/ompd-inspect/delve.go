package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/delve"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/remote"
)

// delveTarget is a program that a headless Delve holds.
type delveTarget struct {
	p     *delve.Process
	app   *app
	name  string
	arch  callbacks.Arch
	pause delve.Pause
}

// openDelve connects to the Delve that name names.
func (a *app) openDelve(name string) (target, error) {
	address, err := delve.ParseAddress(name)
	if err != nil {
		return nil, usageError{err}
	}
	if a.open.noStop {
		return nil, usageError{errors.New("--no-stop: Delve reads no program that runs")}
	}
	files := remote.Options{Exe: a.open.exe, Sysroot: a.open.sysroot, DebugDirs: a.open.debugDirs}
	p, err := delve.Open(a.context(), address, delve.Options{Options: files})
	if err != nil {
		return nil, err
	}
	return &delveTarget{p: p, app: a, name: name}, nil
}

func (d *delveTarget) look(ctx context.Context, _, f func(callbacks.Target) error) (err error) {
	announce := func() {
		fmt.Fprintf(d.app.stderr, "ompd-inspect: the program at %s runs: halting it, and letting it run on afterwards\n", d.name)
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM, unix.SIGHUP) // it must not stay halted
	defer stop()
	d.pause, err = d.p.Look(ctx, announce, func(t callbacks.Target) error {
		d.arch = t.Arch()
		return f(t)
	})
	return err
}

func (d *delveTarget) Close() error { return d.p.Close() }

func (d *delveTarget) warnings() []error { return nil }

func (d *delveTarget) about() inspect.Target {
	info := d.p.Info()
	t := inspect.Target{Kind: "process", Path: d.name, PID: info.PID, Executable: info.Executable, Arch: d.arch.String(), Command: info.Command}
	if d.pause.Halted {
		t.Pause = &inspect.Pause{Threads: d.pause.Threads, Stops: 1, Microseconds: d.pause.Duration.Microseconds()}
	}
	return t
}
