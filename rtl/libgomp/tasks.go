package libgomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Kinds of tasks (enum gomp_task_kind).
const (
	kindImplicit   = 0
	kindUndeferred = 1 // executed at once, by the thread that met it
	kindWaiting    = 2 // queued, or blocked
	kindTied       = 3 // executing, or suspended
	kindAsync      = 4 // a target task that a device executes
	kindDetached   = 5 // executed, but its event is not fulfilled
	kinds          = 6
)

// maxTaskDepth bounds walks over parents. Programs that nest tasks deeper run out
// of stack.
const maxTaskDepth = 1 << 16

// task is a copy of a gomp_task.
type task struct {
	addr   callbacks.Address
	rec    *layout.Record
	parent callbacks.Address
	kind   int
}

func (t *task) explicit() bool { return t.kind != kindImplicit }

// task reads the gomp_task at a. One whose numbers make no sense is an error.
func (rt *runtime) task(a callbacks.Address) (*task, error) {
	f := &rt.l.Task
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.ReadSize(rt.mem, a, f.Size.Size)
	t := &task{addr: a, rec: r, parent: r.Address(f.Parent), kind: int(r.Uint(f.Kind))}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("task at %v: %w", a, err)
	}
	if t.kind >= kinds || t.parent == a {
		return nil, fmt.Errorf("task at %v: kind is %d, parent %v: %w", a, t.kind, t.parent, callbacks.StaleHandle)
	}
	return t, nil
}

// found is a task and the region that it is in.
type found struct {
	*task  // nil for an initial task without a gomp_task
	region *region
	num    int // thread number of an implicit task, -1 of another
}

// findInitialTask finds the gomp_task of a root's initial task: the last of the
// parents of what the root executes at level 0. A root that has set no control
// variable has none.
func (rt *runtime) findInitialTask(w *world, zero *region, th *thread) {
	a := th.task
	if n := len(th.frames); n > 0 {
		first, err := rt.task(rt.implicit(th.frames[n-1].team, 0))
		if err != nil {
			return
		}
		a = first.parent
	}
	var loop rtl.Loop
	for range maxTaskDepth {
		t, err := rt.task(a)
		if err != nil || loop.At(a) != nil {
			return
		}
		if !t.explicit() {
			zero.task = a
			w.initial[a.Offset] = zero
			return
		}
		a = t.parent
	}
}

// lookup finds the task that h names, and its region.
func (rt *runtime) lookup(h handles.Task) (found, error) {
	if h.Stamp != rt.stamp || h.Level != 0 {
		return found{}, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	w := rt.world()
	if zero := w.regions[regionKey{h.Data.Offset, 0}]; zero != nil {
		fd := found{region: zero}
		var err error
		if !zero.task.IsNull() {
			fd.task, err = rt.task(zero.task)
		}
		return fd, err
	}
	fd, err := rt.locate(h.Data)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	return fd, nil
}

// locate finds the region of the gomp_task at a: by its place for an implicit
// task, by its parents for an explicit one. Where a parent is finished, the thread
// that executes the task tells, or the queue that it is in.
func (rt *runtime) locate(a callbacks.Address) (found, error) {
	w := rt.world()
	t, err := rt.task(a)
	if err != nil {
		return found{}, errors.Join(err, callbacks.StaleHandle)
	}
	at := t
	var loop rtl.Loop
	for range maxTaskDepth {
		if err := loop.At(at.addr); err != nil {
			return found{}, fmt.Errorf("tasks around the one at %v: %w", a, errors.Join(err, callbacks.StaleHandle))
		}
		if zero := w.initial[at.addr.Offset]; zero != nil {
			return found{t, zero, numberOf(t, 0)}, nil
		}
		if r := w.holding(at.addr); r != nil && !at.explicit() {
			if n, ok := rt.implicitNumber(r.team, at.addr); ok {
				return found{t, r, numberOf(t, n)}, nil
			}
		}
		if !at.explicit() {
			return found{}, fmt.Errorf("implicit task at %v is of no region that is alive: %w", at.addr, callbacks.StaleHandle)
		}
		if r := w.executing(at.addr); r != nil {
			return found{t, r, -1}, nil
		}
		if at.parent.IsNull() {
			break
		}
		if at, err = rt.task(at.parent); err != nil {
			return found{}, errors.Join(err, callbacks.StaleHandle)
		}
	}
	for _, r := range w.order {
		if rt.orphansOf(r)[at.addr.Offset] {
			return found{t, r, -1}, nil
		}
	}
	return found{}, fmt.Errorf("task at %v is of no region that is alive: %w", a, callbacks.StaleHandle)
}

// numberOf is the thread number n for an implicit task.
func numberOf(t *task, n int) int {
	if t.explicit() {
		return -1
	}
	return n
}

// executing is the region in which a thread executes the task at a now; nil if
// none does.
func (w *world) executing(a callbacks.Address) *region {
	if th := w.running[a.Offset]; th != nil {
		return w.at(th, 0)
	}
	return nil
}

// handleOf names a task.
func (rt *runtime) handleOf(a callbacks.Address) handles.Task {
	if zero := rt.world().initial[a.Offset]; zero != nil {
		return rt.implicitHandle(zero, 0)
	}
	return handles.Task{Stamp: rt.stamp, Data: a}
}

// CurrentTask is ompd_get_curr_task_handle.
func (rt *runtime) CurrentTask(h handles.Thread) (handles.Task, error) {
	r, th, err := rt.regionOf(h)
	if err != nil {
		return handles.Task{}, err
	}
	if th.task.IsNull() {
		if r.team != nil {
			return handles.Task{}, fmt.Errorf("LWP %d has no task: %w", th.lwp, callbacks.Unavailable)
		}
		return rt.implicitHandle(r, 0), nil
	}
	return rt.handleOf(th.task), nil
}

// GeneratingTask is ompd_get_generating_task_handle. A task whose parent is
// finished has none any more.
func (rt *runtime) GeneratingTask(h handles.Task) (handles.Task, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	switch {
	case fd.region.team == nil && (fd.task == nil || !fd.explicit()):
		return handles.Task{}, fmt.Errorf("%v is the initial task: %w", h, callbacks.Unavailable)
	case !fd.parent.IsNull():
		return rt.handleOf(fd.parent), nil
	case fd.explicit() && fd.region.team != nil:
		return handles.Task{}, fmt.Errorf("the task that generated %v is finished: %w", h, callbacks.Unavailable)
	}
	zero := fd.region // the initial task, which has no gomp_task
	if zero.team != nil {
		zero = zero.around
	}
	if zero == nil || zero.team != nil {
		return handles.Task{}, fmt.Errorf("%v has no parent: %w", h, callbacks.StaleHandle)
	}
	return rt.implicitHandle(zero, 0), nil
}

// SchedulingTask is ompd_get_scheduling_task_handle: the task that the thread was
// executing when it began with this one. The runtime does not keep it. For a task
// that runs at once it is the parent; for another, the innermost task among its
// parents that the same thread has suspended, or else the thread's implicit task.
func (rt *runtime) SchedulingTask(h handles.Task) (handles.Task, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	if fd.task == nil || !fd.explicit() || fd.kind == kindUndeferred {
		return rt.GeneratingTask(h)
	}
	th := rt.executor(fd)
	if th == nil {
		return handles.Task{}, fmt.Errorf("%v is not being executed: %w", h, callbacks.Unavailable)
	}
	own := rt.ownImplicit(th)
	var loop rtl.Loop
	for a := fd.parent; !a.IsNull(); {
		p, err := rt.task(a)
		if err != nil || !p.explicit() || loop.At(a) != nil {
			break
		}
		if rt.executor(found{p, fd.region, -1}) == th {
			return rt.handleOf(a), nil
		}
		a = p.parent
	}
	if own.IsNull() {
		return rt.implicitHandle(fd.region, 0), nil
	}
	return rt.handleOf(own), nil
}

// ownImplicit is the implicit task of a thread in its innermost region; null at
// level 0.
func (rt *runtime) ownImplicit(th *thread) callbacks.Address {
	if len(th.frames) == 0 {
		return callbacks.Address{}
	}
	return rt.implicit(th.frames[0].team, th.frames[0].id)
}

// TaskParallel is ompd_get_task_parallel_handle.
func (rt *runtime) TaskParallel(h handles.Task) (handles.Parallel, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return rt.parallelHandle(fd.region), nil
}

// Task reads one task.
func (rt *runtime) Task(h handles.Task) (rtl.TaskInfo, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return rtl.TaskInfo{}, err
	}
	info := rtl.TaskInfo{Kind: rt.kindOf(fd), IncompleteChildren: -1, ThreadNum: fd.num, State: rt.stateOf(fd)}
	if th := rt.executor(fd); th != nil {
		info.Thread = rt.threadHandle(th)
	}
	if fd.task == nil {
		return info, nil
	}
	f := &rt.l.Task
	if !fd.explicit() {
		if fork, ok := rt.forkOf(fd.region); ok {
			info.Function = callbacks.At(fork.function)
		}
		return info, fd.rec.Err()
	}
	info.Flags = rt.flags(fd.task)
	info.Priority = int(fd.rec.Int(f.Priority))
	if fd.kind >= kindWaiting { // others are on a stack, and have neither
		info.Function = fd.rec.Address(f.Fn)
	}
	if fd.kind == kindWaiting {
		info.Predecessors = int(min(fd.rec.Uint(f.NumDependees), maxQueue))
	}
	return info, fd.rec.Err()
}

func (rt *runtime) kindOf(fd found) rtl.TaskKind {
	switch {
	case fd.region.team == nil && (fd.task == nil || !fd.explicit()):
		return rtl.TaskInitial
	case !fd.explicit():
		return rtl.TaskImplicit
	case fd.kind == kindAsync:
		return rtl.TaskTarget
	}
	return rtl.TaskExplicit
}

// flags are the properties of an explicit task that the runtime keeps.
func (rt *runtime) flags(t *task) []string {
	var flags []string
	if t.rec.Bool(rt.l.Task.FinalTask) {
		flags = append(flags, "final")
	}
	if t.kind == kindUndeferred {
		flags = append(flags, "undeferred")
	}
	if t.kind == kindDetached {
		flags = append(flags, "detachable")
	}
	if t.rec.Int(rt.l.Task.Priority) > 0 {
		flags = append(flags, "priority")
	}
	return flags
}
