package teams

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ExecutedTask is an explicit task that a thread executes.
type ExecutedTask struct {
	Thread *Thread
	Frame  int // index of the frame of its function
	handle handles.Task
}

// ExecutedTask returns the explicit task that the thread executes, nil if there is none or its function has no frame.
func (n *Thread) ExecutedTask(code *stacks.Code) *ExecutedTask {
	if n.Runtime == nil {
		return nil
	}
	h, err := n.Runtime.CurrentTask(n.Handle)
	if err != nil {
		return nil
	}
	info, err := n.Runtime.Task(h)
	if err != nil || info.Kind != picture.TaskExplicit || info.Function.IsNull() {
		return nil
	}
	st := n.Stack()
	for i, f := range st.Frames {
		if st.Kinds[i] == stacks.KindUser && code.FunctionEntry(f) == info.Function.Offset {
			return &ExecutedTask{n, i, h}
		}
	}
	return nil
}

// Is reports whether two threads' tasks are the same.
func (t *ExecutedTask) Is(o *ExecutedTask) bool { return t.Thread == o.Thread && t.handle == o.handle }

// IsUnrelated reports whether o is neither t nor a task that created t, directly or not. It is false if that is
// unknown.
func (t *ExecutedTask) IsUnrelated(o *ExecutedTask) bool {
	rt := t.Thread.Runtime
	if o.Thread.Runtime != rt {
		return false
	}
	h := t.handle
	for range MaxLevels {
		info, err := rt.Task(h)
		if err != nil || h == o.handle {
			return false
		}
		if info.Kind != picture.TaskExplicit {
			return true
		}
		if h, err = rt.GeneratingTask(h); err != nil {
			return false
		}
	}
	return false
}
