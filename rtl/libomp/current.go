package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

const (
	// maxTaskDepth bounds the walk from a task to the tasks around it. Each
	// that is not finished has frames on a stack, or waits for its children.
	maxTaskDepth = 1 << 16
	// maxHolders bounds all these walks together.
	maxHolders = 1 << 20
)

// holder is the thread that runs a task, or has it suspended below the task that
// it runs.
type holder struct {
	th      *thread // nil if several threads may have it suspended
	current bool    // th runs it now
}

// readHolders walks from the current task of each thread to the explicit tasks
// around it. A thread that suspends a tied task runs only descendants of it, so
// the tasks that a thread has suspended are among the parents of its current one.
func (rt *runtime) readHolders() map[uint64]holder {
	m := map[uint64]holder{}
	for _, th := range rt.members() {
		m[th.task.Offset] = holder{th, true}
	}
	for _, th := range rt.members() {
		for t := range rt.taskChain(th) {
			if t.addr == th.task || !rt.suspended(t) {
				continue
			}
			h, ok := m[t.addr.Offset]
			switch {
			case !ok && len(m) < maxHolders:
				m[t.addr.Offset] = holder{th, false}
			case ok && !h.current && h.th != th:
				m[t.addr.Offset] = rt.settle(t)
			}
		}
	}
	return m
}

// settle tells which of several threads has t suspended: one in a taskwait has
// left its number in it.
func (rt *runtime) settle(t *task) holder {
	if gtid := rt.taskwaiter(t); gtid >= 0 && gtid < len(rt.slots) {
		if th, err := rt.thread(rt.slots[gtid]); err == nil {
			return holder{th, false}
		}
	}
	return holder{}
}

// members returns the threads that are in a region.
func (rt *runtime) members() []*thread {
	var ths []*thread
	for _, a := range rt.slots {
		if a.IsNull() {
			continue
		}
		th, err := rt.thread(a)
		if err != nil {
			continue
		}
		if gs, err := rt.regions(th); err == nil && len(gs) > 0 {
			ths = append(ths, th)
		}
	}
	return ths
}

// taskChain yields the current task of th and the tasks around it, outwards, while
// they are explicit and bind to the same team; an unreadable task ends it.
func (rt *runtime) taskChain(th *thread) func(func(*task) bool) {
	return func(yield func(*task) bool) {
		a := th.task
		var loop rtl.Loop
		for range maxTaskDepth {
			t, err := rt.task(a)
			if err != nil || loop.At(a) != nil || !t.explicit || !yield(t) {
				return
			}
			a = t.parent
		}
	}
}

// suspended tells whether an explicit task has begun and some thread has put it
// aside.
func (rt *runtime) suspended(t *task) bool {
	f := &rt.l.Taskdata
	return t.rec.Bool(f.FlagStarted) && !t.rec.Bool(f.FlagComplete) && !t.rec.Bool(f.FlagExecuting)
}

// taskwaiter is the gtid of the thread that waits in a taskwait of t, -1 if none
// does. Behind a taskwait the field keeps the negative number.
func (rt *runtime) taskwaiter(t *task) int {
	return int(max(0, t.rec.Int(rt.l.Taskdata.TaskwaitThread))) - 1
}

// taskState says where a task is in its life, and which thread has it.
func (rt *runtime) taskState(fd found) (rtl.TaskState, *thread, error) {
	if !fd.explicit {
		th, err := rt.member(fd.regions[0].team, fd.num)
		if err != nil {
			return rtl.TaskWaiting, nil, err
		}
		if th.task != fd.addr || !fd.regions[0].innermost() || rt.taskwaiter(fd.task) >= 0 {
			return rtl.TaskWaiting, th, nil
		}
		return rtl.TaskRunning, th, nil
	}
	f := &rt.l.Taskdata
	h := rt.holders()[fd.addr.Offset]
	switch {
	case fd.rec.Bool(f.FlagComplete):
		return rtl.TaskCompleted, nil, nil
	case h.current && rt.taskwaiter(fd.task) < 0:
		return rtl.TaskRunning, h.th, nil
	case fd.rec.Bool(f.FlagStarted):
		return rt.startedState(fd.task, h), h.th, nil
	case rt.predecessors(fd.task) > 0:
		return rtl.TaskBlocked, nil, nil
	}
	return rtl.TaskQueued, nil, nil
}

// startedState is the state of a task that has begun and that no thread runs now:
// a task that is detached or a proxy goes on without a thread, an untied one may
// be queued again.
func (rt *runtime) startedState(t *task, h holder) rtl.TaskState {
	f := &rt.l.Taskdata
	switch {
	case h.th == nil && (rt.flag(t, f.FlagProxy) || rt.flag(t, f.FlagDetachable)):
		return rtl.TaskRunning
	case h.th == nil && !rt.flag(t, f.FlagTiedness):
		return rtl.TaskQueued
	}
	return rtl.TaskWaiting
}

// SchedulingTask is ompd_get_scheduling_task_handle: the task that its thread put
// aside for this one.
func (rt *runtime) SchedulingTask(h handles.Task) (handles.Task, error) {
	fd, err := rt.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	if a, ok := rt.trackedScheduler(fd); ok {
		return rt.taskHandle(a)
	}
	th := rt.holders()[fd.addr.Offset].th
	if !fd.explicit || th == nil {
		return handles.Task{}, fmt.Errorf("%v was not scheduled in place of another task: %w", h, callbacks.Unavailable)
	}
	seen := false
	for t := range rt.taskChain(th) {
		if seen && rt.suspended(t) && rt.holders()[t.addr.Offset].th == th {
			return rt.handleOf(t)
		}
		seen = seen || t.addr == fd.addr
	}
	tm, err := rt.team(th.team)
	if err != nil {
		return handles.Task{}, err
	}
	return rt.implicitHandle(region{team: tm, level: tm.level}, th.tid), nil
}

// trackedScheduler is what the runtime itself keeps, if it keeps states.
func (rt *runtime) trackedScheduler(fd found) (callbacks.Address, bool) {
	if !rt.id.Tracking || !fd.explicit {
		return callbacks.Address{}, false
	}
	a := fd.rec.Address(rt.l.Taskdata.OmptSchedulingParent)
	return a, !a.IsNull()
}

// predecessors is the number of unfinished tasks that t waits for before it may
// begin.
func (rt *runtime) predecessors(t *task) int {
	f := rt.l.Depnode.Npredecessors
	if !t.explicit || t.depnode.IsNull() || t.rec.Bool(rt.l.Taskdata.FlagStarted) {
		return 0
	}
	r := layout.Read(rt.mem, t.depnode, f)
	return int(max(0, r.Int(f)))
}
