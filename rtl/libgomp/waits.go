package libgomp

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

var _ rtl.WaitReader = (*runtime)(nil)

// stateOfHandle is the state of the thread that h names, and what it was seen by.
func (rt *runtime) stateOfHandle(h handles.Thread, ev *rtl.Evidence) (*observer, rtl.ThreadState, error) {
	_, th, err := rt.regionOf(h)
	if err != nil {
		return nil, rtl.ThreadState{}, err
	}
	o := rt.observe(th, ev)
	return o, o.infer(), nil
}

// WaitedLock describes the lock that the thread waits for. All locks of the runtime
// are words that threads sleep on; only a nestable one has its owner.
func (rt *runtime) WaitedLock(h handles.Thread, ev *rtl.Evidence) (rtl.LockInfo, error) {
	o, st, err := rt.stateOfHandle(h, ev)
	if err != nil {
		return rtl.LockInfo{}, err
	}
	switch st.State {
	case rtl.StateWaitLock, rtl.StateWaitCritical, rtl.StateWaitAtomic, rtl.StateWaitMutex:
	default:
		return rtl.LockInfo{}, fmt.Errorf("%v waits for no lock: %w", h, callbacks.Unavailable)
	}
	if st.WaitID == 0 {
		return rtl.LockInfo{}, fmt.Errorf("the lock that %v waits for was not found: %w", h, callbacks.Unavailable)
	}
	info := rtl.LockInfo{
		Kind: "futex", Lock: callbacks.At(st.WaitID), Variable: callbacks.At(st.WaitVariable), Nested: o.kind == entryNestLock,
		OwnerNumber: -1, Evidence: lockText(rt.mem, callbacks.At(st.WaitID)),
	}
	word, err := layout.ReadUint(rt.mem, info.Lock, 4)
	if err != nil {
		return info, err
	}
	info.Held = word != 0
	if !info.Nested || !info.Held {
		return info, nil
	}
	own, err := rt.nestLockAt(info.Lock)
	if err != nil {
		return info, nil
	}
	info.Evidence = own.text
	if own.thread != nil {
		info.Owner, info.OwnerNumber = rt.threadHandle(own.thread), int64(own.thread.number)
	}
	return info, nil
}

// Bits of a barrier's generation, below those that count it.
const (
	barWaitingForTask = 2 // all have arrived, and tasks are left
	barFlags          = 7
)

// WaitedBarrier describes the barrier that the thread waits at. The runtime counts
// who has not arrived; who has arrived, the word that they sleep on tells. A thread
// that spins is not seen, but for the one that is asked about.
func (rt *runtime) WaitedBarrier(h handles.Thread, ev *rtl.Evidence) (rtl.BarrierInfo, error) {
	o, st, err := rt.stateOfHandle(h, ev)
	if err != nil {
		return rtl.BarrierInfo{}, err
	}
	if st.WaitKind != "barrier" || len(o.th.frames) == 0 {
		return rtl.BarrierInfo{}, fmt.Errorf("%v waits at no barrier that is known: %w", h, callbacks.Unavailable)
	}
	r := rt.world().at(o.th, 0)
	f := &rt.l.Team
	rec := layout.Read(rt.mem, r.team.addr, f.Generation, f.Awaited, f.AwaitedFinal)
	generation, awaited := rec.Uint(f.Generation), rec.Uint(f.Awaited)
	if st.State == rtl.StateWaitBarrierImplicitParallel {
		awaited = rec.Uint(f.AwaitedFinal)
	}
	n := r.size()
	if err := rec.Err(); err != nil || awaited < 1 || awaited > uint64(n) {
		return rtl.BarrierInfo{}, fmt.Errorf("barrier of the team at %v: %d of %d awaited (%v): %w", r.team.addr, awaited, n, err, callbacks.Unavailable)
	}
	info := rtl.BarrierInfo{Counter: callbacks.At(st.WaitID), TeamSize: n}
	word := r.team.addr.Add(f.Generation.Offset)
	var rest []handles.Thread
	for _, m := range r.members {
		switch {
		case m == nil:
		case m == o.th || rt.sleepsAt(m, word, generation):
			info.Arrived = append(info.Arrived, rt.threadHandle(m))
		default:
			rest = append(rest, rt.threadHandle(m))
		}
	}
	arrived := n - int(awaited)
	info.Tasks = generation&barWaitingForTask != 0
	info.Evidence = fmt.Sprintf("%d of %d counted, %d of them sleep on the barrier's generation %#x", arrived, n, len(info.Arrived), generation)
	if info.Tasks {
		info.Evidence = fmt.Sprintf("the barrier's generation is %#x: all have arrived, tasks are left", generation)
	} else if len(info.Arrived) == arrived {
		info.Missing = rest
	}
	return info, nil
}

// sleepsAt tells whether a thread sleeps on a barrier's word until its generation
// is over. One that sleeps for an earlier generation has been woken, and is leaving
// the barrier before.
func (rt *runtime) sleepsAt(th *thread, word callbacks.Address, generation uint64) bool {
	registers, ok := rt.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return false
	}
	regs, err := registers.Registers(callbacks.LWP(th.lwp))
	if err != nil {
		return false
	}
	a, ok := arch.IsFutexWait(&regs)
	return ok && a == word && uint32(regs.SyscallArgs[2])&^barFlags == uint32(generation)&^barFlags
}

// WaitedGroup lists the unfinished tasks of the taskgroup at whose end the thread
// waits. They are all if there are as many as the group counts.
func (rt *runtime) WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error) {
	r, th, err := rt.regionOf(h)
	if err != nil {
		return nil, false, err
	}
	cur, err := rt.task(th.task)
	if err != nil {
		return nil, false, fmt.Errorf("%v: %w", h, err)
	}
	group, waits := rt.taskgroupWait(cur)
	if !waits {
		return nil, false, fmt.Errorf("%v waits at the end of no taskgroup: %w", h, callbacks.Unavailable)
	}
	f := rt.l.Taskgroup.NumChildren
	rec := layout.Read(rt.mem, group, f)
	count := rec.Uint(f)
	if err := rec.Err(); err != nil {
		return nil, false, err
	}
	for t, err := range rt.ExplicitTasks(rt.parallelHandle(r)) {
		if err != nil {
			return tasks, false, err
		}
		member, err := rt.task(t.Data)
		if err == nil && t.Data != cur.addr && member.rec.Address(rt.l.Task.Taskgroup) == group && !slices.Contains(tasks, t) {
			tasks = append(tasks, t)
		}
	}
	return tasks, uint64(len(tasks)) == count, nil
}
