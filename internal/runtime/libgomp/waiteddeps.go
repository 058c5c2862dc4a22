package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// WaitedDependences lists the children for which the thread's task waits because it depends on them. The runtime
// marks them (parent_depends_on). For a thread that waits for the event of its undeferred task, it lists that task.
func (wr *waits) WaitedDependences(h handles.Thread, _ *handles.Evidence) ([]handles.Task, error) {
	r, th, err := wr.threads.regionOf(h)
	if err != nil {
		return nil, err
	}
	cur, err := wr.records.readTask(th.task)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", h, err)
	}
	if _, waits := wr.records.eventWait(cur); waits {
		return []handles.Task{{Stamp: wr.stamp, Data: cur.addr}}, nil
	}
	if _, depend := wr.records.waitsForTasks(cur); !depend {
		return nil, fmt.Errorf("%v waits for no dependences: %w", h, callbacks.Unavailable)
	}
	var tasks []handles.Task
	for t, err := range wr.tasks.ExplicitTasks(wr.parallelHandle(r)) {
		if err != nil {
			return tasks, err
		}
		child, err := wr.records.readTask(t.Data)
		if err == nil && child.parent == cur.addr && child.rec.Bool(wr.l.Task.ParentDependsOn) &&
			child.rec.Err() == nil {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}
