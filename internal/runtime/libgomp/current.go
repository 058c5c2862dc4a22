package libgomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The runtime has no list of the tasks that a thread has suspended, and a task does not point to its thread. The
// parent pointers of a thread's current task lead to suspended tasks. A task that waits in taskwait is marked in
// its own structure; a task that waits at the end of a taskgroup is marked in the taskgroup.

// executorOf returns the thread that executes a task or has suspended it, or nil if that is unknown.
func (ts *tasks) executorOf(fd found) *thread {
	switch {
	case fd.task == nil || !fd.explicit():
		if n := max(fd.num, 0); n < len(fd.region.members) {
			return fd.region.members[n]
		}
		return nil
	case fd.kind == kindWaiting || fd.kind == kindAsync || fd.kind == kindDetached:
		return nil
	}
	if _, waits := ts.records.eventWait(fd.task); waits { // its code has ended
		return nil
	}
	w := ts.threads.world()
	if th := w.running[fd.addr.Offset]; th != nil {
		return th
	}
	return ts.holders()[fd.addr.Offset]
}

// readHolders maps the address of each explicit task that is not executing to the thread that has suspended it.
// That thread executes a descendant of the task, or is in a region that the task forked. If several threads
// execute descendants, the holder is ambiguous and left out.
func (ts *tasks) readHolders() map[uint64]*thread {
	s := search{reader: ts, w: ts.threads.world(), tasks: map[uint64]*holders{}}
	for _, th := range s.w.threads {
		for _, a := range th.tasks {
			s.climbFrom(th, a)
		}
	}
	out := map[uint64]*thread{}
	for a, h := range s.tasks {
		if h.th != nil {
			out[a] = h.th
		}
	}
	return out
}

// search finds the threads that have tasks suspended.
type search struct {
	reader *tasks
	w      *world
	tasks  map[uint64]*holders
}

// holders is the result of the search for one task.
type holders struct {
	th      *thread // nil if unknown
	certain bool    // th is proven
	first   *thread // the first thread that passed on its climb
	several bool    // other threads passed too
}

// climbFrom visits the ancestors of a task that th executes, or from which it forked a region. It stops at a
// task that two other threads have already passed, because the result there cannot change.
func (s *search) climbFrom(th *thread, a callbacks.Address) {
	certain := true
	var loop rtl.Loop
	for len(s.tasks) < maxMarked {
		h := s.tasks[a.Offset]
		if h != nil && !certain && (h.several || h.first == th) {
			return
		}
		t, err := s.reader.records.readTask(a)
		if err != nil || !t.explicit() || loop.Visit(a) != nil {
			return
		}
		if h == nil {
			h = &holders{first: th}
			s.tasks[a.Offset] = h
		}
		if h.first != th {
			h.several = true
		}
		switch {
		case certain:
			h.th, h.certain = th, true
		case h.certain:
		case h.several:
			h.th = nil
		case s.w.running[a.Offset] == nil && t.kind == kindTied:
			h.th = th
		}
		certain = certain && t.kind == kindUndeferred // an undeferred task and its parent use the same stack
		a = t.parent
	}
}

// suspended reports whether a task that has started waits at a scheduling point.
func (rs *records) suspended(t *task) bool {
	if wait, _ := rs.waitsForTasks(t); wait {
		return true
	}
	_, wait := rs.taskgroupWait(t)
	return wait
}

// waitsForTasks reports whether a task waits for its children (waits), or for the dependences of a task that it
// must execute at once (depend). The structure with these marks is on the thread's stack.
func (rs *records) waitsForTasks(t *task) (waits, depend bool) {
	a := t.rec.Address(rs.l.Task.Taskwait)
	if a.IsNull() || t.rec.Err() != nil {
		return false, false
	}
	f := &rs.l.Taskwait
	r := layout.Read(rs.mem, a, f.InTaskwait, f.InDependWait)
	waits, depend = r.Bool(f.InTaskwait), r.Bool(f.InDependWait)
	return (waits || depend) && r.Err() == nil, depend
}

// semWaiting is the value of a semaphore (gomp_sem_t) that is not posted and on which a thread sleeps (SEM_WAIT).
const semWaiting = 1 << 31

// eventWait reports whether a thread sleeps until the event of an undeferred detached task is fulfilled, and returns
// the semaphore on its stack. GOMP_task executes a task at once if too many are queued, or if its condition is false,
// and waits for the event itself.
func (rs *records) eventWait(t *task) (callbacks.Address, bool) {
	f := rs.l.Task.DetachTeam // completion_sem is in the same union
	if t.kind != kindUndeferred || !f.IsKnown() {
		return callbacks.Address{}, false
	}
	a := t.rec.Address(f)
	if a.IsNull() {
		return a, false
	}
	v, err := layout.ReadUint(rs.mem, a, 4)
	return a, err == nil && v == semWaiting
}

// taskgroupWait reports whether a task waits at the end of its taskgroup, and returns the taskgroup. Tasks
// created in a taskgroup point to it too. The waiting task is the only one with a different taskgroup in its
// parent.
func (rs *records) taskgroupWait(t *task) (callbacks.Address, bool) {
	group := t.rec.Address(rs.l.Task.Taskgroup)
	if group.IsNull() || t.rec.Err() != nil {
		return group, false
	}
	w := rs.l.Taskgroup.InWait
	r := layout.Read(rs.mem, group, w)
	if !r.Bool(w) || r.Err() != nil {
		return group, false
	}
	if t.parent.IsNull() {
		return group, !t.explicit()
	}
	p, err := rs.readTask(t.parent)
	return group, err == nil && p.rec.Address(rs.l.Task.Taskgroup) != group
}

// stateOf returns the state of a task.
func (ts *tasks) stateOf(fd found) picture.TaskState {
	if fd.task == nil {
		if th := fd.region.primaryThread(); th != nil && len(th.frames) > 0 {
			return picture.TaskWaiting // the thread is in a region that the task forked
		}
		return picture.TaskRunning
	}
	switch fd.kind {
	case kindWaiting:
		if fd.rec.Uint(ts.l.Task.NumDependees) > 0 {
			return picture.TaskBlocked
		}
		return picture.TaskQueued
	case kindDetached:
		return picture.TaskWaiting
	case kindAsync:
		return picture.TaskRunning
	}
	_, awaits := ts.records.eventWait(fd.task)
	if awaits || ts.threads.world().running[fd.addr.Offset] == nil || ts.records.suspended(fd.task) {
		return picture.TaskWaiting
	}
	return picture.TaskRunning
}
