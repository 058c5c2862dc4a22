package extended

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var _ rtl.WaitReader = (*Process)(nil)

// waits returns the runtime's reader of waits.
func (p *Process) waits() (rtl.WaitReader, error) {
	if w, ok := p.rt.(rtl.WaitReader); ok {
		return w, nil
	}
	return nil, fmt.Errorf("%s: who has what threads wait for is not read: %w", p.rt.Identity().Name,
		callbacks.Unsupported)
}

// WaitedLock describes the lock, critical section or atomic section that the thread waits for.
func (p *Process) WaitedLock(h handles.Thread, ev *handles.Evidence) (rtl.LockInfo, error) {
	return ask(p, "the waited lock", h, func() (rtl.LockInfo, error) {
		w, err := p.waits()
		if err != nil {
			return rtl.LockInfo{}, err
		}
		return w.WaitedLock(h, ev)
	})
}

// WaitedBarrier describes the barrier at which the thread waits. evidence returns the evidence of each member of
// its team.
func (p *Process) WaitedBarrier(h handles.Thread, evidence func(handles.Thread) *handles.Evidence) (rtl.BarrierInfo,
	error) {
	return ask(p, "the waited barrier", h, func() (rtl.BarrierInfo, error) {
		w, err := p.waits()
		if err != nil {
			return rtl.BarrierInfo{}, err
		}
		return w.WaitedBarrier(h, evidence)
	})
}

// WaitedDependences lists the unfinished tasks for which a thread waits in a taskwait with dependences.
func (p *Process) WaitedDependences(h handles.Thread, ev *handles.Evidence) ([]handles.Task, error) {
	return ask(p, "the waited dependences", h, func() ([]handles.Task, error) {
		w, err := p.waits()
		if err != nil {
			return nil, err
		}
		return w.WaitedDependences(h, ev)
	})
}

// WaitedGroup lists the unfinished tasks of the taskgroup whose end the thread waits for. all reports
// whether the list is complete.
func (p *Process) WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error) {
	_, err = ask(p, "the waited taskgroup", h, func() (bool, error) {
		w, err := p.waits()
		if err == nil {
			tasks, all, err = w.WaitedGroup(h)
		}
		return all, err
	})
	return tasks, all, err
}

// WaitedIteration returns the iteration of a loop with dependences that the thread waits for.
func (p *Process) WaitedIteration(h handles.Thread, ev *handles.Evidence) (rtl.Iteration, error) {
	return ask(p, "the waited iteration", h, func() (rtl.Iteration, error) {
		w, err := p.waits()
		if err != nil {
			return rtl.Iteration{}, err
		}
		return w.WaitedIteration(h, ev)
	})
}
