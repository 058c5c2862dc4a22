package libomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// WaitedDependences returns the tasks for which the thread waits because of dependences: those with a successor
// that is a dependence node on the thread's own stack. This node represents the wait.
func (wr *waits) WaitedDependences(h handles.Thread, ev *handles.Evidence) ([]handles.Task, error) {
	o, in, err := wr.lookAt(h, ev)
	if err != nil {
		return nil, err
	}
	if in.State != handles.StateWaitTaskwait || !strings.Contains(o.name, "deps") {
		return nil, fmt.Errorf("%v waits for no dependences: %w", h, callbacks.Unavailable)
	}
	low, high := runtimeStack(ev)
	g := wr.tasks.graph(o.gs[0])
	var tasks []handles.Task
	for node, before := range g.waits {
		if node < low.Offset || node >= high.Offset {
			continue
		}
		for _, a := range before {
			tasks = append(tasks, handles.Task{Stamp: wr.stamp, Data: callbacks.Addr(a)})
		}
	}
	return tasks, g.err
}
