package cli

import (
	"context"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	"github.com/ompd-inspect/ompd-inspect/server"
	"github.com/ompd-inspect/ompd-inspect/session"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// servedLent is a program of a debugger, as a target of a server.
type servedLent struct {
	*engine.Target
	lent *remote.Target
}

var _ server.Lent = servedLent{}

// Snapshot takes a snapshot of the program at its current stop.
func (s servedLent) Snapshot(ctx context.Context, q session.Query) (*session.Snapshot, error) {
	return (*session.Target)(s.Target).Snapshot(ctx, q)
}

// Living returns true: the debugger may resume the program and stop it again.
func (s servedLent) Living() bool { return true }

// Stopped forgets the state of the previous stop.
func (s servedLent) Stopped(about *ompdv1.Target) error { return s.lent.Stopped(about) }

// RoundTrips returns the number of requests to the debugger.
func (s servedLent) RoundTrips() uint64 { return s.lent.RoundTrips() }

// lend opens the program that a debugger lends to the server.
func (l servedTarget) lend(hello *ompdv1.Hello, ask server.Asker, means server.Means) (server.Lent, error) {
	o := l.engineOptions(hello.GetSpec())
	o.Open, o.Memory = means.Open, means.Memory
	files := remote.Options{Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Open: o.Open, Memory: o.Ledger()}
	t, err := remote.New(hello, ask, files)
	if err != nil {
		return nil, err
	}
	return servedLent{engine.NewTarget(engine.NewLentSource(t), o), t}, nil
}
