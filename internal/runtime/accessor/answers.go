package accessor

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxLevels bounds the nesting levels of a thread. A program has a frame on some stack for each.
const maxLevels = 256

// Function is a function of the OpenMP API that returns a number of the calling thread.
type Function struct {
	Name string // "omp_get_max_threads"
	// ICV is the internal control variable that it returns, by the standard's name; empty for a
	// number of the thread's region.
	ICV string
	// Level means that the function's argument is a nesting level.
	Level bool
}

// functions are the functions whose answers are in memory, grouped as in the standard.
// omp_get_num_procs is left out because it asks the kernel, and omp_get_nested because LLVM's
// prints that it is deprecated.
var functions = [...]Function{
	{Name: "omp_get_thread_num"}, {Name: "omp_get_num_threads"}, {Name: "omp_get_level"},
	{Name: "omp_get_active_level"},
	{Name: "omp_in_parallel"}, {Name: "omp_get_ancestor_thread_num", Level: true},
	{Name: "omp_get_team_size", Level: true},
	{Name: "omp_get_max_threads", ICV: "nthreads-var"}, {Name: "omp_get_dynamic", ICV: "dyn-var"},
	{Name: "omp_get_max_active_levels", ICV: "max-active-levels-var"},
	{Name: "omp_get_thread_limit", ICV: "thread-limit-var"},
	{Name: "omp_get_cancellation", ICV: "cancel-var"}, {Name: "omp_get_proc_bind", ICV: "bind-var"},
	{Name: "omp_get_place_num", ICV: "place-assignment-var"}, {Name: "omp_in_final", ICV: "final-task-var"},
	{Name: "omp_in_explicit_task", ICV: "explicit-task-var"},
	{Name: "omp_get_max_task_priority", ICV: "max-task-priority-var"},
	{Name: "omp_get_default_device", ICV: "default-device-var"}, {Name: "omp_get_team_num", ICV: "team-num-var"},
	{Name: "omp_get_num_teams", ICV: "league-size-var"}, {Name: "omp_get_max_teams", ICV: "nteams-var"},
	{Name: "omp_get_teams_thread_limit", ICV: "teams-thread-limit-var"},
}

// Functions lists the functions that Answers asks.
func Functions() []Function { return append([]Function(nil), functions[:]...) }

// Answer is the result of one function for a thread.
type Answer struct {
	Function Function
	Level    int // argument of a function that has one; 0 for others
	Value    int
	Err      error // nil if there is an answer
}

// String returns the call: "omp_get_team_size(1)".
func (a Answer) String() string {
	if a.Function.Level {
		return fmt.Sprintf("%s(%d)", a.Function.Name, a.Level)
	}
	return a.Function.Name + "()"
}

// Answers calls all functions that the module exports for the thread with the given thread pointer; those with a
// nesting level for every level from 0.
func (c *Caller) Answers(threadPointer uint64) []Answer {
	level, err := c.Int(threadPointer, "omp_get_level")
	if err != nil || level < 0 {
		level = 0
	}
	var all []Answer
	for _, f := range functions {
		for l := range min(level, maxLevels-1) + 1 {
			a := Answer{Function: f, Level: l}
			var args []int
			if f.Level {
				args = []int{l}
			}
			a.Value, a.Err = c.Int(threadPointer, f.Name, args...)
			if !errors.Is(a.Err, callbacks.ErrNoSymbol) {
				all = append(all, a)
			}
			if !f.Level {
				break
			}
		}
	}
	return all
}
