package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Kinds of tasks (enum gomp_task_kind).
const (
	kindImplicit   = 0
	kindUndeferred = 1 // executed at once, by the thread that encountered it
	kindWaiting    = 2 // queued, or blocked
	kindTied       = 3 // executing, or suspended
	kindAsync      = 4 // a target task that a device executes
	kindDetached   = 5 // executed, but its event is not fulfilled
	kinds          = 6
)

// task is a copy of a gomp_task.
type task struct {
	addr   callbacks.Address
	rec    *layout.Record
	parent callbacks.Address
	kind   int
}

func (t *task) explicit() bool { return t.kind != kindImplicit }

// readTask reads the gomp_task at a. It returns an error for impossible values.
func (rs *records) readTask(a callbacks.Address) (*task, error) {
	f := &rs.l.Task
	if err := f.Size.Err(); err != nil {
		return nil, err
	}
	r := layout.ReadSize(rs.mem, a, f.Size.Size)
	t := &task{addr: a, rec: r, parent: r.Address(f.Parent), kind: int(r.Uint(f.Kind))}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("task at %v: %w", a, err)
	}
	if t.kind >= kinds || t.parent == a {
		return nil, fmt.Errorf("task at %v: kind is %d, parent %v: %w", a, t.kind, t.parent, callbacks.StaleHandle)
	}
	return t, nil
}

// found is a task with its region.
type found struct {
	*task  // nil for an initial task without a gomp_task
	region *region
	num    int // thread number of an implicit task; -1 for other tasks
}

// findInitialTask finds the gomp_task of a root's initial task: the last ancestor of the task that the root
// executes at level 0. A root that has not set a control variable may lack a gomp_task.
func (ths *threads) findInitialTask(w *world, zero *region, th *thread) {
	a := ths.records.taskIn(th, zero)
	var loop rtl.Loop
	for range maxTaskDepth {
		t, err := ths.records.readTask(a)
		if err != nil || loop.Visit(a) != nil {
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

// lookup finds the task of a handle, and its region.
func (ts *tasks) lookup(h handles.Task) (found, error) {
	if h.Stamp != ts.stamp || h.Level != 0 {
		return found{}, fmt.Errorf("%v is of another stop: %w", h, callbacks.StaleHandle)
	}
	w := ts.threads.world()
	if zero := w.regions[regionKey{h.Data.Offset, 0}]; zero != nil {
		fd := found{region: zero}
		var err error
		if !zero.task.IsNull() {
			fd.task, err = ts.records.readTask(zero.task)
		}
		return fd, err
	}
	fd, err := ts.locateTask(h.Data)
	if err != nil {
		return found{}, fmt.Errorf("%v: %w", h, err)
	}
	return fd, nil
}

// numberOf returns the thread number n for an implicit task, and -1 for other tasks.
func numberOf(t *task, n int) int {
	if t.explicit() {
		return -1
	}
	return n
}

// executingRegion returns the region in which a thread currently executes the task at a; nil without one.
func (w *world) executingRegion(a callbacks.Address) *region {
	if th := w.running[a.Offset]; th != nil {
		return w.regionAtFrame(th, 0)
	}
	return nil
}

// handleOf returns the handle of the task at a.
func (ts *tasks) handleOf(a callbacks.Address) handles.Task {
	if zero := ts.threads.world().initial[a.Offset]; zero != nil {
		return ts.threads.implicitHandle(zero, 0)
	}
	return handles.Task{Stamp: ts.stamp, Data: a}
}

// CurrentTask implements ompd_get_curr_task_handle.
func (ts *tasks) CurrentTask(h handles.Thread) (handles.Task, error) {
	r, th, err := ts.threads.regionOf(h)
	if err != nil {
		return handles.Task{}, err
	}
	if th.task.IsNull() {
		if r.team != nil {
			return handles.Task{}, fmt.Errorf("LWP %d has no task: %w", th.lwp, callbacks.Unavailable)
		}
		return ts.threads.implicitHandle(r, 0), nil
	}
	return ts.handleOf(th.task), nil
}

// GeneratingTask implements ompd_get_generating_task_handle. It returns an error for a task whose parent is
// finished.
func (ts *tasks) GeneratingTask(h handles.Task) (handles.Task, error) {
	fd, err := ts.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	return ts.generatorOf(fd)
}

// generatorOf returns the task that generated fd.
func (ts *tasks) generatorOf(fd found) (handles.Task, error) {
	switch {
	case fd.region.team == nil && (fd.task == nil || !fd.explicit()):
		return handles.Task{}, fmt.Errorf("it is the initial task: %w", callbacks.Unavailable)
	case !fd.parent.IsNull():
		return ts.handleOf(fd.parent), nil
	case fd.explicit() && fd.region.tasksIn() != nil:
		return handles.Task{}, fmt.Errorf("the task that generated it is finished: %w", callbacks.Unavailable)
	}
	zero := fd.region // the initial task without a gomp_task
	if zero.team != nil {
		zero = zero.around
	}
	if zero == nil || zero.team != nil {
		return handles.Task{}, fmt.Errorf("it has no parent: %w", callbacks.StaleHandle)
	}
	return ts.threads.implicitHandle(zero, 0), nil
}

// SchedulingTask implements ompd_get_scheduling_task_handle: the task that the thread executed before it started
// this one. The runtime does not store it. For a task that runs at once it is the parent. For another task it is
// the innermost ancestor that the same thread has suspended, or the thread's implicit task.
func (ts *tasks) SchedulingTask(h handles.Task) (handles.Task, error) {
	fd, err := ts.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	switch {
	case fd.task == nil || !fd.explicit(): // as on LLVM's runtime
		return handles.Task{}, fmt.Errorf("%v was not scheduled in place of another task: %w", h, callbacks.Unavailable)
	case fd.kind == kindUndeferred:
		return ts.GeneratingTask(h)
	}
	th := ts.executorOf(fd)
	if th == nil {
		return handles.Task{}, fmt.Errorf("%v is not being executed: %w", h, callbacks.Unavailable)
	}
	own := ts.records.ownImplicit(th)
	var loop rtl.Loop
	for a := fd.parent; !a.IsNull(); {
		p, err := ts.records.readTask(a)
		if err != nil || !p.explicit() || loop.Visit(a) != nil {
			break
		}
		if ts.executorOf(found{p, fd.region, -1}) == th {
			return ts.handleOf(a), nil
		}
		a = p.parent
	}
	if own.IsNull() {
		return ts.threads.implicitHandle(fd.region, 0), nil
	}
	return ts.handleOf(own), nil
}

// ownImplicit returns the implicit task of a thread in its innermost region; null at level 0.
func (rs *records) ownImplicit(th *thread) callbacks.Address {
	if len(th.frames) == 0 {
		return callbacks.Address{}
	}
	return rs.implicitAddress(th.frames[0].team, th.frames[0].id)
}

// TaskParallel implements ompd_get_task_parallel_handle.
func (ts *tasks) TaskParallel(h handles.Task) (handles.Parallel, error) {
	fd, err := ts.lookup(h)
	if err != nil {
		return handles.Parallel{}, err
	}
	return ts.parallelHandle(fd.region), nil
}

// Task reads one task.
func (ts *tasks) Task(h handles.Task) (handles.TaskInfo, error) {
	fd, err := ts.lookup(h)
	if err != nil {
		return handles.TaskInfo{}, err
	}
	info := handles.TaskInfo{Kind: ts.kindOf(fd), IncompleteChildren: -1, ThreadNum: fd.num, State: ts.stateOf(fd)}
	if th := ts.executorOf(fd); th != nil {
		info.Thread = ts.threadHandle(th)
	}
	info.Generating, _ = ts.generatorOf(fd)
	if fd.task == nil {
		return info, nil
	}
	f := &ts.l.Task
	if !fd.explicit() {
		if fork, ok := ts.forks.forkOf(fd.region); ok {
			info.Function = callbacks.Addr(fork.function)
		}
		info.Flags = ts.records.groupFlags(fd.task)
		return info, fd.rec.Err()
	}
	info.Flags = ts.records.taskFlags(fd.task)
	info.Priority = int(fd.rec.Int(f.Priority))
	if fd.kind >= kindWaiting { // other tasks are on a stack, and have neither
		info.Function = fd.rec.Address(f.Fn)
	}
	if fd.kind == kindWaiting {
		info.Predecessors = int(min(fd.rec.Uint(f.NumDependees), maxQueue))
	}
	return info, fd.rec.Err()
}

func (rt *base) kindOf(fd found) picture.TaskKind {
	switch {
	case fd.region.team == nil && (fd.task == nil || !fd.explicit()):
		return picture.TaskInitial
	case !fd.explicit():
		return picture.TaskImplicit
	case fd.kind == kindAsync, fd.kind >= kindWaiting && fd.rec.Address(rt.l.Task.Fn).IsNull():
		return picture.TaskTarget // fn is not the runtime's function for target tasks
	}
	return picture.TaskExplicit
}

// taskFlags returns the properties of an explicit task that the runtime stores.
func (rs *records) taskFlags(t *task) []string {
	var flags []string
	if t.rec.Bool(rs.l.Task.FinalTask) {
		flags = append(flags, "final")
	}
	if t.kind == kindUndeferred {
		flags = append(flags, "undeferred")
	}
	if _, awaits := rs.eventWait(t); awaits || t.kind == kindDetached {
		flags = append(flags, "detachable")
	}
	if t.rec.Int(rs.l.Task.Priority) > 0 {
		flags = append(flags, "priority")
	}
	if t.kind != kindWaiting {
		flags = append(flags, rs.groupFlags(t)...)
	}
	return flags
}

// maxTaskgroups bounds the nesting of taskgroups: programs have a few, and a damaged list may be circular.
const maxTaskgroups = 64

// groupFlags returns the flag of a task in a cancelled taskgroup.
func (rs *records) groupFlags(t *task) []string {
	f := &rs.l.Taskgroup
	group := t.rec.Address(rs.l.Task.Taskgroup)
	for range maxTaskgroups {
		if group.IsNull() || t.rec.Err() != nil {
			break
		}
		r := layout.Read(rs.mem, group, f.Cancelled, f.Prev)
		if r.Bool(f.Cancelled) && r.Err() == nil {
			return []string{picture.FlagCancelledGroup}
		}
		if group = r.Address(f.Prev); r.Err() != nil {
			break
		}
	}
	return nil
}
