package main

import (
	"cmp"
	"context"
	"os"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/remote"
	"github.com/ompd-inspect/ompd-inspect/server"
)

// lentTarget is a program that a debugger holds and lends.
type lentTarget struct{ *remote.Target }

func (l lentTarget) about() inspect.Target {
	var t inspect.Target
	if err := wire.Unpack(l.About(), &t); err != nil {
		return inspect.Target{Kind: "debugger"} // the words differ, which a test finds
	}
	t.Kind = cmp.Or(t.Kind, "debugger")
	return t
}

func (l lentTarget) warnings() []error { return nil }

// look calls f with the program at its present stop.
func (l lentTarget) look(ctx context.Context, _, f func(callbacks.Target) error) error {
	return f(l.At(ctx))
}

// servedLent is such a program, lent to a server.
type servedLent struct {
	*served
	*remote.Target
}

var _ server.Lent = servedLent{}

// Close frees the target.
func (s servedLent) Close() error { return s.served.Close() }

// Look makes an inspector of the present stop. The program stands still, so it
// can be asked later.
func (s servedLent) Look(ctx context.Context, _ func(*inspect.Inspector)) (*inspect.Inspector, error) {
	return s.served.Look(ctx, func(*inspect.Inspector) {})
}

// Stopped forgets what was known of the stop before.
func (s servedLent) Stopped(about *ompdv1.Target) error {
	if err := s.end(); err != nil {
		return err
	}
	return s.Target.Stopped(about)
}

// lendServed opens what a debugger lends to the server.
func lendServed(hello *ompdv1.Hello, ask remote.Asker) (server.Lent, error) {
	spec := hello.GetSpec()
	t, err := remote.New(hello, ask, remote.Options{Exe: spec.GetExe(), Sysroot: spec.GetSysroot(), DebugDirs: spec.GetDebugDirs()})
	if err != nil {
		return nil, err
	}
	a := &app{stderr: os.Stderr, open: optionsOf(spec)}
	return servedLent{&served{app: a, target: lentTarget{t}}, t}, nil
}
