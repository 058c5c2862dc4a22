package foreign

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Tasks are unknown.

// CurrentTask returns errUnknown.
func (rt *runtime) CurrentTask(handles.Thread) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// TaskInParallel returns errUnknown.
func (rt *runtime) TaskInParallel(handles.Parallel, int) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// ExplicitTasks yields errUnknown.
func (rt *runtime) ExplicitTasks(handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) { yield(handles.Task{}, errUnknown) }
}

// Task returns errUnknown.
func (rt *runtime) Task(handles.Task) (handles.TaskInfo, error) {
	return handles.TaskInfo{}, errUnknown
}

// GeneratingTask returns errUnknown.
func (rt *runtime) GeneratingTask(handles.Task) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// SchedulingTask returns errUnknown.
func (rt *runtime) SchedulingTask(handles.Task) (handles.Task, error) {
	return handles.Task{}, errUnknown
}

// TaskParallel returns errUnknown.
func (rt *runtime) TaskParallel(handles.Task) (handles.Parallel, error) {
	return handles.Parallel{}, errUnknown
}

// WaitsFor returns errUnknown.
func (rt *runtime) WaitsFor(handles.Task) ([]handles.Task, error) { return nil, errUnknown }

// ToolData returns errUnknown.
func (rt *runtime) ToolData(handles.Subject) (uint64, error) { return 0, errUnknown }

// ControlVars returns callbacks.Unavailable: no variable holds for the whole program.
func (rt *runtime) ControlVars() ([]handles.ControlVar, error) { return nil, callbacks.Unavailable }
