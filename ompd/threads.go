package ompd

import (
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Threads yields all threads that the runtime knows, idle ones too (2013 draft,
// section 8.2.1). An error stands for a thread that could not be read.
func (p *Process) Threads() iter.Seq2[handles.Thread, error] {
	return walk(p, "ompd_get_threads", p, func(rt handles.Runtime, _ *Process) iter.Seq2[handles.Thread,
		error] {
		return rt.Threads()
	})
}

// Thread reads what the runtime keeps of a thread.
func (p *Process) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	return query(p, "Thread", h, handles.Runtime.Thread)
}

// ThreadInParallel is ompd_get_thread_in_parallel: thread number n of the team
// that executes a region. A number outside [0, team size) is callbacks.BadInput.
func (p *Process) ThreadInParallel(h handles.Parallel, n int) (handles.Thread, error) {
	return query(p, "ompd_get_thread_in_parallel", h, func(rt handles.Runtime, h handles.Parallel) (handles.Thread,
		error) {
		return rt.ThreadInParallel(h, n)
	})
}

// CompareThreads is ompd_thread_handle_compare: less than, equal to or greater
// than 0 as a comes before, is or comes after b.
func (p *Process) CompareThreads(a, b handles.Thread) (int, error) {
	return compare(p, "ompd_thread_handle_compare", a, b)
}

// ReleaseThread is ompd_rel_thread_handle. There is nothing to release; the
// handle is only checked.
func (p *Process) ReleaseThread(h handles.Thread) error {
	return release(p, "ompd_rel_thread_handle", h)
}

// State is ompd_get_state: what a thread does and what it waits for. ev is what
// the caller knows of the thread's registers and stack; nil if nothing. What a
// runtime that keeps no states cannot tell without it is
// callbacks.NeedsStateTracking.
func (p *Process) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	return query(p, "ompd_get_state", h, func(rt handles.Runtime, h handles.Thread) (handles.ThreadState, error) {
		s, err := rt.State(h, ev)
		if err == nil && ev == nil && s.State == handles.StateUndefined && !rt.Identity().Tracking {
			err = fmt.Errorf("the runtime was not started with OMP_DEBUG=enabled: %w", callbacks.NeedsStateTracking)
		}
		return s, err
	})
}

// ordered are handles.
type ordered[H any] interface {
	String() string
	Compare(H) int
}

// compare compares two handles, both checked.
func compare[H ordered[H]](p *Process, routine string, a, b H) (int, error) {
	return query(p, routine, a, func(handles.Runtime, H) (int, error) {
		return query(p, routine, b, func(handles.Runtime, H) (int, error) { return a.Compare(b), nil })
	})
}

// release checks a handle, as there is nothing else to do.
func release[H ordered[H]](p *Process, routine string, h H) error {
	_, err := query(p, routine, h, func(handles.Runtime, H) (struct{}, error) { return struct{}{}, nil })
	return err
}
