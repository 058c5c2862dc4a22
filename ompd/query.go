package ompd

import (
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// query passes one question about h to the runtime of p. Only this function checks h. Every error names the
// routine and the handle. A value with an error (callbacks.Incomplete) is returned together with it.
func query[H fmt.Stringer, R any](p *Process, routine string, h H, ask func(handles.Runtime, H) (R, error)) (R, error) {
	if err := p.Check(h); err != nil {
		var none R
		return none, fail(routine, h, err)
	}
	r, err := ask(p.rt, h)
	if err != nil { // only then is an allocation of h worthwhile
		err = fail(routine, h, err)
	}
	return r, err
}

// walk is query for a question with a list as its answer.
func walk[H fmt.Stringer, T any](p *Process, routine string, h H,
	ask func(handles.Runtime, H) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := p.Check(h); err != nil {
			var none T
			yield(none, fail(routine, h, err))
			return
		}
		for v, err := range ask(p.rt, h) {
			if err != nil {
				err = fail(routine, h, err)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Check returns an error that is callbacks.StaleHandle unless h is a handle of p, and p one of a library in use.
func (p *Process) Check(h fmt.Stringer) error {
	switch {
	case p == nil || p.rt == nil:
		return fmt.Errorf("no address space: %w", callbacks.StaleHandle)
	case p.released.Load():
		return fmt.Errorf("the address space handle was released: %w", callbacks.StaleHandle)
	case p.session.isOver():
		return fmt.Errorf("the library was finalised: %w", callbacks.StaleHandle)
	}
	switch h := h.(type) {
	case *Process:
		return nil
	case handles.Thread:
		return p.checkHandle(h.Stamp, h.Info)
	case handles.Parallel:
		return p.checkHandle(h.Stamp, h.Team)
	case handles.Task:
		return p.checkHandle(h.Stamp, h.Data)
	case subject:
		of, err := h.handle(p)
		if err != nil {
			return err
		}
		return p.Check(of)
	}
	return fmt.Errorf("%T is not a handle: %w", h, callbacks.BadInput)
}

// checkHandle checks the parts of every handle: an address, and the stamp of this address space at this stop.
func (p *Process) checkHandle(s handles.Stamp, at callbacks.Address) error {
	own := p.rt.Stamp()
	switch {
	case at.IsNull():
		return fmt.Errorf("null handle: %w", callbacks.StaleHandle)
	case s.Space != own.Space:
		return fmt.Errorf("handle of address space %d, not of %d: %w", s.Space, own.Space, callbacks.StaleHandle)
	case s.Epoch != own.Epoch:
		return fmt.Errorf("handle of stop %d, the target is at stop %d: %w", s.Epoch, own.Epoch, callbacks.StaleHandle)
	}
	return nil
}

// subject is a handles.Subject in the form of its handle.
type subject handles.Subject

// handle returns the handle of the subject's scope.
func (s subject) handle(p *Process) (fmt.Stringer, error) {
	switch s.Scope {
	case handles.ScopeGlobal, handles.ScopeAddressSpace:
		return p, nil
	case handles.ScopeThread:
		return s.Thread, nil
	case handles.ScopeParallel, handles.ScopeTeams, handles.ScopeTarget:
		return s.Parallel, nil
	case handles.ScopeImplicitTask, handles.ScopeTask:
		return s.Task, nil
	}
	return nil, fmt.Errorf("scope %d: %w", s.Scope, callbacks.BadInput)
}

// String returns the scope, and the scope's handle if it has one.
func (s subject) String() string {
	switch s.Scope {
	case handles.ScopeThread:
		return s.Thread.String()
	case handles.ScopeParallel, handles.ScopeTeams, handles.ScopeTarget:
		return s.Parallel.String()
	case handles.ScopeImplicitTask, handles.ScopeTask:
		return s.Task.String()
	}
	return s.Scope.String()
}
