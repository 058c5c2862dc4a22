package ompd

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var _ rtl.WaitReader = (*Process)(nil)

// waits is the runtime's power to tell more of waits, if it has it.
func waits(rt rtl.Runtime) (rtl.WaitReader, error) {
	if w, ok := rt.(rtl.WaitReader); ok {
		return w, nil
	}
	return nil, fmt.Errorf("%s: who has what threads wait for is not read: %w", rt.Identity().Name,
		callbacks.Unsupported)
}

// WaitedLock describes the lock, critical section or atomic section that the
// thread waits for. OMPD has no such routine; callbacks.Unsupported on a runtime
// whose reader lacks it.
func (b beyond) WaitedLock(h handles.Thread, ev *rtl.Evidence) (rtl.LockInfo, error) {
	return query(b.p, "the waited lock", h, func(rt rtl.Runtime, h handles.Thread) (rtl.LockInfo, error) {
		w, err := waits(rt)
		if err != nil {
			return rtl.LockInfo{}, err
		}
		return w.WaitedLock(h, ev)
	})
}

// WaitedBarrier describes the barrier that the thread waits at, as WaitedLock
// does a lock. of gives what is known of each member of its team.
func (b beyond) WaitedBarrier(h handles.Thread, of func(handles.Thread) *rtl.Evidence) (rtl.BarrierInfo, error) {
	return query(b.p, "the waited barrier", h, func(rt rtl.Runtime, h handles.Thread) (rtl.BarrierInfo, error) {
		w, err := waits(rt)
		if err != nil {
			return rtl.BarrierInfo{}, err
		}
		return w.WaitedBarrier(h, of)
	})
}

// WaitedDependences lists the unfinished tasks that a thread in a taskwait waits
// for, if it is one with dependences.
func (b beyond) WaitedDependences(h handles.Thread, ev *rtl.Evidence) ([]handles.Task, error) {
	return query(b.p, "the waited dependences", h, func(rt rtl.Runtime, h handles.Thread) ([]handles.Task, error) {
		w, err := waits(rt)
		if err != nil {
			return nil, err
		}
		return w.WaitedDependences(h, ev)
	})
}

// WaitedGroup lists the unfinished tasks of the taskgroup at whose end the thread
// waits, and says whether they are all.
func (b beyond) WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error) {
	_, err = query(b.p, "the waited taskgroup", h, func(rt rtl.Runtime, h handles.Thread) (bool, error) {
		w, err := waits(rt)
		if err == nil {
			tasks, all, err = w.WaitedGroup(h)
		}
		return all, err
	})
	return tasks, all, err
}

// WaitedIteration tells which iteration of a loop with dependences the thread waits for.
func (b beyond) WaitedIteration(h handles.Thread, ev *rtl.Evidence) (rtl.Iteration, error) {
	return query(b.p, "the waited iteration", h, func(rt rtl.Runtime, h handles.Thread) (rtl.Iteration, error) {
		w, err := waits(rt)
		if err != nil {
			return rtl.Iteration{}, err
		}
		return w.WaitedIteration(h, ev)
	})
}
