package main

import (
	"context"
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/server"
)

// served is a target that the server has open.
type served struct {
	target
	app  *app
	done func() error // ends the use of the last inspector; nil before the first
}

var (
	_ server.Opened   = (*served)(nil)
	_ server.Counting = (*served)(nil)
)

// Living tells whether the target is a process.
func (s *served) Living() bool {
	_, core := s.target.(coreTarget)
	return !core
}

// Used is what the threads of a process have used.
func (s *served) Used() ([]inspect.ThreadUse, error) {
	l, ok := s.target.(*liveTarget)
	if !ok {
		return nil, errNotWatched
	}
	return used(l.p)
}

// Look makes an inspector of one moment.
func (s *served) Look(ctx context.Context, read func(*inspect.Inspector)) (*inspect.Inspector, error) {
	if err := s.end(); err != nil {
		return nil, err
	}
	if !s.Living() {
		read = func(*inspect.Inspector) {} // a core is there to be asked later
	}
	in, done, err := s.app.lookAt(ctx, until{s.target, ctx}, question{read: read})
	if err != nil {
		return nil, err
	}
	s.done = done
	return in, nil
}

// end ends the use of the last inspector.
func (s *served) end() error {
	if s.done == nil {
		return nil
	}
	done := s.done
	s.done = nil
	return done()
}

// Close frees the target.
func (s *served) Close() error { return errors.Join(s.end(), s.target.Close()) }

// until is a target whose memory cannot be read once ctx has ended.
type until struct {
	target
	ctx context.Context
}

func (u until) look(ctx context.Context, prepare, f func(callbacks.Target) error) error {
	return u.target.look(ctx, u.bound(prepare), u.bound(f))
}

// bound is f with a target that ends with u's context.
func (u until) bound(f func(callbacks.Target) error) func(callbacks.Target) error {
	return func(t callbacks.Target) error {
		if able, ok := t.(ableTarget); ok {
			t = limited{able, u.ctx}
		}
		return f(t)
	}
}

// ableTarget has all powers that targets of this program have.
type ableTarget interface {
	callbacks.Target
	callbacks.RegisterReader
	callbacks.ModuleLister
	callbacks.MappingLister
}

// limited is such a target until ctx ends.
type limited struct {
	ableTarget
	ctx context.Context
}

// ReadMemory fails once ctx has ended.
func (l limited) ReadMemory(a callbacks.Address, p []byte) error {
	if err := l.ctx.Err(); err != nil && len(p) > 0 {
		return &callbacks.FaultError{Address: a, Err: err}
	}
	return l.ableTarget.ReadMemory(a, p)
}
