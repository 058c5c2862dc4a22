package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// barrierStep is BAR_INCR: a barrier's generation grows by it at each pass. The lower bits are flags.
const barrierStep = 8

// Progress returns the counters of a thread. The runtime counts the passes of two barriers: the team's, and the
// dock that a pool's threads leave for each region. Two more values change like counters: the thread's position
// among the worksharing constructs, and the remaining part of the awaited work.
func (ls *loops) Progress(h handles.Thread) ([]rtl.Counter, error) {
	th, err := ls.threads.byHandle(h)
	if err != nil {
		return nil, err
	}
	var out []rtl.Counter
	var errs []error
	add := func(name string, a callbacks.Address, step uint64, f layout.Field) {
		if a.IsNull() {
			return
		}
		err := f.Err()
		if err == nil {
			r := layout.Read(ls.mem, a, f)
			if err = r.Err(); err == nil {
				out = append(out, rtl.Counter{Name: name, Value: r.Uint(f) / step})
			}
		}
		errs = append(errs, err)
	}
	add("barriers", th.team, barrierStep, ls.l.Team.Generation)
	add("worksharing constructs", th.addr, 1, ls.l.Thread.WorkShare)
	add("regions", th.pool, barrierStep, ls.l.Pool.DockGeneration)
	if !th.task.IsNull() {
		group := layout.Read(ls.mem, th.task, ls.l.Task.Taskgroup)
		if a := group.Address(ls.l.Task.Taskgroup); group.Err() == nil {
			add("unfinished tasks of its group", a, 1, ls.l.Taskgroup.NumChildren)
		}
	}
	switch err := errors.Join(errs...); {
	case len(out) > 0:
		return out, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("the thread has not used the runtime: %w", callbacks.Unavailable)
}
