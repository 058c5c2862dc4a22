package libgomp

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// The runtime keeps no list of the tasks that a thread has suspended, and no
// thread in a task. A thread's own task tells its parents; what waits is marked in
// the task (taskwait) or in its taskgroup.

// executor is the thread that executes a task or has it suspended; nil if none
// does, or if that cannot be told.
func (rt *runtime) executor(fd found) *thread {
	switch {
	case fd.task == nil || !fd.explicit():
		if n := max(fd.num, 0); n < len(fd.region.members) {
			return fd.region.members[n]
		}
		return nil
	case fd.kind == kindWaiting || fd.kind == kindAsync || fd.kind == kindDetached:
		return nil
	}
	w := rt.world()
	if th := w.running[fd.addr.Offset]; th != nil {
		return th
	}
	return rt.holders()[fd.addr.Offset]
}

// readHolders has, by the address of an explicit task that no thread executes now,
// the thread that has it suspended: one that executes a task below it, or that is
// in a region which it forked. A task that several threads execute tasks of could
// be any one's, and is left out.
func (rt *runtime) readHolders() map[uint64]*thread {
	w := rt.world()
	out := map[uint64]*thread{}
	several := map[uint64]bool{}
	hold := func(th *thread, a callbacks.Address, certain bool) {
		var loop rtl.Loop
		for range maxTaskDepth {
			t, err := rt.task(a)
			if err != nil || !t.explicit() || loop.At(a) != nil {
				return
			}
			if certain {
				out[a.Offset], several[a.Offset] = th, false
			} else if other := out[a.Offset]; other != nil && other != th {
				several[a.Offset] = true
			} else if other == nil && w.running[a.Offset] == nil && t.kind == kindTied {
				out[a.Offset] = th
			}
			certain = t.kind == kindUndeferred // its parent is on the same stack
			a = t.parent
		}
	}
	for _, th := range w.threads {
		if th.idle != "" || th.err != nil {
			continue
		}
		hold(th, th.task, true)
		for i := range th.frames {
			if th.frames[i].id != 0 {
				break
			}
			if first, err := rt.task(rt.implicit(th.frames[i].team, 0)); err == nil {
				hold(th, first.parent, true)
			}
		}
	}
	for a, yes := range several {
		if yes {
			delete(out, a)
		}
	}
	return out
}

// suspended tells whether a task that has begun waits at a scheduling point.
func (rt *runtime) suspended(t *task) bool {
	if wait, _ := rt.taskwait(t); wait {
		return true
	}
	_, wait := rt.taskgroupWait(t)
	return wait
}

// taskwait tells whether a task waits for its children, or for tasks that a task
// which it is about to execute depends on. The structure lies on the stack of its
// thread.
func (rt *runtime) taskwait(t *task) (waits, depend bool) {
	a := t.rec.Address(rt.l.Task.Taskwait)
	if a.IsNull() || t.rec.Err() != nil {
		return false, false
	}
	f := &rt.l.Taskwait
	r := layout.Read(rt.mem, a, f.InTaskwait, f.InDependWait)
	waits, depend = r.Bool(f.InTaskwait), r.Bool(f.InDependWait)
	return (waits || depend) && r.Err() == nil, depend
}

// taskgroupWait tells whether a task waits at the end of its taskgroup, and which
// that is. The tasks that were made in a taskgroup have it too; the one that waits
// for them is the one whose parent has another.
func (rt *runtime) taskgroupWait(t *task) (callbacks.Address, bool) {
	group := t.rec.Address(rt.l.Task.Taskgroup)
	if group.IsNull() || t.rec.Err() != nil {
		return group, false
	}
	w := rt.l.Taskgroup.InWait
	r := layout.Read(rt.mem, group, w)
	if !r.Bool(w) || r.Err() != nil {
		return group, false
	}
	if t.parent.IsNull() {
		return group, !t.explicit()
	}
	p, err := rt.task(t.parent)
	return group, err == nil && p.rec.Address(rt.l.Task.Taskgroup) != group
}

// stateOf says where a task is in its life.
func (rt *runtime) stateOf(fd found) rtl.TaskState {
	if fd.task == nil {
		if th := fd.region.primary(); th != nil && len(th.frames) > 0 {
			return rtl.TaskWaiting // the thread is in a region that the task forked
		}
		return rtl.TaskRunning
	}
	switch fd.kind {
	case kindWaiting:
		if fd.rec.Uint(rt.l.Task.NumDependees) > 0 {
			return rtl.TaskBlocked
		}
		return rtl.TaskQueued
	case kindDetached:
		return rtl.TaskWaiting
	case kindAsync:
		return rtl.TaskRunning
	}
	if rt.world().running[fd.addr.Offset] == nil || rt.suspended(fd.task) {
		return rtl.TaskWaiting
	}
	return rtl.TaskRunning
}
