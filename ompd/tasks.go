package ompd

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Task returns the runtime's data on a task.
func (p *Process) Task(h handles.Task) (handles.TaskInfo, error) {
	return query(p, "Task", h, handles.Runtime.Task)
}

// CurrentTask is ompd_get_curr_task_handle: it returns the task that a thread executes. For an idle thread the
// error is callbacks.Unavailable.
func (p *Process) CurrentTask(h handles.Thread) (handles.Task, error) {
	return query(p, "ompd_get_curr_task_handle", h, handles.Runtime.CurrentTask)
}

// GeneratingTask is ompd_get_generating_task_handle: it returns the task that created h. For an initial task the
// error is callbacks.Unavailable.
func (p *Process) GeneratingTask(h handles.Task) (handles.Task, error) {
	return query(p, "ompd_get_generating_task_handle", h, handles.Runtime.GeneratingTask)
}

// SchedulingTask is ompd_get_scheduling_task_handle: it returns the task that was suspended on the thread to
// execute h. If no task was, the error is callbacks.Unavailable.
func (p *Process) SchedulingTask(h handles.Task) (handles.Task, error) {
	return query(p, "ompd_get_scheduling_task_handle", h, handles.Runtime.SchedulingTask)
}

// TaskInParallel is ompd_get_task_in_parallel: it returns the implicit task of thread number n. A number outside
// [0, team size) is callbacks.BadInput.
func (p *Process) TaskInParallel(h handles.Parallel, n int) (handles.Task, error) {
	return query(p, "ompd_get_task_in_parallel", h, func(rt handles.Runtime, h handles.Parallel) (handles.Task, error) {
		return rt.TaskInParallel(h, n)
	})
}

// CompareTasks is ompd_task_handle_compare: it returns a number less than, equal to or greater than 0 if a is
// before, equal to or after b.
func (p *Process) CompareTasks(a, b handles.Task) (int, error) {
	return compare(p, "ompd_task_handle_compare", a, b)
}

// ReleaseTask is ompd_rel_task_handle. It only checks the handle.
func (p *Process) ReleaseTask(h handles.Task) error { return release(p, "ompd_rel_task_handle", h) }

// TaskFunction is ompd_get_task_function: it returns the entry of the task's outlined function. For a task
// without its own function, such as an initial task, the error is callbacks.Unavailable.
func (p *Process) TaskFunction(h handles.Task) (callbacks.Address, error) {
	return query(p, "ompd_get_task_function", h, func(rt handles.Runtime, h handles.Task) (callbacks.Address, error) {
		info, err := rt.Task(h)
		if err == nil && info.Function.IsNull() {
			err = fmt.Errorf("the runtime keeps no function for this %s task: %w", info.Kind, callbacks.Unavailable)
		}
		return info.Function, err
	})
}

// TaskFrame is ompd_get_task_frame: it returns the frames by which the task was entered and left. If the runtime
// was not started to record them, the error is callbacks.NeedsStateTracking, or callbacks.Unsupported if no setting
// makes the runtime record them.
func (p *Process) TaskFrame(h handles.Task) (handles.TaskFrame, error) {
	return query(p, "ompd_get_task_frame", h, func(rt handles.Runtime, h handles.Task) (handles.TaskFrame, error) {
		info, err := rt.Task(h)
		if err == nil && info.Frame == (handles.TaskFrame{}) && !rt.Identity().Tracking {
			err = rt.Identity().Untracked()
		}
		return info.Frame, err
	})
}

// WaitsFor returns the unfinished tasks that a task depends on. The standard has no routine for it.
func (p *Process) WaitsFor(h handles.Task) ([]handles.Task, error) {
	return query(p, "WaitsFor", h, handles.Runtime.WaitsFor)
}
