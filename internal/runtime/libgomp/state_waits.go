package libgomp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// barrierState returns the state of a thread at the barrier of team t. The call shows which barrier of the
// program it is: the one at the end of a region has no call in the region's function.
func (o *observer) barrierState(t *team) handles.ThreadState {
	f := &o.states.l.Team
	r := layout.Read(o.states.mem, t.addr, f.Generation, f.Awaited, f.AwaitedFinal)
	awaited, final := r.Uint(f.Awaited), r.Uint(f.AwaitedFinal)
	n := uint64(t.nthreads)
	id := t.addr.Add(f.Total.Offset)
	state := func(s handles.State, awaited uint64, why string) handles.ThreadState {
		text := ""
		if r.Err() == nil && awaited <= n {
			text = fmt.Sprintf("%d of %d threads arrived at the barrier", n-awaited, n)
		}
		return rtl.WaitingState(s, picture.WaitBarrier, id, text, why, o.entryCall(), o.sleepText())
	}
	switch o.kind {
	case entryWorkshare:
		return state(handles.StateWaitBarrierImplicitWorkshare, awaited, "")
	case entryBarrier:
		if e := o.ev.Entry; e != nil && e.Shares != nil && !e.Shares() {
			return state(handles.StateWaitBarrierExplicit, awaited, "the function that called it has no worksharing "+
				"construct")
		}
		return state(handles.StateWaitBarrier, awaited,
			"GCC calls GOMP_barrier for the explicit barrier and for the one at the end of a worksharing construct: "+
				"unknown which")
	case entryFork:
		if final == n && awaited < n && o.region.level() > 1 {
			return overhead("waits for the members of a nested team that is being formed", o.entryCall(), o.sleepText())
		}
		if r.Err() == nil && final == n && awaited == n && o.region.level() > 1 &&
			r.Uint(f.Generation)&^barFlags == barFirst {
			return overhead("all members of a nested team that was formed have come, and no barrier was passed since",
				o.entryCall(), o.sleepText())
		}
		if r.Err() == nil && final == n && awaited < n {
			return state(handles.StateWaitBarrier, awaited,
				"no thread has arrived at the end of the region: its function ended in a tail call to a barrier, "+
					"unknown which")
		}
		if o.isCalledByPointer() {
			return state(handles.StateWaitBarrier, awaited,
				"the region's function was called and has no frame: it ended in a tail call to a barrier, "+
					"unknown which")
		}
		return state(handles.StateWaitBarrierImplicitParallel, final, "")
	}
	switch {
	case o.hasNoCaller() && (r.Err() != nil || final == n || awaited < n):
		return state(handles.StateWaitBarrier, awaited, "there is no stack to tell which barrier")
	case o.hasNoCaller():
		return state(handles.StateWaitBarrierImplicitParallel, final, "no thread waits at another barrier of the team")
	case r.Err() == nil && final == n && awaited < n && o.region.level() > 1:
		return overhead("waits for the other members of a nested team that is being formed", o.sleepText())
	case r.Err() == nil && final == n && awaited < n:
		return state(handles.StateWaitBarrier, awaited, "tail-called from user code: unknown which barrier")
	}
	if !o.hasNoCaller() && o.isCalledByPointer() {
		return state(handles.StateWaitBarrier, awaited, "tail-called from user code: unknown which barrier")
	}
	if r.Err() == nil && final == n && awaited == n && r.Uint(f.Generation)&barWaitingForTask == 0 {
		return overhead("in the runtime, called by no user code, and no thread has arrived at a barrier of its team: "+
			"it is about to start its part, or to leave", o.sleepText())
	}
	return state(handles.StateWaitBarrierImplicitParallel, final, "in the runtime, called by no user code, while its "+
		"region is alive")
}

// isCalledByPointer reports whether a frame of the runtime called the code that waits through a pointer. The runtime
// calls the functions of regions and tasks so, and its own by name.
func (o *observer) isCalledByPointer() bool {
	return slices.ContainsFunc(o.ev.Frames[min(1, len(o.ev.Frames)):], func(f handles.EvidenceFrame) bool {
		return f.Owned && o.states.forks.calls(f.PC, arch.CallRegister)
	})
}

// isAfterTailCall reports whether the innermost function of the runtime was entered by a tail call of the function of a
// region or task: the next frame called that function, through a pointer.
func (o *observer) isAfterTailCall() bool {
	return len(o.ev.Frames) > 1 && o.ev.Frames[1].Owned && o.states.forks.calls(o.ev.Frames[1].PC, arch.CallRegister)
}

// hasNoCaller reports whether the stack does not show the caller of the runtime.
func (o *observer) hasNoCaller() bool {
	return o.at == rtl.PlaceUnknown || o.at == rtl.PlaceCut || o.at == rtl.PlaceOutside
}

// forkState distinguishes the wait at the end of a region from the region's start: a thread that creates a team
// has not started to wait. A thread that ends a nested team is in the enclosing region before the others have
// left.
func (o *observer) forkState() handles.ThreadState {
	if len(o.th.frames) == 0 {
		return overhead(o.entryCall(), "in no region: it forms a team or has ended one", o.sleepText())
	}
	t := o.th.frames[0].team
	if o.isAfterTailCall() && o.isOnMutex() {
		return o.unknownLockState()
	}
	if !o.ev.Futex.IsNull() {
		return overhead(o.entryCall(), "sleeps on no word of its team: it disbands a nested team", o.sleepText())
	}
	if f, _ := o.states.forks.forkOf(o.region); o.ev.Entry == nil || f.ret != o.ev.Entry.Return {
		return overhead(o.entryCall(),
			"not proven to be at the end of its own region: it forms a nested team or disbands "+
				"one", o.sleepText())
	}
	f := o.states.l.Team.AwaitedFinal
	r := layout.Read(o.states.mem, t.addr, f)
	if awaited := r.Uint(f); r.Err() != nil || awaited >= uint64(t.nthreads) || o.th.id != 0 {
		return overhead(o.entryCall(), "no thread has arrived at the end of its region: it forms a team", o.sleepText())
	}
	return o.barrierState(t)
}

// orderedState returns the wait for the turn in an ordered region. The thread's own semaphore admits it.
func (o *observer) orderedState() handles.ThreadState {
	id := o.th.addr.Add(o.states.l.Thread.Release.Offset)
	if len(o.th.frames) > 0 {
		if a, err := o.states.records.releaseOf(o.th.frames[0].team, o.th.id); err == nil {
			id = a
		}
	}
	text := ""
	ws, f := o.th.rec.Address(o.states.l.Thread.WorkShare), o.states.l.WorkShare.OrderedOwner
	r := layout.Read(o.states.mem, ws, f)
	if owner := int32(r.Uint(f)); r.Err() == nil && owner >= 0 && o.region != nil &&
		int(owner) < o.region.numThreads() {
		text = fmt.Sprintf("thread number %d has the turn", owner)
	}
	return rtl.WaitingState(handles.StateWaitOrdered, picture.WaitOrdered, id, text, o.entryCall(), o.sleepText())
}

// lockWord returns the word of the lock for which the thread waits: the word on which it sleeps, or the argument
// of its call.
func (o *observer) lockWord() callbacks.Address {
	if !o.ev.Futex.IsNull() {
		return o.ev.Futex
	}
	if o.ev.Entry != nil && o.ev.Entry.Arg != nil {
		if v, ok := o.ev.Entry.Arg(0); ok && v >= lowestAddress {
			return callbacks.Addr(v)
		}
	}
	return callbacks.Address{}
}

// lockState returns the wait for a lock, or for a named critical section, for which the program's variable is
// the lock itself. Neither has an owner in memory.
func (o *observer) lockState(kind picture.WaitKind) handles.ThreadState {
	s := handles.StateWaitLock
	if kind == picture.WaitCritical {
		s = handles.StateWaitCritical
	}
	a := o.lockWord()
	st := rtl.WaitingState(s, kind, a, describeLock(o.states.mem, a), o.entryCall(), o.sleepText(),
		"the runtime keeps no owner")
	st.WaitVariable = st.WaitID
	return st
}

// describeLock describes the value of a lock's word: 0 free, 1 held, -1 held with waiting threads.
func describeLock(mem callbacks.Memory, a callbacks.Address) string {
	v, err := layout.ReadUint(mem, a, 4)
	if err != nil {
		return "the lock was not found"
	}
	return fmt.Sprintf("the lock's word is %d", int32(v))
}

// Offsets in omp_nest_lock_t, since OpenMP 3.0 (lock, count, owner) and before (owner, count). The owner is the
// address of the owning task's control variables.
const (
	nestCount = 4
	nestOwner = 8
)

// nestLockState returns the wait for a nestable lock, with the lock's owner.
func (o *observer) nestLockState() handles.ThreadState {
	a, variable := o.nestWord()
	text := "its owner is unknown"
	if own, err := o.states.nestLockAt(a); err == nil {
		text = own.text
	}
	st := rtl.WaitingState(handles.StateWaitLock, picture.WaitLock, a, text, o.entryCall(), o.sleepText())
	st.WaitVariable = variable.Offset
	return st
}

// nestWord returns the word of the nestable lock for which the thread waits, and the address of the program's
// variable. In C the two are equal. In Fortran the variable is smaller than the lock and contains its address
// (omp_nest_lock_arg in libgomp_f.h).
func (o *observer) nestWord() (word, variable callbacks.Address) {
	if name, _, _ := strings.Cut(o.calledFunction(), "@"); !strings.HasSuffix(name, "_") {
		word = o.lockWord()
		return word, word
	}
	v, ok := uint64(0), false
	if o.ev.Entry != nil && o.ev.Entry.Arg != nil {
		v, ok = o.ev.Entry.Arg(0)
	}
	p, err := layout.ReadUint(o.states.mem, callbacks.Addr(v), 8)
	if !ok || v < lowestAddress || err != nil || !o.ev.Futex.IsNull() && p != o.ev.Futex.Offset {
		return o.ev.Futex, callbacks.Address{}
	}
	return callbacks.Addr(p), callbacks.Addr(v)
}

// nestHolder is the holder of a nestable lock.
type nestHolder struct {
	text   string
	thread *thread // nil if unknown
}

// nestLockAt reads the owner of the nestable lock at a: the task with the control variables to which the lock
// points.
func (s *states) nestLockAt(a callbacks.Address) (nestHolder, error) {
	first := s.l.Task.Nthreads // a task's control variables start with this field
	if err := first.Err(); err != nil {
		return nestHolder{}, err
	}
	owner, err := layout.ReadUint(s.mem, a.Add(nestOwner), 8)
	if err != nil {
		return nestHolder{}, err
	}
	count, err := layout.ReadUint(s.mem, a.Add(nestCount), 4)
	switch {
	case err != nil:
		return nestHolder{}, err
	case owner < lowestAddress:
		return nestHolder{}, fmt.Errorf("nestable lock at %v: owner is %#x: %w", a, owner, callbacks.Unavailable)
	}
	if g := s.l.Globals.GlobalICV; g.IsKnown() && g.Address.Offset == owner {
		return nestHolder{text: fmt.Sprintf("its record names an initial task as the owner, depth %d", count)}, nil
	}
	fd, err := s.tasks.locateTask(callbacks.Addr(owner).Add(-first.Offset))
	if err != nil {
		return nestHolder{text: fmt.Sprintf("its record names an unknown task as the owner, depth %d", count)}, nil
	}
	th := s.tasks.executorOf(fd)
	if th == nil {
		return nestHolder{text: fmt.Sprintf("its record names the task at %v as the owner, depth %d", fd.addr,
			count)}, nil
	}
	return nestHolder{fmt.Sprintf("its record names LWP %d as the owner, depth %d", th.lwp, count), th}, nil
}

// contended is the value of a held lock's word (gomp_mutex_t) on which threads sleep.
const contended = ^uint32(0)

// workShareSize is the size of the runtime's record of a worksharing construct (gomp_work_share), in bytes. The
// record contains a lock.
const workShareSize = 128

// isOnMutex reports whether the thread sleeps on a held lock other than the lock of a worksharing construct.
// Threads also sleep on other words of the runtime: that of a barrier, or of a pointer that another thread is
// about to set. If the thread was interrupted in such a sleep and has not run since, the word and the thread's
// team may have changed meanwhile.
func (o *observer) isOnMutex() bool {
	if o.ev.Futex.IsNull() {
		return false
	}
	now, err := layout.ReadUint(o.states.mem, o.ev.Futex, 4)
	if err != nil || uint32(now) != contended || uint32(o.ev.Registers.SyscallArgs[2]) != contended {
		return false
	}
	share := o.th.rec.Address(o.states.l.Thread.WorkShare).Offset
	return share == 0 || o.ev.Futex.Offset < share || o.ev.Futex.Offset >= share+workShareSize
}

// unknownLockState returns the wait for a lock that user code requested by a tail call, so that only the word
// shows it.
func (o *observer) unknownLockState() handles.ThreadState {
	a := o.lockWord()
	st := rtl.WaitingState(handles.StateWaitMutex, picture.WaitMutex, a,
		"tail-called from user code: a lock or a named critical "+
			"section, unknown which",
		describeLock(o.states.mem, a), o.entryCall(), o.sleepText())
	st.WaitVariable = st.WaitID
	return st
}
