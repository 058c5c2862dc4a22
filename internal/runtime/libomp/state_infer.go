package libomp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// inference is a state with the evidence from the runtime's fields and the thread's stack.
type inference struct {
	handles.ThreadState
	// sure means that the state follows from observed facts, not from missing signs.
	sure bool
}

// observer infers the state of one thread in a region.
type observer struct {
	states *states
	th     *thread
	gs     []region
	cur    *task // nil if it cannot be read
	ev     *handles.Evidence
	at     rtl.Place
	kind   entryKind
	name   string // name of the runtime's function that was called, and the evidence for it
}

func (sr *states) observe(th *thread, gs []region, ev *handles.Evidence) *observer {
	o := &observer{states: sr, th: th, gs: gs, ev: ev, at: rtl.PlaceOf(ev)}
	if t, err := sr.records.task(th.task); err == nil {
		o.cur = t
	}
	switch o.at {
	case rtl.PlaceEntry, rtl.PlaceRuntime:
		o.kind, o.name = enteredFunction(ev)
	}
	return o
}

// inferState infers the activity of the thread.
func (o *observer) inferState() inference {
	if in, ok := o.markedState(); ok {
		return in
	}
	switch o.at {
	case rtl.PlaceOutside:
		return o.overhead("the C library is starting or ending the thread", true)
	case rtl.PlaceUser:
		return o.workState(rtl.Working(o.ev), true)
	case rtl.PlaceEntry:
		return o.inCall()
	case rtl.PlaceRuntime:
		if o.kind != entryOther {
			return o.inCall()
		}
		return o.withoutCall()
	}
	return o.fieldsOnly()
}

// workState returns the state of a thread that executes the program's code.
func (o *observer) workState(why string, sure bool) inference {
	s := handles.StateWorkSerial
	if o.gs[0].level > 0 {
		s = handles.StateWorkParallel
	}
	return inference{handles.ThreadState{State: s, Evidence: why}, sure}
}

func (o *observer) overhead(why string, sure bool) inference {
	return inference{handles.ThreadState{State: handles.StateOverhead, Evidence: why}, sure}
}

func waiting(s handles.State, kind picture.WaitKind, id callbacks.Address, evidence ...string) inference {
	return inference{rtl.WaitingState(s, kind, id, evidence...), true}
}

// entryCall describes the runtime function that the thread is in, with the evidence.
func (o *observer) entryCall() string {
	if o.name == "" {
		return ""
	}
	return "called " + o.name
}

// sleepText describes how the thread sleeps or yields; "" if it does neither. It supports an inference but never
// suffices, because a waiting thread may spin.
func (o *observer) sleepText() string {
	switch {
	case o.ev == nil:
		return ""
	case !o.ev.Futex.IsNull():
		return fmt.Sprintf("sleeps in futex at %v", o.ev.Futex)
	case o.ev.Syscall == "sched_yield":
		return "spins with sched_yield"
	}
	return ""
}

// markedState infers the state from the mark that the runtime sets in a task while its thread waits in a
// taskwait, or at the end of a taskgroup, without executing another task. A taskyield sets the mark too,
// although it does not wait.
func (o *observer) markedState() (inference, bool) {
	if o.kind == entryTaskyield || o.cur == nil || o.states.records.waitingThread(o.cur) != o.th.gtid {
		return inference{}, false
	}
	f := &o.states.l.Taskdata
	children := o.cur.number(f.IncompleteChildTasks)
	group, count := o.currentGroup()
	text := fmt.Sprintf("td_taskwait_thread of its task is %d, gtid+1", o.th.gtid+1)
	if s := o.states.records.readSource(o.cur.address(f.TaskwaitIdent)); s.Line > 0 {
		text += fmt.Sprintf("; the construct is at %s:%d", s.File, s.Line)
	}
	// A taskwait would be over without unfinished children.
	if o.kind == entryTaskgroup || o.kind == entryOther && children == 0 && count > 0 {
		return waiting(handles.StateWaitTaskgroup, picture.WaitTaskgroup, group,
			text, fmt.Sprintf("%d tasks of the taskgroup unfinished", count), o.entryCall()), true
	}
	return waiting(handles.StateWaitTaskwait, picture.WaitTaskwait, o.cur.addr, text,
		fmt.Sprintf("%d children unfinished", children),
		o.entryCall()), true
}

// unmarkedWait returns the state of a thread in a call that waits for tasks, with a current task that is not
// marked as waiting. While the thread waits, its current task is the one that made the call. The thread also
// executes other tasks there. They are current from before their code starts until after it has ended; their
// taskgroups and children are not those of the wait. The task that made the call is in the taskgroup for which
// it waits, like the tasks that it created there.
func (o *observer) unmarkedWait() inference {
	depends := strings.Contains(o.name, "dep") // this call sets no mark, and its tasks are children
	switch f := &o.states.l.Taskdata; {
	case o.cur == nil || !f.TaskwaitThread.IsKnown(), depends && o.cur.number(f.IncompleteChildTasks) > 0:
	case depends:
		return o.overhead(rtl.JoinEvidence(o.entryCall(),
			"its current task has no children that it could depend on"), true)
	default:
		return o.overhead(rtl.JoinEvidence(o.entryCall(),
			"its current task has no mark (td_taskwait_thread) of a wait: "+
				"the call begins or ends, or a task that is executed in it"), true)
	}
	if o.kind == entryTaskgroup {
		return waiting(handles.StateWaitTaskgroup, "", callbacks.Address{}, o.entryCall(), o.sleepText())
	}
	return waiting(handles.StateWaitTaskwait, picture.WaitTaskwait, o.curAddr(), o.entryCall(), o.sleepText())
}

// currentGroup returns the taskgroup of the current task and the number of its unfinished tasks.
func (o *observer) currentGroup() (callbacks.Address, int64) {
	group := o.cur.address(o.states.l.Taskdata.Taskgroup)
	if group.IsNull() {
		return group, 0
	}
	f := o.states.l.Taskgroup.Count
	return group, layout.Read(o.states.mem, group, f).Int(f)
}

// inCall infers the state from the runtime's function that user code called.
func (o *observer) inCall() inference {
	switch o.kind {
	case entryBarrier:
		s, why := o.states.barriers.barrierState(o.th)
		return o.barrierState(s, plainBarrier, why)
	case entryExplicit:
		return o.barrierState(handles.StateWaitBarrierExplicit, plainBarrier)
	case entryWorkshare:
		return o.barrierState(handles.StateWaitBarrierImplicitWorkshare, plainBarrier)
	case entryReduce:
		return o.reductionState()
	case entryFork:
		return o.forkState(handles.StateWaitBarrierImplicitParallel)
	case entryTeams:
		return o.forkState(handles.StateWaitBarrierTeams)
	case entryTaskwait, entryTaskgroup:
		return o.unmarkedWait()
	case entryLock:
		return o.lockState(handles.StateWaitLock, picture.WaitLock)
	case entryCritical:
		return o.lockState(handles.StateWaitCritical, picture.WaitCritical)
	case entryAtomic:
		return o.lockState(handles.StateWaitAtomic, picture.WaitAtomic)
	case entryOrdered:
		return waiting(handles.StateWaitOrdered, picture.WaitOrdered, o.orderedID(), o.entryCall(), o.sleepText())
	case entryIteration:
		return o.iterationState()
	}
	return o.overhead(o.entryCall(), true)
}

// iterationState returns the state of a thread at the end of its iterations of an ordered loop. If it has executed no
// ordered region in them, it waits for its turn there, and passes it on.
func (o *observer) iterationState() inference {
	c, err := o.states.loops.chunkOf(o.th)
	if err != nil || c.next >= c.lower {
		return o.overhead(o.entryCall(), true)
	}
	text := fmt.Sprintf("ordered_iteration is %d, before its iterations %d to %d", c.next, c.lower, c.upper)
	return waiting(handles.StateWaitOrdered, picture.WaitOrdered, o.orderedID(), text, o.entryCall(), o.sleepText())
}

func (o *observer) curAddr() callbacks.Address {
	if o.cur == nil {
		return callbacks.Address{}
	}
	return o.cur.addr
}

// barrierState returns the state s at the barrier of kind b, with the counters as evidence.
func (o *observer) barrierState(s handles.State, b barrierKind, why ...string) inference {
	a, err := o.states.barriers.readArrival(o.th, o.gs[0].team, b)
	if err != nil {
		return waiting(s, "", callbacks.Address{}, append(why, o.entryCall(), o.sleepText())...)
	}
	return waiting(s, picture.WaitBarrier, a.counter, append([]string{a.String()}, append(why, o.entryCall(),
		o.sleepText())...)...)
}

// reductionState distinguishes a wait for the lock of a reduction from a wait at its barrier.
func (o *observer) reductionState() inference {
	if o.spins() {
		return o.lockState(handles.StateWaitCritical, picture.WaitReduction)
	}
	if in, ok := o.atFlag(handles.StateWaitBarrierImplicitParallel); ok {
		return in
	}
	if in := o.lockState(handles.StateWaitCritical, picture.WaitReduction); in.WaitID != 0 {
		return in
	}
	return o.overhead(rtl.JoinEvidence(o.entryCall(), "in no queue of a lock, at no barrier that is known"), false)
}

// spins reports whether the thread is in the queue of a queuing lock.
func (o *observer) spins() bool {
	f := o.states.l.Thread.SpinHere
	r := layout.Read(o.states.mem, o.th.addr, f)
	return r.Bool(f) && r.Err() == nil
}

// forkState distinguishes the wait at the end of a region from its start. The runtime stores in th_ident the
// source location of the construct for which the thread called it.
func (o *observer) forkState(s handles.State) inference {
	if o.ev.Wakes {
		// th_ident, and the words on the stack, may be left from an earlier execution of the same construct.
		return o.overhead(rtl.JoinEvidence(o.entryCall(),
			"wakes others in futex: it forms a team or has ended one"), true)
	}
	if o.handlesTeams() {
		ev := rtl.JoinEvidence(o.entryCall(), "forms a team, or has ended one, by its frames", o.sleepText())
		return o.overhead(ev, true)
	}
	if in, ok := o.atFlag(s); ok {
		return in
	}
	tf, f := o.states.l.Team.Ident, o.states.l.Thread.Ident
	tr := layout.Read(o.states.mem, o.gs[0].team.addr, tf)
	r := layout.Read(o.states.mem, o.th.addr, f)
	same := tr.Address(tf) == r.Address(f) && tr.Err() == nil && r.Err() == nil
	if same && o.gs[0].team.serialized == 0 {
		return o.barrierState(s, forkjoinBarrier, "th_ident is that of its region")
	}
	return o.overhead(rtl.JoinEvidence(o.entryCall(), "forms a team: th_ident is not that of its region"), true)
}

// ownLockCalls bounds the runtime's frames between the program's call that forks and the call by which the
// runtime acquires the lock of teams (__kmp_forkjoin_lock): GOMP_parallel has one more than __kmpc_fork_call.
// There are more at a barrier, where threads acquire such locks to look for tasks.
const ownLockCalls = 3

// handlesTeams reports whether a thread in a call that forks forms the team, or acquires the lock of teams to
// end it. Then the flags on its stack are left from earlier barriers.
func (o *observer) handlesTeams() bool {
	if o.at != rtl.PlaceEntry {
		return false
	}
	return slices.ContainsFunc(o.ev.Frames,
		func(f handles.EvidenceFrame) bool { return f.Symbol == "__kmp_fork_call" }) ||
		slices.ContainsFunc(o.ev.Frames[max(0, len(o.ev.Frames)-2-ownLockCalls):], func(f handles.EvidenceFrame) bool {
			return f.Symbol == "__kmp_acquire_ticket_lock"
		})
}

// atFlag infers the state from the flag on which the thread waits, if it is known. end is the state at the end
// of a region.
func (o *observer) atFlag(end handles.State) (inference, bool) {
	b, why, ok := o.states.barriers.waitFlag(o.th, o.ev, o.kind == entryReduce && o.at == rtl.PlaceEntry)
	switch {
	case !ok:
		return inference{}, false
	case b == forkjoinBarrier:
		return o.barrierState(end, b, why), true
	case b == reductionBarrier:
		return o.barrierState(handles.StateWaitBarrierImplementation, b, why), true
	}
	s, text := o.states.barriers.barrierState(o.th)
	in := o.barrierState(s, b, why, text)
	in.Source = o.states.barrierSource(o.th)
	return in, true
}

// lockState searches the lock for which the thread waits, and returns the state s with it.
func (o *observer) lockState(s handles.State, kind picture.WaitKind) inference {
	w, ok := o.states.locks.findLock(o.th, o.ev, o.kind)
	if !ok {
		in := waiting(s, "", callbacks.Address{}, o.entryCall(), o.sleepText(), "the lock was not found")
		if o.kind == entryLock {
			in.WaitVariable = lockArgument(o.th, o.ev, o.kind)
		}
		if in.WaitVariable != 0 {
			in.WaitKind = kind
		}
		return in
	}
	in := waiting(s, kind, w.lock, w.text, o.entryCall(), o.sleepText())
	in.WaitVariable = w.variable.Offset
	return in
}

// orderedID returns the object for which a thread waits in an ordered loop.
func (o *observer) orderedID() callbacks.Address {
	if shared, err := o.states.field(o.th.addr, o.states.l.Thread.Dispatch,
		o.states.l.Disp.DispatchShCurrent); err == nil && shared != 0 {
		return callbacks.Addr(shared)
	}
	return o.gs[0].team.addr.Add(o.states.l.Team.Ordered.Offset)
}

// withoutCall returns the state of a thread in the runtime without an outer frame of user code: a
// worker at the end of its region, or before its start.
func (o *observer) withoutCall() inference {
	if o.th.tid == 0 && o.gs[0].league == 0 {
		return o.overhead("in the runtime, called by no user code", false)
	}
	s := handles.StateWaitBarrierImplicitParallel
	if o.gs[0].bridge || o.gs[0].initial {
		s = handles.StateWaitBarrierTeams
	}
	if o.spins() {
		return o.lockState(handles.StateWaitMutex, picture.WaitMutex)
	}
	if in, ok := o.atFlag(s); ok {
		return in
	}
	return o.barrierState(s, forkjoinBarrier, "in the runtime, called by no user code, while its region is alive")
}

// fieldsOnly infers the state without a stack.
func (o *observer) fieldsOnly() inference {
	if o.spins() {
		in := o.lockState(handles.StateWaitMutex, picture.WaitMutex)
		in.Evidence = rtl.JoinEvidence("th_spin_here is set: the thread is in the queue of a lock or of a critical "+
			"section, unknown which", in.Evidence)
		return in
	}
	if o.cur != nil && o.cur.explicit && o.at != rtl.PlaceCut {
		return o.workState("th_current_task is an explicit task", false)
	}
	if o.gs[0].team.serialized > 0 {
		return o.unmarkedState()
	}
	if in, ok := o.atFlag(handles.StateWaitBarrierImplicitParallel); ok {
		return in
	}
	list, err := o.states.barriers.readArrivals(o.th, o.gs[0].team)
	for _, a := range list {
		switch {
		case err != nil || !a.isWaiting():
		case a.kind == forkjoinBarrier:
			return o.barrierState(handles.StateWaitBarrierImplicitParallel, a.kind)
		case a.kind == reductionBarrier:
			return o.barrierState(handles.StateWaitBarrierImplementation, a.kind)
		default:
			s, text := o.states.barriers.barrierState(o.th)
			return o.barrierState(s, a.kind, text)
		}
	}
	return o.unmarkedState()
}

// unmarkedState returns the state of a thread without a field that shows a wait. If the caller of the runtime is
// unknown, the activity in the runtime is unknown too.
func (o *observer) unmarkedState() inference {
	if o.at == rtl.PlaceCut {
		return inference{handles.ThreadState{State: handles.StateUndefined, Evidence: rtl.JoinEvidence(
			"in the runtime, its stack cannot be unwound to its caller, and no field says that it waits",
			o.sleepText())}, false}
	}
	return o.workState("nothing in the runtime's fields says that it waits", false)
}
