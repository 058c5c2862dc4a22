package locate

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Where compilers and the runtime agreed that things are: a task is a kmp_task_t,
// which begins with its shared variables and its body (kmp.h), and bodies are
// called with the thread's number and the task.
const (
	taskBodyOffset = 8
	taskArgument   = 1
)

// entries are the functions that get bodies: those of LLVM's compilers, those of
// GCC, whose programs this runtime executes too, and the one that calls the body in
// each thread.
var entries = map[string][]handles.BodyEntry{
	"ompd_bp_parallel_begin": {
		{Function: "__kmpc_fork_call", Argument: 2}, {Function: "__kmpc_fork_call_if", Argument: 2},
		{Function: "__kmp_invoke_microtask"},
		{Function: "GOMP_parallel"}, {Function: "GOMP_parallel_sections"}, {Function: "GOMP_parallel_reductions"},
	},
	"ompd_bp_teams_begin": {{Function: "__kmpc_fork_teams", Argument: 2}},
	"ompd_bp_task_begin": {
		taskEntry("__kmpc_omp_task", taskArgument), taskEntry("__kmpc_omp_task_parts", taskArgument),
		taskEntry("__kmpc_omp_task_with_deps", taskArgument), taskEntry("__kmpc_omp_task_begin_if0", taskArgument),
		// which make tasks like the one that they get
		taskEntry("__kmpc_taskloop", -1), taskEntry("__kmpc_taskloop_5", -1),
		{Function: "GOMP_task"}, {Function: "GOMP_taskloop"},
	},
}

// taskEntry is a function that gets a task.
func taskEntry(function string, taskArgument int) handles.BodyEntry {
	return handles.BodyEntry{Function: function, Argument: 2, Task: true, BodyOffset: taskBodyOffset,
		TaskArgument: taskArgument}
}

// bodyEntries are those entries of a location that this runtime has.
func (ls *Locations) bodyEntries(location string) []handles.BodyEntry {
	var out []handles.BodyEntry
	for _, e := range entries[location] {
		if a, err := ls.exportedFunction(e.Function); err == nil {
			e.Address = a
			out = append(out, e)
		}
	}
	return out
}
