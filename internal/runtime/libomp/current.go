package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxTaskDepth bounds the walk from a task to the tasks around it. Each has a frame of some hundred bytes on
	// a stack: a stack of 8 MiB has room for 17,000, one of 100 MiB for this many.
	maxTaskDepth = 1 << 18
	// maxHolders bounds the total of these walks.
	maxHolders = 1 << 20
)

// holder is the thread that executes a task, or has suspended it to execute a descendant.
type holder struct {
	th      *thread // nil if several threads may have suspended it
	current bool    // th is executing it
}

// readHolders walks from the current task of each thread to the explicit tasks around it. A thread that suspends
// a tied task executes only descendants of it, so the suspended tasks of a thread are ancestors of its current
// task.
func (tk *tasks) readHolders() map[uint64]holder {
	m := map[uint64]holder{}
	for _, th := range tk.regions.members() {
		m[th.task.Offset] = holder{th, true}
	}
	visits := map[uint64]int{}
	for _, th := range tk.regions.members() {
		for t := range tk.records.taskChain(th.task) {
			if visits[t.addr.Offset]++; visits[t.addr.Offset] > settled || len(visits) > maxHolders {
				break
			}
			if t.addr == th.task || !tk.records.suspended(t) {
				continue
			}
			h, ok := m[t.addr.Offset]
			switch {
			case !ok:
				m[t.addr.Offset] = holder{th, false}
			case !h.current && h.th != th:
				m[t.addr.Offset] = tk.settle(t)
			}
		}
	}
	return m
}

// settled is the number of threads after which the facts about a task and its ancestors are complete: the walks
// of later threads add no facts to the second one's.
const settled = 2

// settle determines which of several threads has suspended t: a thread in a taskwait has its number in the task.
func (tk *tasks) settle(t *task) holder {
	if gtid := tk.records.waitingThread(t); gtid >= 0 && gtid < len(tk.threads.slots) {
		if th, err := tk.threads.readThread(tk.threads.slots[gtid]); err == nil {
			return holder{th, false}
		}
	}
	return holder{}
}

// members returns the threads that are in a region.
func (rg *regions) members() []*thread {
	var ths []*thread
	for _, a := range rg.threads.slots {
		if a.IsNull() {
			continue
		}
		th, err := rg.threads.readThread(a)
		if err != nil {
			continue
		}
		if gs, err := rg.regionsOf(th); err == nil && len(gs) > 0 {
			ths = append(ths, th)
		}
	}
	return ths
}

// taskChain yields the task at a and the tasks around it, outwards, while they are explicit. It stops at an
// unreadable task.
func (rs *records) taskChain(a callbacks.Address) func(func(*task) bool) {
	return func(yield func(*task) bool) {
		var loop rtl.Loop
		for range maxTaskDepth {
			t, err := rs.task(a)
			if err != nil || loop.Visit(a) != nil || !t.explicit || !yield(t) {
				return
			}
			a = t.parent
		}
	}
}

// suspended reports whether an explicit task has started and was suspended by a thread.
func (rs *records) suspended(t *task) bool {
	f := &rs.l.Taskdata
	r := t.rec()
	return r.Bool(f.FlagStarted) && !r.Bool(f.FlagComplete) && !r.Bool(f.FlagExecuting)
}

// waitingThread returns the gtid of the thread that waits in a taskwait of t; -1 without one. After a taskwait
// the field keeps the negated number.
func (rs *records) waitingThread(t *task) int {
	return int(max(0, t.number(rs.l.Taskdata.TaskwaitThread))) - 1
}

// taskState returns the state of a task, and the thread that executes it or has suspended it.
func (tk *tasks) taskState(fd found) (picture.TaskState, *thread, error) {
	if !fd.explicit {
		th, err := tk.threads.member(fd.regions[0].team, fd.num)
		if err != nil {
			return picture.TaskWaiting, nil, err
		}
		if th.task != fd.addr || !fd.regions[0].innermost() || tk.records.waitingThread(fd.task) >= 0 {
			return picture.TaskWaiting, th, nil
		}
		return picture.TaskRunning, th, nil
	}
	f, r := &tk.l.Taskdata, fd.rec()
	h := tk.holders()[fd.addr.Offset]
	switch {
	case r.Bool(f.FlagComplete):
		return picture.TaskCompleted, nil, nil
	case h.current && tk.records.waitingThread(fd.task) < 0:
		return picture.TaskRunning, h.th, nil
	case r.Bool(f.FlagStarted):
		return tk.records.startedState(fd.task, h), h.th, nil
	case tk.records.countPredecessors(fd.task) > 0:
		return picture.TaskBlocked, nil, nil
	}
	return picture.TaskQueued, nil, nil
}

// startedState returns the state of a task that has started and is not executing. A detached or proxy task
// continues without a thread; an untied one may be queued again.
func (rs *records) startedState(t *task, h holder) picture.TaskState {
	f := &rs.l.Taskdata
	switch {
	case h.th == nil && (rs.flag(t, f.FlagProxy) || rs.flag(t, f.FlagDetachable)):
		return picture.TaskRunning
	case h.th == nil && !rs.flag(t, f.FlagTiedness):
		return picture.TaskQueued
	}
	return picture.TaskWaiting
}

// SchedulingTask implements ompd_get_scheduling_task_handle: the task that the thread suspended to execute this
// one.
func (tk *tasks) SchedulingTask(h handles.Task) (handles.Task, error) {
	fd, err := tk.lookup(h)
	if err != nil {
		return handles.Task{}, err
	}
	if a, ok := tk.trackedScheduler(fd); ok {
		return tk.taskHandle(a)
	}
	th := tk.holders()[fd.addr.Offset].th
	if !fd.explicit || th == nil {
		return handles.Task{}, fmt.Errorf("%v was not scheduled in place of another task: %w", h, callbacks.Unavailable)
	}
	for t := range tk.records.taskChain(fd.parent) {
		if tk.records.suspended(t) && tk.holders()[t.addr.Offset].th == th {
			return tk.handleOf(t)
		}
	}
	tm, err := tk.threads.readTeam(th.team)
	if err != nil {
		return handles.Task{}, err
	}
	return tk.regions.implicitHandle(region{team: tm, level: tm.level}, th.tid), nil
}

// trackedScheduler returns the scheduling task from the runtime's own record, if the runtime tracks states.
func (tk *tasks) trackedScheduler(fd found) (callbacks.Address, bool) {
	if !tk.id.Tracking || !fd.explicit {
		return callbacks.Address{}, false
	}
	a := fd.address(tk.l.Taskdata.OmptSchedulingParent)
	return a, !a.IsNull()
}

// countPredecessors returns the number of unfinished tasks that must end before t may start.
func (rs *records) countPredecessors(t *task) int {
	f := rs.l.Depnode.Npredecessors
	if !t.explicit || t.depnode.IsNull() || t.bit(rs.l.Taskdata.FlagStarted) {
		return 0
	}
	r := layout.Read(rs.mem, t.depnode, f)
	return int(max(0, r.Int(f)))
}
