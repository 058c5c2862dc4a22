package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// fibers returns the LWPs of threads that run on a stack which the C library has not made for them: a fiber or a
// coroutine with a stack of its own. Other fibers of the thread are on no stack that is read.
func (wf *Finder) fibers() []int {
	var out []int
	for _, n := range wf.Threads.Sorted() {
		if n.LWP != 0 && wf.isFiber(n) {
			out = append(out, n.LWP)
		}
	}
	return out
}

// isFiber reports whether the stack pointer of a thread is outside of its stack. A signal's handler may run on a stack
// of its own, and Go's code always does. A stack that overflowed is no fiber's.
func (wf *Finder) isFiber(n *teams.Thread) bool {
	regs := n.Registers()
	if regs == nil || n.LWP == wf.About.CrashedLWP {
		return false
	}
	if _, overrun := wf.Threads.FindOverrun(n, wf.Data.Library()); overrun {
		return false
	}
	s, ok := wf.Data.Library().OwnStack(uint64(n.LWP))
	return ok && !s.Contains(regs.SP()) &&
		!slices.ContainsFunc(n.Stack().Frames, func(f unwind.Frame) bool { return f.Signal || f.Go })
}

// fiberFacts describes the fibers of the program; nil if no thread runs any.
func (wf *Finder) fiberFacts() *picture.Fibers {
	out := picture.Fibers{Threads: wf.fibers(), Switch: wf.reach.stackSwitch()}
	if len(out.Threads) == 0 && out.Switch == "" {
		return nil
	}
	return &out
}

// stackSwitch returns a function that switches stacks, with which code on the stack of a thread is linked.
func (r *reach) stackSwitch() (name string) {
	if r.code.Symbols == nil {
		return ""
	}
	r.anyModule(func(pc uint64) bool {
		i := slices.IndexFunc(rtl.StackSwitches(), func(name string) bool {
			binds, _ := r.code.Symbols.IsLinkedWith(pc, name)
			return binds
		})
		if i >= 0 {
			name = rtl.StackSwitches()[i]
		}
		return i >= 0
	})
	return name
}
