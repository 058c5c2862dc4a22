package libomp

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Progress returns the counters of a thread.
func (lp *loops) Progress(h handles.Thread) ([]rtl.Counter, error) {
	th, err := lp.threads.byHandle(h)
	if err != nil {
		return nil, err
	}
	var out []rtl.Counter
	var errs []error
	add := func(name string, v uint64, err error) {
		if err == nil {
			out = append(out, rtl.Counter{Name: name, Value: v})
		}
		errs = append(errs, err)
	}
	n, err := lp.barriersPassed(th)
	add("barriers", n, err)
	n, err = lp.field(th.addr, lp.l.Thread.Dispatch, lp.l.Disp.DispIndex)
	add("loops", n, err)
	n, err = lp.countQueued(th)
	add("tasks", n, err)
	if !th.task.IsNull() {
		td := &lp.l.Taskdata
		for _, c := range []struct {
			name string
			f    layout.Field
		}{{"taskwaits", td.TaskwaitCounter}, {"unfinished children", td.IncompleteChildTasks}} {
			n, err := lp.field(th.task, c.f)
			if add(c.name, n, err); err == nil {
				out[len(out)-1].Word = th.task.Add(c.f.Offset)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// barriersPassed counts the barriers at which the thread has arrived, and those that its team has passed. The
// primary thread counts only for the team.
func (lp *loops) barriersPassed(th *thread) (uint64, error) {
	sum, err := lp.arrivedAt(th.addr, lp.l.Thread.Bar, lp.l.Bar.Size, lp.l.Bar.Arrived)
	if err != nil || th.team.IsNull() {
		return sum, err
	}
	team, err := lp.arrivedAt(th.team, lp.l.Team.Bar, lp.l.TeamBar.Size, lp.l.TeamBar.Arrived)
	return sum + team, err
}

// arrivedAt returns the sum of the counters in the array of barriers of a thread or a team.
func (lp *loops) arrivedAt(a callbacks.Address, bar layout.Field, size layout.Type, arrived layout.Field) (uint64,
	error) {
	if err := errors.Join(bar.Err(), size.Err()); err != nil {
		return 0, err
	}
	sum := uint64(0)
	for k := range uint64(barrierKinds) {
		n, err := lp.field(a.Add(bar.Offset+k*size.Size), arrived)
		if err != nil {
			return 0, err
		}
		sum += n / counterStep // without the flags
	}
	return sum, nil
}

// countQueued returns the number of insertions into and removals from the thread's queue of tasks, as one
// number.
func (lp *loops) countQueued(th *thread) (uint64, error) {
	data, err := lp.field(th.addr, lp.l.Thread.TaskTeam, lp.l.TaskTeam.ThreadsData)
	if err != nil {
		return 0, err
	}
	size := lp.l.ThreadData.Size
	if err := size.Err(); err != nil {
		return 0, err
	}
	queue := callbacks.Addr(data + uint64(max(th.tid, 0))*size.Size)
	head, err1 := lp.field(queue, lp.l.ThreadData.DequeHead)
	tail, err2 := lp.field(queue, lp.l.ThreadData.DequeTail)
	return head<<32 | tail, errors.Join(err1, err2)
}

// field reads the last field on a path of pointers.
func (rt *base) field(a callbacks.Address, path ...layout.Field) (uint64, error) {
	v := a.Offset
	for _, f := range path {
		if err := f.Err(); err != nil {
			return 0, err
		}
		r := layout.Read(rt.mem, callbacks.Addr(v), f)
		if v = r.Uint(f); r.Err() != nil {
			return 0, r.Err()
		}
	}
	return v, nil
}
