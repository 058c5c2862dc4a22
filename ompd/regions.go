package ompd

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Parallel returns the runtime's data on a parallel region.
func (p *Process) Parallel(h handles.Parallel) (handles.ParallelInfo, error) {
	return query(p, "Parallel", h, handles.Runtime.Parallel)
}

// CurrentParallel is ompd_get_curr_parallel_handle: it returns the innermost region that a thread executes. For
// a thread outside of teams the error is callbacks.Unavailable.
func (p *Process) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	return query(p, "ompd_get_curr_parallel_handle", h, handles.Runtime.CurrentParallel)
}

// EnclosingParallel is ompd_get_enclosing_parallel_handle. For the region of level 0 the error is
// callbacks.Unavailable.
func (p *Process) EnclosingParallel(h handles.Parallel) (handles.Parallel, error) {
	return query(p, "ompd_get_enclosing_parallel_handle", h, handles.Runtime.EnclosingParallel)
}

// TaskParallel is ompd_get_task_parallel_handle: it returns the innermost region that encloses a task region.
func (p *Process) TaskParallel(h handles.Task) (handles.Parallel, error) {
	return query(p, "ompd_get_task_parallel_handle", h, handles.Runtime.TaskParallel)
}

// CompareParallels is ompd_parallel_handle_compare: it returns a number less than, equal to or greater than 0 if
// a is before, equal to or after b.
func (p *Process) CompareParallels(a, b handles.Parallel) (int, error) {
	return compare(p, "ompd_parallel_handle_compare", a, b)
}

// ReleaseParallel is ompd_rel_parallel_handle. It only checks the handle.
func (p *Process) ReleaseParallel(h handles.Parallel) error {
	return release(p, "ompd_rel_parallel_handle", h)
}

// ExplicitTasks yields the unfinished explicit tasks of a region's team that the runtime has recorded, including
// queued ones. The standard has no routine for it.
func (p *Process) ExplicitTasks(h handles.Parallel) iter.Seq2[handles.Task, error] {
	return walk(p, "ExplicitTasks", h, handles.Runtime.ExplicitTasks)
}
