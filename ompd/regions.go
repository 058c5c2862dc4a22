package ompd

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Parallel reads what the runtime keeps of a parallel region.
func (j joined) Parallel(h handles.Parallel) (rtl.ParallelInfo, error) {
	return query(j.p, "Parallel", h, rtl.Runtime.Parallel)
}

// CurrentParallel is ompd_get_curr_parallel_handle: the innermost region that a
// thread executes. A thread in no team is callbacks.Unavailable.
func (p *Process) CurrentParallel(h handles.Thread) (handles.Parallel, error) {
	return query(p, "ompd_get_curr_parallel_handle", h, rtl.Runtime.CurrentParallel)
}

// EnclosingParallel is ompd_get_enclosing_parallel_handle. The region of level 0
// has none: callbacks.Unavailable.
func (p *Process) EnclosingParallel(h handles.Parallel) (handles.Parallel, error) {
	return query(p, "ompd_get_enclosing_parallel_handle", h, rtl.Runtime.EnclosingParallel)
}

// TaskParallel is ompd_get_task_parallel_handle: the innermost region that
// encloses a task region.
func (p *Process) TaskParallel(h handles.Task) (handles.Parallel, error) {
	return query(p, "ompd_get_task_parallel_handle", h, rtl.Runtime.TaskParallel)
}

// CompareParallels is ompd_parallel_handle_compare: less than, equal to or
// greater than 0 as a comes before, is or comes after b.
func (p *Process) CompareParallels(a, b handles.Parallel) (int, error) {
	return compare(p, "ompd_parallel_handle_compare", a, b)
}

// ReleaseParallel is ompd_rel_parallel_handle. There is nothing to release; the
// handle is only checked.
func (p *Process) ReleaseParallel(h handles.Parallel) error {
	return release(p, "ompd_rel_parallel_handle", h)
}

// ExplicitTasks yields the explicit tasks of a region's team that are not
// finished and that the runtime has a record of, queued ones too. The standard
// has no routine for it.
func (j joined) ExplicitTasks(h handles.Parallel) iter.Seq2[handles.Task, error] {
	return walk(j.p, "ExplicitTasks", h, rtl.Runtime.ExplicitTasks)
}
