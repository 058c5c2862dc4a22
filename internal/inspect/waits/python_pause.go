package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/image/pycode"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pauseWait finds the wait of n for a pause of all threads of a free-threaded Python interpreter. The thread that
// requested the pause waits until no other thread is attached; it sleeps for a millisecond, again and again. A thread
// that stopped waits for the end of the pause. futex is the word on which n sleeps, 0 if it does not sleep.
func (nw *nativeWaits) pauseWait(n *teams.Thread, futex uint64, _ uint32) (wait, bool) {
	for _, in := range nw.code.Interpreters() {
		if len(in.Pauses) == 0 || !nw.isInnermost(n, in) {
			continue
		}
		for _, p := range in.Pauses {
			if w, ok := nw.waitForPause(n, futex, in, p); ok {
				return w, true
			}
		}
	}
	return wait{}, false
}

// isInnermost reports whether the innermost code of n outside of the C library is that of an interpreter.
func (nw *nativeWaits) isInnermost(n *teams.Thread, in *stacks.Interpreter) bool {
	st := n.Stack()
	i := slices.IndexFunc(st.Kinds, func(k stacks.Kind) bool { return k != stacks.KindSystem })
	return i >= 0 && st.Frames[i].Module != nil && st.Frames[i].Module.Low == in.Module.Low
}

// waitForPause returns the wait of n for one pause.
func (nw *nativeWaits) waitForPause(n *teams.Thread, futex uint64, in *stacks.Interpreter, p pycode.Pause) (wait,
	bool) {
	var own *pycode.Thread
	var requester *teams.Thread
	var attached []int
	for i := range in.Threads {
		t := &in.Threads[i]
		other := nw.roster.ByPthread[t.Pthread]
		switch {
		case p.Interpreter != 0 && t.Interpreter != p.Interpreter:
		case other == nil || other.LWP == 0:
		case t.Address == p.Requester:
			if requester = other; other == n {
				own = t
			}
		case other == n:
			own = t
		case t.State == pycode.Attached:
			attached = append(attached, other.LWP)
		}
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitPause}}
	switch {
	case own == nil || requester == nil:
		return wait{}, false
	case requester == n:
		if p.Reached || len(attached) == 0 {
			return wait{}, false
		}
		slices.Sort(attached)
		w.Name, w.Threads = picture.PauseStart, attached
		const words = "it requested the pause at %v, and LWP %d is still attached to the interpreter"
		w.Evidence = fmt.Sprintf(words, picture.Hex(p.Address), attached[0])
	case own.State == pycode.Suspended && futex != 0:
		w.Name, w.Threads = picture.PauseEnd, []int{requester.LWP}
		const words = "its thread state is suspended by the pause at %v, which LWP %d requested"
		w.Evidence = fmt.Sprintf(words, picture.Hex(p.Address), requester.LWP)
	default:
		return wait{}, false
	}
	w.WaitOn = w.Threads[0]
	return w, true
}
