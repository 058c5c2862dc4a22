package locate

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Argument positions in the interface between compilers and the runtime: a task is a kmp_task_t, which starts
// with its shared variables and its body (kmp.h), and bodies are called with the thread's number and the task.
const (
	taskBodyOffset = 8
	taskArgument   = 1
)

// entries lists the functions that take bodies: those of LLVM's compilers, those of GCC (its programs run on
// this runtime too), and the function that calls the body in each thread.
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
		// they make tasks like their argument
		taskEntry("__kmpc_taskloop", -1), taskEntry("__kmpc_taskloop_5", -1),
		{Function: "GOMP_task"}, {Function: "GOMP_taskloop"},
	},
}

// taskEntry returns the entry of a function that takes a task.
func taskEntry(function string, taskArgument int) handles.BodyEntry {
	return handles.BodyEntry{Function: function, Argument: 2, Task: true, BodyOffset: taskBodyOffset,
		TaskArgument: taskArgument}
}

// bodyEntries returns the entries of a location that this runtime has.
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
