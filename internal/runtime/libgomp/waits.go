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

var _ rtl.WaitReader = (*runtime)(nil)

// stateOfHandle returns the state of the thread of h, and its observer.
func (s *states) stateOfHandle(h handles.Thread, ev *handles.Evidence) (*observer, handles.ThreadState, error) {
	_, th, err := s.threads.regionOf(h)
	if err != nil {
		return nil, handles.ThreadState{}, err
	}
	return s.observe(th, ev), s.inferState(th, ev), nil
}

// WaitedLock describes the lock for which the thread waits. All locks of the runtime are words on which threads
// sleep; only nestable ones store their owner.
func (wr *waits) WaitedLock(h handles.Thread, ev *handles.Evidence) (rtl.LockInfo, error) {
	o, st, err := wr.states.stateOfHandle(h, ev)
	if err != nil {
		return rtl.LockInfo{}, err
	}
	switch st.State {
	case handles.StateWaitOrdered:
		if strings.Contains(o.calledFunction(), "doacross") {
			return rtl.LockInfo{}, fmt.Errorf("%v waits for iterations of a doacross loop: %w", h,
				callbacks.Unsupported)
		}
		return wr.findTurn(o)
	case handles.StateWaitLock, handles.StateWaitCritical, handles.StateWaitAtomic, handles.StateWaitMutex:
	default:
		return rtl.LockInfo{}, fmt.Errorf("%v waits for no lock: %w", h, callbacks.Unavailable)
	}
	if st.WaitID == 0 {
		return rtl.LockInfo{}, fmt.Errorf("the lock that %v waits for was not found: %w", h, callbacks.Unavailable)
	}
	info := rtl.LockInfo{
		Kind: "futex", Lock: callbacks.Addr(st.WaitID), Variable: callbacks.Addr(st.WaitVariable),
		Nested:      o.kind == entryNestLock,
		OwnerNumber: -1, Evidence: describeLock(wr.mem, callbacks.Addr(st.WaitID)),
	}
	word, err := layout.ReadUint(wr.mem, info.Lock, 4)
	if err != nil {
		return info, err
	}
	if info.Overwritten = isOverwritten(wr.mem, o.ev, info.Lock, word); info.Overwritten {
		info.Evidence = fmt.Sprintf("the lock's word at %v is %#x, which is no state of a lock, and the thread "+
			"waits since it was %d", info.Lock, word, lockContended)
		return info, nil
	}
	info.Held = word != 0
	if !info.Nested || !info.Held {
		return info, nil
	}
	own, err := wr.states.nestLockAt(info.Lock)
	if err != nil {
		return info, nil
	}
	info.Evidence = own.text
	if own.thread != nil {
		info.Owner, info.OwnerNumber = wr.threadHandle(own.thread), int64(own.thread.number)
	}
	return info, nil
}

// Values of a lock's word (gomp_mutex_t): free, taken, and taken with sleeping threads. Before GCC 4.7, the last
// value was 2.
const (
	lockFree         = 0
	lockTaken        = 1
	lockContended    = -1
	lockContendedOld = 2
)

// isOverwritten reports whether the memory at a no longer contains a lock. A thread sleeps on a word only as
// long as the word has the expected value, and it has written that value just before.
func isOverwritten(mem callbacks.Memory, ev *handles.Evidence, a callbacks.Address, word uint64) bool {
	if ev == nil || ev.Registers == nil {
		return false
	}
	futex, expected := ev.Futex, uint32(ev.Registers.SyscallArgs[2])
	if pending, value, ok := arch.PendingFutexWait(ev.Registers, mem); ok {
		futex, expected = pending, value
	}
	if futex != a || int32(expected) != lockContended {
		return false
	}
	switch int32(word) {
	case lockFree, lockTaken, lockContended, lockContendedOld:
		return false
	}
	return true
}

// Bits of a barrier's generation, below those that count generations.
const (
	barWaitingForTask = 2 // all threads have arrived, and tasks are left
	barFlags          = 7
	barFirst          = 8 // one barrier was passed: for a nested team, the barrier at which its members meet first
)

// WaitedBarrier describes the barrier at which the thread waits. The runtime counts the threads that have
// arrived, for the barrier at the end of the region and for the others, but not which threads these are. They
// are the threads that sleep on the barrier's word or are in its code, if their number equals the count: each
// counted thread that is not yet released is there.
func (wr *waits) WaitedBarrier(h handles.Thread, of func(handles.Thread) *handles.Evidence) (rtl.BarrierInfo, error) {
	o, st, err := wr.states.stateOfHandle(h, of(h))
	if err != nil {
		return rtl.BarrierInfo{}, err
	}
	if st.WaitKind != picture.WaitBarrier || len(o.th.frames) == 0 {
		return rtl.BarrierInfo{}, fmt.Errorf("%v waits at no barrier that is known: %w", h, callbacks.Unavailable)
	}
	r := wr.threads.world().regionAtFrame(o.th, 0)
	f := &wr.l.Team
	rec := layout.Read(wr.mem, r.team.addr, f.Generation, f.Awaited, f.AwaitedFinal)
	generation, awaited := rec.Uint(f.Generation), rec.Uint(f.Awaited)
	if st.State == handles.StateWaitBarrierImplicitParallel {
		awaited = rec.Uint(f.AwaitedFinal)
	}
	n := r.numThreads()
	if err := rec.Err(); err != nil || awaited < 1 || awaited > uint64(n) {
		return rtl.BarrierInfo{}, fmt.Errorf("barrier of the team at %v: %d of %d awaited (%v): %w", r.team.addr,
			awaited, n, err, callbacks.Unavailable)
	}
	info := rtl.BarrierInfo{Counter: callbacks.Addr(st.WaitID), TeamSize: n, Tasks: generation&barWaitingForTask != 0}
	if info.Tasks {
		info.Evidence = fmt.Sprintf("the barrier's generation is %#x: all have arrived, tasks are left", generation)
		return info, nil
	}
	s := wr.divideMembers(r, st.State == handles.StateWaitBarrierImplicitParallel, generation, of)
	arrived := n - int(awaited)
	info.Evidence = fmt.Sprintf("%d of %d counted; threads in the barrier: %d, of these asleep on its generation %#x: "+
		"%d", arrived, n, len(s.inside), generation, len(s.asleep))
	switch {
	case len(s.inside) == arrived && !s.elsewhere:
		info.Arrived = s.inside
	case len(s.asleep) == arrived:
		info.Arrived = s.asleep
	}
	if !slices.Contains(info.Arrived, h) {
		info.Arrived = nil
		return info, nil
	}
	for _, m := range s.members {
		if !slices.Contains(info.Arrived, m) {
			info.Missing = append(info.Missing, m)
		}
	}
	return info, nil
}

// shares divides the members of a team by their position.
type shares struct {
	members []handles.Thread
	inside  []handles.Thread // in the code of the barrier
	asleep  []handles.Thread // sleeping until this generation is over
	// elsewhere means that a member may have been counted although it is in other code now: it executes a task,
	// or its position is unknown.
	elsewhere bool
}

// divideMembers divides the members of a region into those at its final barrier and those at another one.
func (wr *waits) divideMembers(r *region, final bool, generation uint64,
	of func(handles.Thread) *handles.Evidence,
) shares {
	s := shares{}
	word := r.team.addr.Add(wr.l.Team.Generation.Offset)
	for num, m := range r.members {
		if m == nil || m.err != nil {
			s.elsewhere = true
			continue
		}
		mh := wr.threadHandle(m)
		ev := of(mh)
		s.members = append(s.members, mh)
		st := wr.states.inferState(m, ev)
		own := len(m.frames) > 0 && m.frames[0].team.addr == r.team.addr
		switch {
		case own && st.WaitKind == picture.WaitBarrier &&
			(st.State == handles.StateWaitBarrierImplicitParallel) == final:
			s.inside = append(s.inside, mh)
			if sleepsAt(ev, word, generation) {
				s.asleep = append(s.asleep, mh)
			}
		case wr.states.observe(m, ev).hasNoCaller(), st.State == handles.StateUndefined,
			wr.records.taskIn(m, r) != wr.records.implicitAddress(r.team, num):
			s.elsewhere = true
		}
	}
	return s
}

// sleepsAt reports whether a thread sleeps on a barrier's word until the given generation is over. A thread that
// sleeps for an earlier generation was woken, and is leaving the previous barrier.
func sleepsAt(ev *handles.Evidence, word callbacks.Address, generation uint64) bool {
	return ev != nil && ev.Futex == word && ev.Registers != nil &&
		uint32(ev.Registers.SyscallArgs[2])&^barFlags == uint32(generation)&^barFlags
}

// WaitedGroup returns the unfinished tasks of the taskgroup whose end the thread waits for. all is true if
// their number equals the group's count.
func (wr *waits) WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error) {
	r, th, err := wr.threads.regionOf(h)
	if err != nil {
		return nil, false, err
	}
	cur, err := wr.records.readTask(th.task)
	if err != nil {
		return nil, false, fmt.Errorf("%v: %w", h, err)
	}
	group, waits := wr.records.taskgroupWait(cur)
	if !waits {
		return nil, false, fmt.Errorf("%v waits at the end of no taskgroup: %w", h, callbacks.Unavailable)
	}
	f := wr.l.Taskgroup.NumChildren
	rec := layout.Read(wr.mem, group, f)
	count := rec.Uint(f)
	if err := rec.Err(); err != nil {
		return nil, false, err
	}
	seen := map[handles.Task]bool{}
	for t, err := range wr.tasks.ExplicitTasks(wr.parallelHandle(r)) {
		if err != nil {
			return tasks, false, err
		}
		member, err := wr.records.readTask(t.Data)
		if err == nil && t.Data != cur.addr && member.rec.Address(wr.l.Task.Taskgroup) == group && !seen[t] {
			seen[t] = true
			tasks = append(tasks, t)
		}
	}
	return tasks, uint64(len(tasks)) == count, nil
}
