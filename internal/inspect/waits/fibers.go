package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
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
// of its own, and Go's code always does. A stack that overflowed may be the cause of a crash.
func (wf *Finder) isFiber(n *teams.Thread) bool {
	regs := n.Registers()
	if regs == nil || n.LWP == wf.About.CrashedLWP {
		return false
	}
	s, ok := wf.Data.Library().OwnStack(uint64(n.LWP))
	return ok && !s.Contains(regs.SP()) &&
		!slices.ContainsFunc(n.Stack().Frames, func(f unwind.Frame) bool { return f.Signal || f.Go })
}

// fiberText describes the threads that run fibers; "" if there are none.
func fiberText(lwps []int) string {
	if len(lwps) == 0 {
		return ""
	}
	who := fmt.Sprintf("LWP %d runs on a stack that is not its own", lwps[0])
	if n := len(lwps); n > 1 {
		who = fmt.Sprintf("%d threads (first: LWP %d) run on stacks that are not their own", n, lwps[0])
	}
	return who + ", as a fiber or coroutine does: the frames of other fibers are not seen"
}
