package cli

import (
	"cmp"
	"context"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/server"
	"github.com/ompd-inspect/ompd-inspect/session"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// lentSource is a program that a debugger holds and lends.
type lentSource struct{ *remote.Target }

// About is what the debugger said of the program.
func (l lentSource) About() picture.Target {
	var t picture.Target
	if err := wire.Unpack(l.Target.About(), &t); err != nil {
		return picture.Target{Kind: picture.TargetDebugger} // the words differ, which a test finds
	}
	t.Kind = cmp.Or(t.Kind, picture.TargetDebugger)
	return t
}

// Warnings are none.
func (l lentSource) Warnings() []error { return nil }

// Living is false: the program stands still, until the debugger says otherwise.
func (l lentSource) Living() bool { return false }

// Look calls f with the program at its present stop.
func (l lentSource) Look(ctx context.Context, _, f func(callbacks.Target) error) error {
	return f(l.At(ctx))
}

// servedLent is such a program, lent to a server.
type servedLent struct {
	*session.Target
	lent *remote.Target
}

var _ server.Lent = servedLent{}

// Living is true: it is at another stop when the debugger says so.
func (s servedLent) Living() bool { return true }

// Stopped forgets what was known of the stop before.
func (s servedLent) Stopped(about *ompdv1.Target) error { return s.lent.Stopped(about) }

// RoundTrips is how often the debugger was asked.
func (s servedLent) RoundTrips() uint64 { return s.lent.RoundTrips() }

// lend opens what a debugger lends to the server.
func (l servedTarget) lend(hello *ompdv1.Hello, ask remote.Asker, means server.Means) (server.Lent, error) {
	o := l.optionsOf(hello.GetSpec())
	o.Open, o.Memory = means.Open, means.Memory
	files := remote.Options{Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Open: o.Open, Memory: o.Ledger()}
	t, err := remote.New(hello, ask, files)
	if err != nil {
		return nil, err
	}
	return servedLent{session.Of(lentSource{t}, o), t}, nil
}
