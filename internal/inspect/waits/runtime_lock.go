package waits

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// runtimeLockName is the name of a lock that the runtime has for itself.
const runtimeLockName = "of the OpenMP runtime's own"

// maxOwnLockFrames is the number of frames of the runtime in which the function that acquires a lock of its own is
// searched: that function itself, and those by which it yields the processor.
const maxOwnLockFrames = 3

// ownLockWait finds a thread that waits for a lock of the runtime's own which it has acquired itself: the function that
// acquires the lock has two frames on the stack, with frames of the runtime alone between them, and the lock's tickets
// count one holder and one waiting thread. The runtime does so when an error in its end is reported while it reports
// another one. Such a thread does not sleep in a futex.
func (nw *nativeWaits) ownLockWait(n *teams.Thread) (wait, bool) {
	if nw.code.Symbols == nil || n.OnFutex() {
		return wait{}, false
	}
	st := n.Stack()
	lock, at := nw.ownLockFrame(st)
	if at < 0 || at+1 >= len(st.Kinds) || st.Kinds[at+1] != stacks.KindRuntime {
		return wait{}, false
	}
	caller := at + 1
	again, function := false, nw.code.FunctionEntry(st.Frames[caller])
	for i := caller + 1; i < len(st.Kinds) && st.Kinds[i] == stacks.KindRuntime && !again; i++ {
		again = nw.code.FunctionEntry(st.Frames[i]) == function
	}
	variable, ok := nw.code.Argument(st.Frames[caller].PC, 0, st.Frames[caller].Registers)
	if !again || !ok {
		return wait{}, false
	}
	next, err := layout.ReadUint(nw.target, callbacks.Addr(variable+lock.NextTicket), 4)
	now, err2 := layout.ReadUint(nw.target, callbacks.Addr(variable+lock.NowServing), 4)
	if err != nil || err2 != nil || uint32(next)-uint32(now) != 2 {
		return wait{}, false
	}
	const words = "the function of the runtime that waits for its lock at %v is on the stack twice: it holds the " +
		"lock since its first call (next_ticket %d, now_serving %d: one thread holds it, and one waits)"
	return wait{
		Wait: picture.Wait{Kind: picture.WaitLock, Name: runtimeLockName,
			Evidence: fmt.Sprintf(words, picture.Hex(variable), uint32(next), uint32(now))},
		address: variable, ownLock: true,
	}, true
}

// ownLockFrame returns the frame of the function that acquires a lock of the runtime's own, and that lock; -1 if the
// innermost frames of the runtime are of other functions.
func (nw *nativeWaits) ownLockFrame(st *stacks.Stack) (rtl.OwnLock, int) {
	frames := 0
	for i, kind := range st.Kinds {
		if kind == stacks.KindUser || frames == maxOwnLockFrames {
			break
		}
		if kind == stacks.KindRuntime {
			frames++
		}
		name, _, _ := nw.code.Symbols.Exported(st.Frames[i].LookupPC())
		if lock, ok := rtl.OwnLockOf(name); ok {
			return lock, i
		}
	}
	return rtl.OwnLock{}, -1
}

// ownLock describes the lock that w waits for and whose holder is the same thread.
func ownLock(w wait) picture.Lock {
	return picture.Lock{Implementation: "bootstrap", Held: true, Evidence: w.Evidence,
		Holders: []picture.Holder{{Thread: w.Thread, Certainty: picture.Likely, Evidence: w.Evidence}}}
}
