package foreign

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Of tasks nothing is known.

// CurrentTask is not known.
func (rt *runtime) CurrentTask(handles.Thread) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// TaskInParallel is not known.
func (rt *runtime) TaskInParallel(handles.Parallel, int) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// ExplicitTasks are not known.
func (rt *runtime) ExplicitTasks(handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) { yield(handles.Task{}, errUnknown) }
}

// Task is not known.
func (rt *runtime) Task(handles.Task) (handles.TaskInfo, error) {
	return handles.TaskInfo{}, errUnknown
}

// GeneratingTask is not known.
func (rt *runtime) GeneratingTask(handles.Task) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// SchedulingTask is not known.
func (rt *runtime) SchedulingTask(handles.Task) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// TaskParallel is not known.
func (rt *runtime) TaskParallel(handles.Task) (handles.Parallel, error) {
	return handles.Parallel{}, errUnknown
}

// WaitsFor is not known.
func (rt *runtime) WaitsFor(handles.Task) ([]handles.Task, error) { return nil, errUnknown }

// ToolData is not known.
func (rt *runtime) ToolData(handles.Subject) (uint64, error) { return 0, errUnknown }

// ControlVars are callbacks.Unavailable: none holds for the whole program.
func (rt *runtime) ControlVars() ([]handles.ControlVar, error) { return nil, callbacks.Unavailable }
