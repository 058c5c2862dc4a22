package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// crashedWait finds the lock that the crashed thread gave to a function for locks. That function was at work, or has
// jumped to an address without code: then no frame of the runtime is left on the stack.
func (wf *Finder) crashedWait(n *teams.Thread) (wait, bool) {
	st := n.Stack()
	from := slices.IndexFunc(st.Frames, func(f unwind.Frame) bool { return f.Signal }) + 1
	if n.LWP != wf.About.CrashedLWP || from >= len(st.Frames) {
		return wait{}, false
	}
	jumped := !wf.Code.IsExecutable(st.Frames[from].PC)
	if !jumped && !wf.hasFault(n) {
		return wait{}, false
	}
	c, ok := wf.Code.LockCallAfter(st, from)
	if !ok {
		return wait{}, false
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitLock, Call: c.Name}, crashed: true}
	if c.Family == rtl.FamilyNest {
		w.Kind = picture.WaitNestLock
	}
	w.variable, ok = wf.Code.Argument(st.Frames[c.Frame].PC, 0, st.Frames[c.Frame].Registers)
	if !ok {
		w.variable, ok = wf.Flows.Argument(st, c.Frame, 0)
	}
	w.address = w.variable
	if ok {
		w.Name = w.nameIn(wf.Data)
	}
	return w, true
}

// hasFault reports whether a thread died of a fault that it raised.
func (wf *Finder) hasFault(n *teams.Thread) bool {
	_, raised := stacks.RaisedFault(wf.About)
	return raised && n.LWP == wf.About.CrashedLWP
}
