package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// A task with unfinished dependences is not queued: only the tasks it waits for point to it, each from its
// vector of dependers (gomp_dependers_vec).

// follow yields the tasks that wait for t, and transitively the tasks that wait for those.
func (w *walk) follow(t *task) error {
	open := []*task{t}
	for len(open) > 0 {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		next, err := w.tasks.records.findDependers(t)
		if err != nil {
			return err
		}
		for _, to := range next {
			d, err := w.tasks.records.readTask(to)
			if err != nil {
				return fmt.Errorf("task that waits for the one at %v: %w", t.addr, err)
			}
			if w.edge != nil {
				w.edge(t.addr, to)
			}
			if d.kind != kindWaiting || !d.rec.Bool(w.tasks.l.Task.NumDependees) {
				continue // it is in a queue, or waits for its dependences in a taskwait
			}
			fresh, err := w.once(d)
			if err != nil {
				return err
			}
			if fresh {
				open = append(open, d)
			}
		}
	}
	return nil
}

// findDependers returns the tasks that wait for t.
func (rs *records) findDependers(t *task) ([]callbacks.Address, error) {
	a := t.rec.Address(rs.l.Task.Dependers)
	if err := t.rec.Err(); err != nil || a.IsNull() {
		return nil, err
	}
	f := &rs.l.Dependers
	r := layout.Read(rs.mem, a, f.NElem)
	n := r.Uint(f.NElem)
	if err := errors.Join(r.Err(), f.Elem.Err()); err != nil {
		return nil, fmt.Errorf("tasks that wait for the one at %v: %w", t.addr, err)
	}
	if n > maxDependers {
		return nil, fmt.Errorf("%d tasks wait for the one at %v: %w", n, t.addr, callbacks.Incomplete)
	}
	var out []callbacks.Address
	for left := n; left > 0; {
		block := make([]byte, 8*min(left, dependersBlock))
		if err := rs.mem.ReadMemory(a.Add(f.Elem.Offset+8*(n-left)), block); err != nil {
			return out, fmt.Errorf("tasks that wait for the one at %v: %w", t.addr,
				errors.Join(err, callbacks.DeviceReadError))
		}
		for ; len(block) > 0; block = block[8:] {
			out = append(out, callbacks.Addr(callbacks.Word(block[:8])))
			left--
		}
	}
	return out, nil
}

// graph holds the dependences between the tasks of a team.
type graph struct {
	before map[uint64][]callbacks.Address // by task: the tasks that it waits for
	err    error
}

// graphOf returns the dependence graph of a region. It walks over the region's tasks once.
func (ts *tasks) graphOf(r *region) *graph {
	if g, ok := ts.graphs.Get(r.key.addr); ok {
		return g
	}
	g := &graph{before: map[uint64][]callbacks.Address{}}
	g.err = ts.walkTasks(r, func(from, to callbacks.Address) {
		if len(g.before) < maxMarked {
			g.before[to.Offset] = append(g.before[to.Offset], from)
		}
	}, func(*task) error { return nil })
	ts.graphs.Put(r.key.addr, g)
	return g
}

// orphansOf returns the explicit tasks of a region that outlived their parent.
func (ts *tasks) orphansOf(r *region) map[uint64]bool {
	if o, ok := ts.orphans.Get(r.key.addr); ok {
		return o
	}
	o := map[uint64]bool{}
	_ = ts.walkTasks(r, nil, func(t *task) error { // tasks that were found before an error count
		if t.parent.IsNull() && len(o) < maxMarked {
			o[t.addr.Offset] = true
		}
		return nil
	})
	ts.orphans.Put(r.key.addr, o)
	return o
}

// WaitsFor returns the unfinished tasks that a task depends on.
func (ts *tasks) WaitsFor(h handles.Task) ([]handles.Task, error) {
	fd, err := ts.lookup(h)
	if err != nil {
		return nil, err
	}
	if fd.task == nil || fd.kind != kindWaiting || !fd.rec.Bool(ts.l.Task.NumDependees) {
		return nil, nil
	}
	g := ts.graphOf(fd.region)
	var out []handles.Task
	for _, a := range g.before[h.Data.Offset] {
		out = append(out, ts.handleOf(a))
	}
	return out, g.err
}
