package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// TakenTaskReader is a runtime in which a thread has a task in no list while it takes the task from one, or puts it
// into one. OMPD does not require it.
type TakenTaskReader interface {
	// TakenTasks returns such tasks of a region, which may be in a list, too. of returns the evidence of a thread.
	TakenTasks(p handles.Parallel, of func(handles.Thread) *handles.Evidence) []handles.Task
}
