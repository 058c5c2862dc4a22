// Package rtl is what the OMPD library asks of an OpenMP runtime.
//
// A reader of a runtime implements Runtime over callbacks.Target. It knows the
// runtime's structures by name and nothing of file formats, unwinding or
// printing. Errors that have an OMPD return code wrap that code: a question that
// has no answer in this context wraps callbacks.Unavailable, a handle that the
// memory does not confirm wraps callbacks.StaleHandle, an argument out of range
// wraps callbacks.BadInput, unreadable memory wraps callbacks.DeviceReadError.
package rtl

import (
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Runtime is one OpenMP runtime in a target at one stop. It may be used by
// several goroutines at once.
//
// For whoever extends it: a new question goes into the interface whose subject
// it asks about, and is answered by every runtime, with an error that is
// callbacks.Unsupported where it makes no sense.
type Runtime interface {
	Describer
	ThreadReader
	ParallelReader
	TaskReader
	SettingsReader
}

// Describer says what was found and how.
type Describer interface {
	// Identity names the runtime.
	Identity() Identity
	// Layout says for every field and global where it lies and which sources
	// said so.
	Layout() layout.Report
	// Stamp is the stamp that all handles of this runtime carry.
	Stamp() handles.Stamp
	// Owns reports whether the code address pc belongs to this runtime.
	Owns(pc uint64) bool
}

// Identity names a runtime.
type Identity struct {
	Family     string            // one word: the base name of its library
	Name       string            // for people
	Version    string            // "16", or "14-15" where what was found does not tell apart; empty if unknown
	VersionBy  string            // what the version was concluded from
	OMPVersion int64             // _OPENMP of the runtime, such as 201611; 0 if unknown
	Module     *callbacks.Module // where its code lies (the executable if it is linked statically)
	Tracking   bool              // the runtime keeps states (OMP_DEBUG=enabled or a tool)
	Warnings   []string          // what could not be read of the runtime as a whole, and why
}

// ThreadReader answers questions about threads.
type ThreadReader interface {
	// Threads yields all threads that the runtime knows, idle ones too. An
	// error stands for a thread that could not be read; the walk goes on if
	// it can.
	Threads() iter.Seq2[handles.Thread, error]
	// Thread reads one thread.
	Thread(handles.Thread) (ThreadInfo, error)
	// CurrentParallel is ompd_get_curr_parallel_handle; idle threads have
	// none (callbacks.Unavailable).
	CurrentParallel(handles.Thread) (handles.Parallel, error)
	// CurrentTask is ompd_get_curr_task_handle; idle threads have none.
	CurrentTask(handles.Thread) (handles.Task, error)
	// State says what the thread does. ev is what the layer above knows of
	// the thread; nil means that it knows nothing.
	State(h handles.Thread, ev *Evidence) (ThreadState, error)
}

// ParallelReader answers questions about parallel regions.
type ParallelReader interface {
	// Parallel reads one region.
	Parallel(handles.Parallel) (ParallelInfo, error)
	// EnclosingParallel is ompd_get_enclosing_parallel_handle; the region of
	// level 0 has none (callbacks.Unavailable).
	EnclosingParallel(handles.Parallel) (handles.Parallel, error)
	// ThreadInParallel is ompd_get_thread_in_parallel; n is a thread number
	// in [0, team size).
	ThreadInParallel(p handles.Parallel, n int) (handles.Thread, error)
	// TaskInParallel is ompd_get_task_in_parallel: the implicit task of
	// thread number n.
	TaskInParallel(p handles.Parallel, n int) (handles.Task, error)
	// ExplicitTasks yields the explicit tasks of the region's team that the
	// runtime has a record of and that are not finished: queued ones, ones
	// blocked on a dependence, and ones that a thread of the team runs or
	// has suspended. The walk is bounded; a bound that was hit is an error
	// at the end.
	ExplicitTasks(handles.Parallel) iter.Seq2[handles.Task, error]
}

// TaskReader answers questions about tasks.
type TaskReader interface {
	// Task reads one task.
	Task(handles.Task) (TaskInfo, error)
	// GeneratingTask is ompd_get_generating_task_handle; an initial task has
	// none (callbacks.Unavailable).
	GeneratingTask(handles.Task) (handles.Task, error)
	// SchedulingTask is ompd_get_scheduling_task_handle.
	SchedulingTask(handles.Task) (handles.Task, error)
	// TaskParallel is ompd_get_task_parallel_handle.
	TaskParallel(handles.Task) (handles.Parallel, error)
	// WaitsFor returns the unfinished tasks that t depends on, as far as the
	// runtime keeps them.
	WaitsFor(t handles.Task) ([]handles.Task, error)
}

// SettingsReader answers questions about control variables and tool data.
type SettingsReader interface {
	// ICVs lists the internal control variables of the standard and this
	// runtime's own, in a fixed order; an ICV's number is its position, from
	// 1.
	ICVs() []ICV
	// ICV reads one variable for a subject whose scope is the variable's.
	ICV(id int, s Subject) (ICVValue, error)
	// ControlVars are the control variables as they are in force now, as
	// NAME=value pairs in the specification's sense.
	ControlVars() ([]ControlVar, error)
	// ToolData is ompd_get_tool_data: the data word that a tool of the
	// program left for the subject.
	ToolData(Subject) (value uint64, err error)
}
