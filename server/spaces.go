package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// spaces are the address spaces that a session opened in a target at one stop.
type spaces struct {
	stop     uint32
	view     *view // that they read
	open     []*ompd.Process
	released map[handles.Stamp]bool
}

// openSpaces opens the address spaces of a target's present stop, in its turn. It returns the usable ones, with
// an error for runtimes that cannot be opened.
func (s *connection) openSpaces(t *target) (*spaces, error) {
	v, err := t.look()
	if err != nil {
		return nil, err
	}
	o := ompd.Options{Epoch: t.stop, Sources: t.spec.GetSources()}
	ps, err := s.library.ProcessInitialize(v.snapshot.Target(), o)
	if len(ps) == 0 {
		return nil, err
	}
	sp := &spaces{stop: t.stop, view: v, open: ps, released: map[handles.Stamp]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces[t] = sp
	return sp, err
}

// spacesOf returns the session's open address spaces of t, in the target's turn. It opens them again if a
// cancelled call dropped their view; handles stay valid.
func (s *connection) spacesOf(t *target) (*spaces, error) {
	s.mu.Lock()
	sp := s.spaces[t]
	s.mu.Unlock()
	switch {
	case sp == nil:
		return nil, fmt.Errorf("no address space is open in this target: call ProcessInitialize first: %w",
			callbacks.StaleHandle)
	case sp.stop != t.stop:
		return nil, fmt.Errorf("the handle is of stop %d, the target is at stop %d: call ProcessInitialize again: %w",
			sp.stop, t.stop, callbacks.StaleHandle)
	case sp.view == t.view:
		return sp, nil
	}
	released := sp.released
	sp, err := s.openSpaces(t)
	if sp == nil {
		return nil, fmt.Errorf("%w: %w", callbacks.StaleHandle, err)
	}
	sp.released = released
	return sp, nil
}

// space is an address space in the turn of its target.
type space struct {
	*ompd.Process
	session *connection
	target  *target
	all     *spaces
}

func (s space) thread(h handles.Thread) string { return s.session.print(s.target, ofThread(h)) }

func (s space) parallel(h handles.Parallel) string { return s.session.print(s.target, ofParallel(h)) }

func (s space) task(h handles.Task) string { return s.session.print(s.target, ofTask(h)) }

// itself returns the handle of the address space.
func (s space) itself() string {
	return s.session.print(s.target, handle{kind: kindSpace, Stamp: s.Stamp()})
}

// handleAt parses a handle's text and finds its address space.
func (s *connection) handleAt(t *target, text, kind string) (handle, space, error) {
	h, err := s.parse(text, kind)
	if err != nil {
		return h, space{}, err
	}
	sp, err := s.spacesOf(t)
	if err != nil {
		return h, space{}, err
	}
	for _, p := range sp.open {
		if p.Stamp() == h.Stamp && !sp.released[h.Stamp] {
			return h, space{p, s, t, sp}, nil
		}
	}
	return h, space{}, fmt.Errorf("the handle is of an address space that was released, or of another stop than %d: %w",
		t.stop, callbacks.StaleHandle)
}

// ask calls f with the object of a handle of that kind, in the turn of its target. On an error, the answer is
// nil.
func ask[R any](ctx context.Context, routine, text, kind string, f func(space, handle) (*R, error)) (*R, error) {
	s := connectionOf(ctx)
	t, err := s.target(targetOf(text))
	if err != nil {
		err = fmt.Errorf("%q is not a handle of an open target: %w", text, callbacks.StaleHandle)
		return nil, routineStatus(routineError(routine, err))
	}
	var resp *R
	err = t.do(ctx, func() error {
		h, sp, err := s.handleAt(t, text, kind)
		if err != nil {
			return routineError(routine, err)
		}
		resp, err = f(sp, h)
		return err
	})
	if err != nil { // the call may still be running and use resp
		return nil, routineStatus(err)
	}
	return resp, nil
}

// routineError adds the routine's name to an error before its call.
func routineError(routine string, err error) error {
	if errors.As(err, new(*ompd.Error)) {
		return err
	}
	return &ompd.Error{Routine: routine, RC: ompd.RCOf(err), Err: err}
}

// second reads the other handle of a comparison.
func (s space) second(routine, text, kind string) (handle, error) {
	h, err := s.session.parse(text, kind)
	if err == nil && targetOf(text) != s.target.name {
		err = fmt.Errorf("%q is of another target: %w", text, callbacks.StaleHandle)
	}
	if err != nil {
		return h, routineError(routine, err)
	}
	return h, nil
}
