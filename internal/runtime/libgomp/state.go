package libgomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// State returns the activity of the thread. The runtime does not store a state: State infers it from the word on
// which the thread sleeps, from the call that entered the runtime, and from the counters and marks in team and
// task.
func (s *states) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	th, err := s.threads.byHandle(h)
	if err == nil {
		err = th.err
	}
	if err != nil {
		return handles.ThreadState{State: handles.StateUndefined}, err
	}
	if th.idle != "" {
		return handles.ThreadState{State: handles.StateIdle, Evidence: rtl.JoinEvidence(s.docked(th, ev), th.idle)}, nil
	}
	return s.inferState(th, ev), nil
}

// inferState infers the state of a thread in a region from the evidence of this stop. For the barrier of each
// waiting thread, it is called for all members of the thread's team.
func (s *states) inferState(th *thread, ev *handles.Evidence) handles.ThreadState {
	key := observed{th, ev}
	if st, ok := s.known.Get(key); ok {
		return *st
	}
	st := s.observe(th, ev).inferState()
	s.known.Put(key, &st)
	return st
}

// observed is a thread with facts from outside of the runtime's own fields.
type observed struct {
	th *thread
	ev *handles.Evidence
}

// docked returns the evidence that a thread sleeps on the word for a pool's idle workers, or "".
func (s *states) docked(th *thread, ev *handles.Evidence) string {
	if ev == nil || ev.Futex.IsNull() || ev.Futex != s.dockAddress(th) {
		return ""
	}
	return fmt.Sprintf("sleeps in the dock of its pool, futex at %v", ev.Futex)
}

// dockAddress returns the word on which the idle workers of a thread's pool sleep; null without a pool.
func (rt *base) dockAddress(th *thread) callbacks.Address {
	if f := rt.l.Pool.DockGeneration; !th.pool.IsNull() && f.IsKnown() {
		return th.pool.Add(f.Offset)
	}
	return callbacks.Address{}
}

// observer infers the state of one thread in a region.
type observer struct {
	states *states
	th     *thread
	region *region
	cur    *task // may be nil
	ev     *handles.Evidence
	at     rtl.Place
	kind   entryKind
}

func (s *states) observe(th *thread, ev *handles.Evidence) *observer {
	o := &observer{states: s, th: th, region: s.threads.world().regionAtFrame(th, 0), ev: ev, at: rtl.PlaceOf(ev)}
	if s.code == (extent{}) { // the runtime's frames cannot be distinguished from the program's
		o.at = rtl.PlaceUnknown
	}
	if t, err := s.records.readTask(th.task); err == nil {
		o.cur = t
	}
	if name := o.calledFunction(); name != "" {
		o.kind = kindOfEntry(name)
	}
	return o
}

// calledFunction returns the runtime's function that user code called. If that was a tail call, so that no user
// frame is left, it returns the exported function of the outermost runtime frame, if its name shows the kind of
// wait.
func (o *observer) calledFunction() string {
	switch {
	case o.ev == nil:
		return ""
	case o.ev.Entry != nil:
		return o.ev.Entry.Function
	}
	name := ""
	for _, f := range o.ev.Frames {
		if f.Owned && kindOfEntry(f.Symbol) != entryOther && kindOfEntry(f.Symbol) != entryFork {
			name = f.Symbol
		}
	}
	return name
}

// inferState infers the activity of the thread.
func (o *observer) inferState() handles.ThreadState {
	if why := o.states.threads.world().ending[o.th]; why != "" {
		why = rtl.JoinEvidence(why, o.sleepText())
		return handles.ThreadState{State: handles.StateOverhead, Ending: true, Evidence: why}
	}
	if o.at == rtl.PlaceUser {
		return o.workState(rtl.Working(o.ev))
	}
	if st, ok := o.isAsleep(); ok {
		return st
	}
	switch o.at {
	case rtl.PlaceEntry:
		return o.inCall()
	case rtl.PlaceRuntime:
		return o.stateWithoutCall()
	}
	return o.fieldsOnly()
}

// workState returns the state of a thread that executes the program's code.
func (o *observer) workState(why string) handles.ThreadState {
	s := handles.StateWorkSerial
	if o.region != nil && o.region.level() > 0 {
		s = handles.StateWorkParallel
	}
	if o.th.hostTarget {
		why = rtl.JoinEvidence(why, inHostTarget)
	}
	return handles.ThreadState{State: s, Evidence: why}
}

func overhead(why ...string) handles.ThreadState {
	return handles.ThreadState{State: handles.StateOverhead, Evidence: rtl.JoinEvidence(why...)}
}

// entryCall describes the runtime function that the thread is in, with the evidence.
func (o *observer) entryCall() string {
	name := o.calledFunction()
	switch {
	case name == "":
		return ""
	case o.ev.Entry == nil:
		return "in " + name + ", called by no frame of user code"
	case o.ev.Entry.By != "":
		return "called " + name + " (" + o.ev.Entry.By + ")"
	}
	return "called " + name
}

// sleepText describes how the thread sleeps or yields; "" if it does neither.
func (o *observer) sleepText() string {
	switch {
	case o.ev == nil:
		return ""
	case !o.ev.Futex.IsNull():
		return fmt.Sprintf("sleeps in futex at %v", o.ev.Futex)
	case o.ev.Registers != nil:
		return "spins"
	}
	return ""
}

// isAsleep infers the state from the word on which the thread sleeps, if that is a known field of the runtime's
// structures.
func (o *observer) isAsleep() (handles.ThreadState, bool) {
	if o.ev == nil || o.ev.Futex.IsNull() {
		return handles.ThreadState{}, false
	}
	w, g := o.ev.Futex, &o.states.l.Globals
	for _, f := range o.th.frames {
		switch t := f.team; w {
		case t.addr.Add(o.states.l.Team.Generation.Offset):
			return o.barrierState(t), true
		case t.addr.Add(o.states.l.Team.MasterRelease.Offset):
			return o.orderedState(), true
		case t.addr.Add(o.states.l.Team.TaskLock.Offset):
			return overhead("waits for the task_lock of its team", o.entryCall(), o.sleepText()), true
		}
	}
	switch w {
	case o.th.addr.Add(o.states.l.Thread.Release.Offset):
		return o.orderedState(), true
	case o.states.dockAddress(o.th):
		return overhead("sleeps in the dock of its pool, and is a member of a team that is being formed",
				o.sleepText()),
			true
	case g.DefaultLock.Address:
		return rtl.WaitingState(handles.StateWaitCritical, picture.WaitCritical, w,
			"the lock of unnamed critical sections "+
				"(default_lock)", o.entryCall(), o.sleepText()), true
	case g.AtomicLock.Address:
		return rtl.WaitingState(handles.StateWaitAtomic, picture.WaitAtomic, w,
			"the lock of atomic constructs (atomic_lock)",
			o.entryCall(), o.sleepText()), true
	}
	return o.marked()
}

// marked infers the state from the marks that the runtime sets while a thread waits in a taskwait, or at the end
// of a taskgroup, without executing another task.
func (o *observer) marked() (handles.ThreadState, bool) {
	if o.cur == nil {
		return handles.ThreadState{}, false
	}
	if a, waits := o.states.records.eventWait(o.cur); waits && o.ev != nil && o.ev.Futex == a {
		return rtl.WaitingState(handles.StateWaitTaskwait, picture.WaitTaskwait, o.cur.addr,
			"its undeferred detached task has been executed, and the event of the task is not fulfilled", o.entryCall(),
			o.sleepText()), true
	}
	if waits, depend := o.states.records.waitsForTasks(o.cur); waits {
		if depend {
			return o.dependState(), true
		}
		return rtl.WaitingState(handles.StateWaitTaskwait, picture.WaitTaskwait, o.cur.addr,
			"in_taskwait is set for its task",
			o.entryCall(), o.sleepText()), true
	}
	if group, waits := o.states.records.taskgroupWait(o.cur); waits {
		f := o.states.l.Taskgroup.NumChildren
		n := layout.Read(o.states.mem, group, f).Uint(f)
		return rtl.WaitingState(handles.StateWaitTaskgroup, picture.WaitTaskgroup, group,
				fmt.Sprintf("in_taskgroup_wait is set, %d tasks of the taskgroup unfinished", n), o.entryCall(),
				o.sleepText()),
			true
	}
	return handles.ThreadState{}, false
}

// dependState returns the wait for dependences: those of a task that must run at once, or of a taskwait.
func (o *observer) dependState() handles.ThreadState {
	text := "in_depend_wait is set for its task: it waits for tasks that an undeferred task or a taskwait depends on"
	return rtl.WaitingState(handles.StateWaitTaskwait, picture.WaitTaskwait, o.cur.addr, text, o.entryCall(),
		o.sleepText())
}

// inCall infers the state from the runtime's function that user code called, for a thread that does not sleep on
// a known word.
func (o *observer) inCall() handles.ThreadState {
	var t *team
	if len(o.th.frames) > 0 {
		t = o.th.frames[0].team
	}
	switch o.kind {
	case entryBarrier, entryWorkshare:
		if t != nil {
			return o.barrierState(t)
		}
	case entryFork:
		return o.forkState()
	case entryTaskwait, entryTaskgroup:
		if st, ok := o.marked(); ok {
			return st
		}
	case entryLock:
		return o.lockState(picture.WaitLock)
	case entryNestLock:
		return o.nestLockState()
	case entryCritical:
		id := o.states.l.Globals.DefaultLock.Address
		if id.IsNull() {
			id = o.ev.Futex
		}
		return rtl.WaitingState(handles.StateWaitCritical, picture.WaitCritical, id, "unnamed critical section",
			o.entryCall(),
			o.sleepText())
	case entryCriticalName:
		return o.lockState(picture.WaitCritical)
	case entryAtomic:
		return rtl.WaitingState(handles.StateWaitAtomic, picture.WaitAtomic, o.states.l.Globals.AtomicLock.Address,
			o.entryCall(),
			o.sleepText())
	case entryOrdered:
		return o.orderedState()
	}
	if o.isAfterTailCall() && o.isOnMutex() {
		return o.unknownLockState()
	}
	if o.calledFunction() == "" { // the code of the call cannot be read
		return handles.ThreadState{State: handles.StateUndefined, Evidence: rtl.JoinEvidence(
			"in the runtime, in a call that could not be identified", o.sleepText())}
	}
	return overhead(o.entryCall(), o.sleepText())
}

// stateWithoutCall returns the state of a thread in the runtime without an outer frame of user code: a worker at
// the end of its region, or before its start.
func (o *observer) stateWithoutCall() handles.ThreadState {
	switch o.kind {
	case entryLock, entryCriticalName:
		return o.unknownLockState()
	case entryNestLock, entryCritical, entryAtomic, entryOrdered:
		return o.inCall()
	}
	if !o.ev.Futex.IsNull() && o.th.id != 0 {
		if !o.isOnMutex() {
			return overhead("waits for a word of the runtime's own, or did: it has changed", o.sleepText())
		}
		return o.unknownLockState()
	}
	if o.isAfterTailCall() && o.isOnMutex() {
		return o.unknownLockState()
	}
	if o.th.id == 0 || len(o.th.frames) == 0 {
		return overhead("in the runtime, called by no user code", o.sleepText())
	}
	return o.barrierState(o.th.frames[0].team)
}

// fieldsOnly infers the state without a stack.
func (o *observer) fieldsOnly() handles.ThreadState {
	if st, ok := o.marked(); ok {
		return st
	}
	if o.ev != nil && !o.ev.Futex.IsNull() {
		return handles.ThreadState{State: handles.StateUndefined,
			Evidence: fmt.Sprintf("sleeps in futex at %v, which is no word that the runtime's structures have: a "+
				"lock, of the runtime or the program", o.ev.Futex)}
	}
	if o.at == rtl.PlaceCut {
		return handles.ThreadState{State: handles.StateUndefined, Evidence: rtl.JoinEvidence(
			"in the runtime, its stack cannot be unwound to its caller, and no field says that it waits",
			o.sleepText())}
	}
	return o.workState("nothing in the runtime's fields says that it waits")
}
