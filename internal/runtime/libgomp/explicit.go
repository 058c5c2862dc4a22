package libgomp

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

const (
	// maxQueue bounds the number of tasks in one queue: 1 Gi of them take 200 GiB.
	maxQueue = 1 << 30
	// maxPriorities bounds the number of nodes in the tree of a queue with several priorities.
	maxPriorities = 1 << 16
	// maxDependers bounds the number of tasks that wait for one task.
	maxDependers = 1 << 24
	// dependersBlock is the number of dependers read at once: if their count is damaged, reading stops at the
	// first unreadable block.
	dependersBlock = 4096
	// maxMarked bounds the number of tasks that one walk marks, and the number of tasks in a dependence graph.
	maxMarked = 1 << 22
)

// queueKind is the index of the pnode that links a task into a queue (enum priority_queue_type).
type queueKind uint64

const (
	queueTeam     queueKind = 0
	queueChildren queueKind = 1
	nodeSize                = 16 // size of a priority_node: the pointers next and prev
)

// errStop ends a walk early when the consumer stops.
var errStop = errors.New("stop")

// ExplicitTasks yields the unfinished explicit tasks of the region's team: first the tasks that threads execute
// or have suspended, then the queued tasks, then the tasks in no queue. The tasks that wait for a task follow
// it.
//
// Queued tasks are not cached, so a million of them takes no memory.
func (ts *tasks) ExplicitTasks(h handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) {
		r, err := ts.threads.findRegion(h)
		if err != nil {
			yield(handles.Task{}, err)
			return
		}
		err = ts.walkTasks(r, nil, func(t *task) error {
			if !yield(handles.Task{Stamp: ts.stamp, Data: t.addr}, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(handles.Task{}, err)
		}
	}
}

// walk is one walk over the explicit tasks of a region.
type walk struct {
	tasks  *tasks
	region *region
	emit   func(*task) error
	marked map[uint64]bool // tasks met so far that are not in the team's queue
	edge   func(from, to callbacks.Address)
}

// walkTasks calls emit for each explicit task of the region, and edge, if not nil, for each dependence.
func (ts *tasks) walkTasks(r *region, edge func(from, to callbacks.Address), emit func(*task) error) error {
	w := &walk{tasks: ts, region: r, emit: emit, marked: map[uint64]bool{}, edge: edge}
	var errs []error
	for _, step := range []func() error{w.checkHeld, w.queued, w.children} {
		err := step()
		if errors.Is(err, errStop) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// mark emits a task that is not in the team's queue, at most once, and the tasks that wait for it.
func (w *walk) mark(t *task) error {
	fresh, err := w.once(t)
	if err != nil || !fresh {
		return err
	}
	return w.follow(t)
}

// once emits a task that is not in the team's queue, and reports whether it was new.
func (w *walk) once(t *task) (bool, error) {
	if w.marked[t.addr.Offset] {
		return false, nil
	}
	if len(w.marked) >= maxMarked {
		return false, fmt.Errorf("more than %d tasks begun or blocked: %w", maxMarked, callbacks.Incomplete)
	}
	w.marked[t.addr.Offset] = true
	return true, w.emit(t)
}

// startTasks returns the current tasks of the region's members: the tasks they execute in the region, or from
// which they forked an inner region.
func (w *walk) startTasks() []callbacks.Address {
	var out []callbacks.Address
	for n, th := range w.region.members {
		if th == nil {
			continue
		}
		out = append(out, w.tasks.records.taskIn(th, w.region))
		if t := w.region.tasksIn(); t != nil {
			out = append(out, w.tasks.records.implicitAddress(t, n))
		}
	}
	return out
}

// taskIn returns the task that a member of a region executes there, or from which it forked an inner region;
// null if unknown.
func (rs *records) taskIn(th *thread, r *region) callbacks.Address {
	i := len(th.frames) - r.level()
	if i < 0 || i >= len(th.tasks) {
		return callbacks.Address{}
	}
	return th.tasks[i]
}

// climbFrom visits the task at a and its ancestors, up to an implicit task or to a task that was visited before.
// The ancestors of the latter were visited too, so a cycle ends there.
func (w *walk) climbFrom(a callbacks.Address, visited map[uint64]bool, visit func(*task) error) error {
	for len(visited) < maxMarked && !visited[a.Offset] {
		t, err := w.tasks.records.readTask(a)
		if err != nil {
			return nil // it ended meanwhile, or its structure was on a stack that no longer exists
		}
		visited[a.Offset] = true
		if err := visit(t); err != nil || !t.explicit() {
			return err
		}
		a = t.parent
	}
	return nil
}

// checkHeld yields the tasks that threads execute or have suspended, as far as parent pointers reach them.
func (w *walk) checkHeld() error {
	visited := map[uint64]bool{}
	for _, a := range w.startTasks() {
		err := w.climbFrom(a, visited, func(t *task) error {
			if !t.explicit() {
				return nil
			}
			return w.mark(t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queued yields the tasks in the team's queue.
func (w *walk) queued() error {
	t := w.region.tasksIn()
	if t == nil {
		return nil
	}
	f := &w.tasks.l.Team
	r := layout.Read(w.tasks.mem, t.addr, f.QueueRoot, f.QueueTasks)
	lists, err := w.tasks.records.queueLists(r.Address(f.QueueRoot), r.Address(f.QueueTasks))
	if err = errors.Join(r.Err(), err); err != nil {
		return fmt.Errorf("queue of the team at %v: %w", t.addr, err)
	}
	for _, list := range lists {
		err := w.tasks.records.walkList(list, queueTeam, false, func(t *task) error {
			if err := w.emit(t); err != nil {
				return err
			}
			return w.follow(t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// children yields the child tasks that are neither in the team's queue nor executing: detached tasks, and tasks
// that a thread has suspended in a taskgroup. Waiting tasks come first in a queue of children, and are also in
// the team's queue.
func (w *walk) children() error {
	var open []callbacks.Address
	visited := map[uint64]bool{}
	for _, a := range slices.Backward(w.startTasks()) {
		begin := len(open)
		_ = w.climbFrom(a, visited, func(t *task) error {
			open = append(open, t.addr)
			return nil
		})
		slices.Reverse(open[begin:])
	}
	slices.Reverse(open)
	done := map[uint64]bool{}
	for len(open) > 0 && len(done) < maxMarked {
		a := open[len(open)-1]
		open = open[:len(open)-1]
		if done[a.Offset] {
			continue
		}
		done[a.Offset] = true
		err := w.begunChildren(a, func(t *task) error {
			open = append(open, t.addr)
			return w.mark(t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begunChildren calls f for the started children of the task at a: those that do not wait in a queue.
func (w *walk) begunChildren(a callbacks.Address, f func(*task) error) error {
	t, err := w.tasks.records.readTask(a)
	if err != nil {
		return nil // it ended meanwhile, or its structure was on a stack that no longer exists
	}
	l := &w.tasks.l.Task
	lists, err := w.tasks.records.queueLists(t.rec.Address(l.ChildrenRoot), t.rec.Address(l.ChildrenTasks))
	if err = errors.Join(t.rec.Err(), err); err != nil {
		return fmt.Errorf("children of the task at %v: %w", a, err)
	}
	for _, list := range lists {
		err := w.tasks.records.walkList(list, queueChildren, true, func(t *task) error {
			if t.kind == kindWaiting {
				return errEnd
			}
			return f(t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queueLists returns the lists of a queue: one list, or one for each priority if the queue is a tree.
func (rs *records) queueLists(root, tasks callbacks.Address) ([]callbacks.Address, error) {
	if root.IsNull() {
		if tasks.IsNull() {
			return nil, nil
		}
		return []callbacks.Address{tasks}, nil
	}
	var out []callbacks.Address
	f := &rs.l.Node
	open := []callbacks.Address{root}
	seen := map[callbacks.Address]bool{}
	for len(open) > 0 {
		a := open[len(open)-1]
		open = open[:len(open)-1]
		switch {
		case seen[a]:
			return out, fmt.Errorf("the tree of priorities comes back to %v: %w", a, callbacks.Incomplete)
		case len(seen) >= maxPriorities:
			return out, fmt.Errorf("more than %d priorities of tasks: %w", maxPriorities, callbacks.Incomplete)
		}
		seen[a] = true
		r := layout.Read(rs.mem, a, f.Tasks, f.Left, f.Right)
		list, left, right := r.Address(f.Tasks), r.Address(f.Left), r.Address(f.Right)
		if err := r.Err(); err != nil {
			return out, fmt.Errorf("priorities of tasks: %w", err)
		}
		if !list.IsNull() {
			out = append(out, list)
		}
		for _, next := range []callbacks.Address{right, left} {
			if !next.IsNull() {
				open = append(open, next)
			}
		}
	}
	return out, nil
}

// errEnd ends the walk over one list.
var errEnd = errors.New("end of list")

// walkList calls f for the tasks of a circular list of nodes, from the first or from the last node. It stops at
// a node to which the neighbour does not point back: so it ends even in damaged memory.
func (rs *records) walkList(first callbacks.Address, q queueKind, backwards bool, f func(*task) error) error {
	pnode := rs.l.Task.Pnode
	if err := pnode.Err(); err != nil {
		return err
	}
	offset := pnode.Offset + uint64(q)*nodeSize
	next := layout.Field{Offset: offset, Size: 8}
	prev := layout.Field{Offset: offset + 8, Size: 8}
	if backwards {
		next, prev = prev, next
	}
	start := first
	if backwards {
		v, err := layout.ReadUint(rs.mem, first.Add(8), 8)
		if err != nil {
			return err
		}
		start = callbacks.Addr(v)
	}
	node, before := start, callbacks.Address{}
	for range maxQueue {
		t, err := rs.readTask(node.Add(-offset))
		if err != nil {
			return fmt.Errorf("queue of tasks: %w", err)
		}
		if !before.IsNull() && t.rec.Address(prev) != before {
			return fmt.Errorf("queue of tasks: the node at %v does not point back to %v: %w", node, before,
				callbacks.Incomplete)
		}
		if err := f(t); errors.Is(err, errEnd) {
			return nil
		} else if err != nil {
			return err
		}
		before, node = node, t.rec.Address(next)
		if err := t.rec.Err(); err != nil || node == start {
			return err
		}
	}
	return fmt.Errorf("queue of more than %d tasks: %w", maxQueue, callbacks.Incomplete)
}
