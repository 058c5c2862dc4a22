package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// keepTasks keeps which tasks each thread is in, if their ids are what the runtime has as words of
// the tool: beside another tool these are its own.
func (r *recorded) keepTasks(rec *trace.Recording) {
	if !rec.OwnTasks() {
		return
	}
	r.tasks = map[int][]trace.Task{}
	for _, t := range rec.Threads {
		if t.Life == trace.Alive && !t.Torn && t.Omitted == 0 {
			r.tasks[int(t.LWP)] = t.Tasks
		}
	}
}

// stateInTask is the state that was recorded of a thread in the task that the runtime has it in.
// LLVM's runtime tells no end of the last part of an untied task while another thread is on its way
// out of the part before: by the events alone the thread is in that task until the next of them.
func (r *recorded) stateInTask(n *teams.Thread, last picture.StateName) picture.StateName {
	if n == nil || n.Runtime == nil || len(r.tasks[n.LWP]) < 2 {
		return last
	}
	h, err := n.Runtime.CurrentTask(n.Handle)
	if err != nil {
		return last
	}
	word, err := n.Runtime.ToolData(handles.Subject{Scope: handles.ScopeTask, Task: h})
	if err != nil {
		return last
	}
	tasks := r.tasks[n.LWP]
	current := &tasks[len(tasks)-1]
	if word == current.ID {
		return last
	}
	for i := len(tasks) - 2; i >= 0; i-- {
		if tasks[i].ID == word {
			return handles.State(tasks[i].State).Name()
		}
	}
	// The recorder empties the word of an implicit task in a barrier, where it does not work.
	if word == 0 && trace.Works(current.State) {
		return picture.StateUndefined
	}
	return last
}
