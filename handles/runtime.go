package handles

import (
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Runtime is one OpenMP runtime in a target at one stop: the questions that package ompd asks a runtime reader.
// It may be used by several goroutines at once.
//
// A new question belongs in the interface of its subject. Every runtime implements it, with an error that is
// callbacks.Unsupported if the question does not apply.
type Runtime interface {
	Describer
	ThreadReader
	ParallelReader
	TaskReader
	SettingsReader
}

// Describer describes a runtime.
type Describer interface {
	// Identity returns the runtime's name, version and module.
	Identity() Identity
	// Stamp returns the stamp that all handles of this runtime carry.
	Stamp() Stamp
	// Owns reports whether the code address pc belongs to this runtime.
	Owns(pc uint64) bool
}

// Identity is the name, the version and the module of a runtime.
type Identity struct {
	Family     string            // one word: the base name of its library
	Name       string            // for users
	Version    string            // "16", or "14-15" if the evidence does not distinguish them; empty if unknown
	VersionBy  string            // evidence for the version
	OMPVersion int64             // _OPENMP of the runtime, such as 201611; 0 if unknown
	Module     *callbacks.Module // module with its code (the executable if it is linked statically)
	Trackable  bool              // the runtime records states if it is started with OMP_DEBUG=enabled
	Tracking   bool              // the runtime records states (OMP_DEBUG=enabled or a tool)
	Warnings   []string          // unreadable parts of the runtime as a whole, with reasons
}

// Untracked returns the error of a question that needs recorded states, where the runtime records none: it is
// callbacks.NeedsStateTracking, or callbacks.Unsupported if no setting makes the runtime record them.
func (id Identity) Untracked() error {
	if !id.Trackable {
		return fmt.Errorf("%s does not record states: %w", id.Name, callbacks.Unsupported)
	}
	return fmt.Errorf("the runtime was not started with OMP_DEBUG=enabled: %w", callbacks.NeedsStateTracking)
}

// ThreadReader answers questions about threads.
type ThreadReader interface {
	// Threads yields all threads that the runtime knows, including idle ones. An error stands for a thread that
	// could not be read; the walk continues if possible.
	Threads() iter.Seq2[Thread, error]
	// Thread reads one thread.
	Thread(Thread) (ThreadInfo, error)
	// CurrentParallel is ompd_get_curr_parallel_handle; it returns callbacks.Unavailable for idle threads.
	CurrentParallel(Thread) (Parallel, error)
	// CurrentTask is ompd_get_curr_task_handle; it returns callbacks.Unavailable for idle threads.
	CurrentTask(Thread) (Task, error)
	// State returns the state of the thread. ev is the data of the layer above on the thread; it may be nil.
	State(h Thread, ev *Evidence) (ThreadState, error)
}

// ParallelReader answers questions about parallel regions.
type ParallelReader interface {
	// Parallel reads one region.
	Parallel(Parallel) (ParallelInfo, error)
	// EnclosingParallel is ompd_get_enclosing_parallel_handle; it returns callbacks.Unavailable for the region
	// of level 0.
	EnclosingParallel(Parallel) (Parallel, error)
	// ThreadInParallel is ompd_get_thread_in_parallel; n is a thread number in [0, team size).
	ThreadInParallel(p Parallel, n int) (Thread, error)
	// TaskInParallel is ompd_get_task_in_parallel: it returns the implicit task of thread number n.
	TaskInParallel(p Parallel, n int) (Task, error)
	// ExplicitTasks yields the unfinished explicit tasks of the region's team that the runtime has recorded:
	// queued tasks, tasks blocked on a dependence, and tasks that a thread of the team runs or has suspended.
	// The walk is bounded; it yields an error at the end if it reached a bound.
	ExplicitTasks(Parallel) iter.Seq2[Task, error]
}

// TaskReader answers questions about tasks.
type TaskReader interface {
	// Task reads one task.
	Task(Task) (TaskInfo, error)
	// GeneratingTask is ompd_get_generating_task_handle; it returns callbacks.Unavailable for an initial task.
	GeneratingTask(Task) (Task, error)
	// SchedulingTask is ompd_get_scheduling_task_handle.
	SchedulingTask(Task) (Task, error)
	// TaskParallel is ompd_get_task_parallel_handle.
	TaskParallel(Task) (Parallel, error)
	// WaitsFor returns the unfinished tasks that t depends on, as far as the runtime stores them.
	WaitsFor(t Task) ([]Task, error)
}

// SettingsReader answers questions about control variables and tool data.
type SettingsReader interface {
	// ICVs lists the internal control variables of the standard and this runtime's own, in a fixed order; an
	// ICV's number is its position, from 1.
	ICVs() []ICV
	// ICV reads one variable for a subject with the variable's scope.
	ICV(id int, s Subject) (ICVValue, error)
	// ControlVars returns the current values of the control variables, as NAME=value pairs in the
	// specification's sense.
	ControlVars() ([]ControlVar, error)
	// ToolData is ompd_get_tool_data: it returns the data word that a tool of the program stored for the
	// subject.
	ToolData(Subject) (value uint64, err error)
}
