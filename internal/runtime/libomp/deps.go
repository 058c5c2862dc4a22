package libomp

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxGraph bounds the number of waiting tasks, and of dependences, in one team. A million of either takes some
// 50 MB here.
const maxGraph = 1 << 20

// errGraph is the error of a walk that exceeds maxGraph.
var errGraph = fmt.Errorf("more than %d tasks or dependences: %w", maxGraph, callbacks.Incomplete)

// graph holds the dependences between the tasks of a team.
type graph struct {
	before map[uint64][]uint64 // task → unfinished tasks for which it waits
	waits  map[uint64][]uint64 // node of a wait without a task → the unfinished tasks for which it waits
	err    error
}

// depnode is a copy of a kmp_depnode_t.
type depnode struct {
	task          callbacks.Address // kmp_taskdata_t; null for a finished task
	successors    callbacks.Address
	npredecessors int64
}

func (rs *records) depnode(a callbacks.Address) (depnode, error) {
	f := &rs.l.Depnode
	r := layout.Read(rs.mem, a, f.Successors, f.Task, f.Npredecessors)
	d := depnode{r.Address(f.Task), r.Address(f.Successors), r.Int(f.Npredecessors)}
	if err := r.Err(); err != nil {
		return d, fmt.Errorf("dependence node at %v: %w", a, err)
	}
	// The node points to the kmp_task_t, which follows its kmp_taskdata_t.
	if !d.task.IsNull() {
		d.task = d.task.Add(-rs.l.Taskdata.Size.Size)
	}
	return d, nil
}

// successors yields the tasks that wait, directly or transitively, for the task with the dependence node at a.
func (w *walk) successors(a callbacks.Address) error {
	todo := []callbacks.Address{a}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		found, err := w.direct(next)
		if err != nil {
			return err
		}
		todo = append(todo, found...)
	}
	return nil
}

// direct yields the tasks that wait directly for the task with the node at a. It returns the nodes of those that
// it encountered for the first time. The list of a finished task is freed and not followed.
func (w *walk) direct(a callbacks.Address) (fresh []callbacks.Address, err error) {
	d, err := w.tasks.records.depnode(a)
	if err != nil || d.task.IsNull() || d.successors.IsNull() || w.followed[a.Offset] {
		return nil, err
	}
	w.followed[a.Offset] = true
	err = w.nodes(d.successors, func(node callbacks.Address) error {
		ok, err := w.waiting(node, d.task)
		if ok {
			fresh = append(fresh, node)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("successors of the task at %v: %w", d.task, err)
	}
	return fresh, nil
}

// waiting yields the task with the node at a if it waits for other tasks and was not yielded yet. before is one
// of these tasks, if known.
func (w *walk) waiting(a, before callbacks.Address) (bool, error) {
	d, err := w.tasks.records.depnode(a)
	if err != nil || d.npredecessors < 1 {
		return false, err
	}
	if d.task.IsNull() {
		if w.graph != nil && !before.IsNull() {
			w.graph.waits[a.Offset] = once(w.graph.waits[a.Offset], before.Offset)
		}
		return false, nil
	}
	if w.graph != nil && !before.IsNull() {
		w.graph.before[d.task.Offset] = once(w.graph.before[d.task.Offset], before.Offset)
	}
	if w.blocked[a.Offset] {
		return false, nil
	}
	w.blocked[a.Offset] = true
	t, err := w.tasks.records.task(d.task)
	if err != nil {
		return false, fmt.Errorf("task that waits for others: %w", err)
	}
	if !w.belongs(t) || t.bit(w.tasks.l.Taskdata.FlagStarted) {
		return true, nil
	}
	if !w.yield(handles.Task{Stamp: w.tasks.stamp, Data: t.addr}, nil) {
		w.stopped = true
		return false, errStop
	}
	return true, nil
}

// once appends task to the tasks for which another one waits, unless it is the last one. Up to LLVM 16, the
// runtime links two tasks once for each variable of the dependence, in adjacent links.
func once(tasks []uint64, task uint64) []uint64 {
	if n := len(tasks); n > 0 && tasks[n-1] == task {
		return tasks
	}
	return append(tasks, task)
}

// hashed yields the tasks that wait for a task that is neither executing nor queued, such as a detached task.
// They are in the table in which their generating task looks up dependences.
func (w *walk) hashed() error {
	var errs []error
	for n := range w.region.numThreads() {
		errs = append(errs, w.table(w.tasks.threads.implicitTask(w.region.team, n)))
	}
	for _, a := range slices.Sorted(maps.Keys(w.begun)) {
		errs = append(errs, w.table(callbacks.Addr(a)))
	}
	return errors.Join(errs...)
}

// table yields the waiting tasks in the kmp_dephash_t of the task at a.
func (w *walk) table(a callbacks.Address) error {
	t, err := w.tasks.records.task(a)
	if err != nil {
		return err
	}
	hash := t.address(w.tasks.l.Taskdata.Dephash)
	if hash.IsNull() || w.region.team.addr != t.team {
		return nil
	}
	f := &w.tasks.l.Dephash
	r := layout.Read(w.tasks.mem, hash, f.Buckets, f.Length)
	buckets, n := r.Address(f.Buckets), r.Uint(f.Length)
	if err := r.Err(); err != nil {
		return fmt.Errorf("dependences of the task at %v: %w", a, err)
	}
	if n > maxGraph {
		return errGraph
	}
	for i := range n {
		p, err := layout.ReadUint(w.tasks.mem, buckets.Add(8*i), 8)
		if err == nil {
			err = w.bucket(callbacks.Addr(p))
		}
		if err != nil {
			return fmt.Errorf("dependences of the task at %v: %w", a, err)
		}
	}
	return nil
}

// bucket follows one list of kmp_dephash_entry_t.
func (w *walk) bucket(a callbacks.Address) error {
	f := &w.tasks.l.DephashEntry
	return w.list(a, func(a callbacks.Address) (next callbacks.Address, err error) {
		r := layout.Read(w.tasks.mem, a, f.LastOut, f.LastSet, f.NextInBucket)
		out, set := r.Address(f.LastOut), r.Address(f.LastSet)
		next = r.Address(f.NextInBucket)
		if err := r.Err(); err != nil {
			return next, err
		}
		if err := w.node(out); err != nil {
			return next, err
		}
		return next, w.nodes(set, w.node)
	})
}

// nodes calls visit for each node of a kmp_depnode_list_t.
func (w *walk) nodes(a callbacks.Address, visit func(node callbacks.Address) error) error {
	f := &w.tasks.l.DepnodeList
	return w.list(a, func(a callbacks.Address) (next callbacks.Address, err error) {
		r := layout.Read(w.tasks.mem, a, f.Node, f.Next)
		node, next := r.Address(f.Node), r.Address(f.Next)
		if err := r.Err(); err != nil {
			return next, err
		}
		return next, visit(node)
	})
}

// list calls visit for each element of a list; visit returns the next element.
func (w *walk) list(a callbacks.Address, visit func(a callbacks.Address) (next callbacks.Address, err error)) error {
	var loop rtl.Loop
	for !a.IsNull() {
		if w.steps++; w.steps > maxGraph {
			return errGraph
		}
		if err := loop.Visit(a); err != nil {
			return err
		}
		next, err := visit(a)
		if err != nil {
			return err
		}
		a = next
	}
	return nil
}

// node yields the task with the node at a if it waits, and the tasks that wait for it.
func (w *walk) node(a callbacks.Address) error {
	if a.IsNull() || w.blocked[a.Offset] {
		return nil
	}
	if _, err := w.waiting(a, callbacks.Address{}); err != nil {
		return err
	}
	return w.successors(a)
}

// WaitsFor returns the unfinished tasks on which a task depends.
func (tk *tasks) WaitsFor(h handles.Task) ([]handles.Task, error) {
	fd, err := tk.lookup(h)
	if err != nil {
		return nil, err
	}
	if tk.records.countPredecessors(fd.task) == 0 {
		return nil, nil
	}
	g := tk.graph(fd.regions[0])
	var ts []handles.Task
	for _, a := range g.before[fd.addr.Offset] {
		ts = append(ts, handles.Task{Stamp: tk.stamp, Data: callbacks.Addr(a)})
	}
	return ts, g.err
}

// graph reads the dependences between tasks of the region's team, once.
func (tk *tasks) graph(g region) *graph {
	if found, ok := tk.graphs.Get(g.team.addr.Offset); ok {
		return found
	}
	gr := &graph{before: map[uint64][]uint64{}, waits: map[uint64][]uint64{}}
	w := tk.newWalk(g, func(_ handles.Task, err error) bool {
		gr.err = errors.Join(gr.err, err)
		return true
	})
	w.graph = gr
	w.run()
	tk.graphs.Put(g.team.addr.Offset, gr)
	return gr
}
