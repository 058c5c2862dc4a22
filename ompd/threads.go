package ompd

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Threads yields all threads that the runtime knows, including idle ones (2013 draft, section 8.2.1). An error
// stands for an unreadable thread.
func (p *Process) Threads() iter.Seq2[handles.Thread, error] {
	return walk(p, "ompd_get_threads", p, func(rt handles.Runtime, _ *Process) iter.Seq2[handles.Thread,
		error] {
		return rt.Threads()
	})
}

// Thread returns the runtime's data on a thread.
func (p *Process) Thread(h handles.Thread) (handles.ThreadInfo, error) {
	return query(p, "Thread", h, handles.Runtime.Thread)
}

// ThreadInParallel is ompd_get_thread_in_parallel: it returns thread number n of the team that executes a
// region. A number outside [0, team size) is callbacks.BadInput.
func (p *Process) ThreadInParallel(h handles.Parallel, n int) (handles.Thread, error) {
	return query(p, "ompd_get_thread_in_parallel", h, func(rt handles.Runtime, h handles.Parallel) (handles.Thread,
		error) {
		return rt.ThreadInParallel(h, n)
	})
}

// CompareThreads is ompd_thread_handle_compare: it returns a number less than, equal to or greater than 0 if a
// is before, equal to or after b.
func (p *Process) CompareThreads(a, b handles.Thread) (int, error) {
	return compare(p, "ompd_thread_handle_compare", a, b)
}

// ReleaseThread is ompd_rel_thread_handle. It only checks the handle.
func (p *Process) ReleaseThread(h handles.Thread) error {
	return release(p, "ompd_rel_thread_handle", h)
}

// State is ompd_get_state: it returns a thread's state and the object it waits for. ev is the caller's data on
// the thread's registers and stack; it may be nil. If a runtime does not record states and ev is not enough, the
// error is callbacks.NeedsStateTracking, or callbacks.Unsupported if no setting makes the runtime record them.
func (p *Process) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	return query(p, "ompd_get_state", h, func(rt handles.Runtime, h handles.Thread) (handles.ThreadState, error) {
		s, err := rt.State(h, ev)
		if err == nil && ev == nil && s.State == handles.StateUndefined && !rt.Identity().Tracking {
			err = rt.Identity().Untracked()
		}
		return s, err
	})
}

// ordered is the constraint for handles.
type ordered[H any] interface {
	String() string
	Compare(H) int
}

// compare checks two handles, and compares them.
func compare[H ordered[H]](p *Process, routine string, a, b H) (int, error) {
	return query(p, routine, a, func(handles.Runtime, H) (int, error) {
		return query(p, routine, b, func(handles.Runtime, H) (int, error) { return a.Compare(b), nil })
	})
}

// release only checks a handle.
func release[H ordered[H]](p *Process, routine string, h H) error {
	_, err := query(p, routine, h, func(handles.Runtime, H) (struct{}, error) { return struct{}{}, nil })
	return err
}
