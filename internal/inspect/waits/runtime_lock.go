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

// Offsets of the tickets in a ticket lock of LLVM's runtime, the same in all releases that are read.
const (
	nextTicket = 24
	nowServing = 28
)

// runtimeLockName is the name of a lock that the runtime has for itself.
const runtimeLockName = "of the OpenMP runtime's own"

// ownLockWait finds a thread that waits for a lock of the runtime's own which it has acquired itself: the function that
// acquires the lock has two frames on the stack, with frames of the runtime alone between them, and the lock's tickets
// count one holder and one waiting thread. The runtime does so when an error in its end is reported while it reports
// another one.
func (nw *nativeWaits) ownLockWait(n *teams.Thread) (wait, bool) {
	if nw.code.Symbols == nil {
		return wait{}, false
	}
	st := n.Stack()
	at := -1
	for i := 0; i+1 < len(st.Kinds) && st.Kinds[i] != stacks.KindUser && at < 0; i++ {
		if name, _, ok := nw.code.Symbols.Exported(st.Frames[i].LookupPC()); ok && rtl.IsOwnLock(name) {
			at = i + 1
		}
	}
	if at < 0 || st.Kinds[at] != stacks.KindRuntime {
		return wait{}, false
	}
	again, function := false, nw.code.FunctionEntry(st.Frames[at])
	for i := at + 1; i < len(st.Kinds) && st.Kinds[i] == stacks.KindRuntime && !again; i++ {
		again = nw.code.FunctionEntry(st.Frames[i]) == function
	}
	lock, ok := nw.code.Argument(st.Frames[at].PC, 0, st.Frames[at].Registers)
	if !again || !ok {
		return wait{}, false
	}
	next, err := layout.ReadUint(nw.target, callbacks.Addr(lock+nextTicket), 4)
	now, err2 := layout.ReadUint(nw.target, callbacks.Addr(lock+nowServing), 4)
	if err != nil || err2 != nil || uint32(next)-uint32(now) != 2 {
		return wait{}, false
	}
	const words = "the function of the runtime that waits for its lock at %v is on the stack twice: it holds the " +
		"lock since its first call (next_ticket %d, now_serving %d: one thread holds it, and one waits)"
	return wait{
		Wait: picture.Wait{Kind: picture.WaitLock, Name: runtimeLockName,
			Evidence: fmt.Sprintf(words, picture.Hex(lock), uint32(next), uint32(now))},
		address: lock, ownLock: true,
	}, true
}

// ownLock describes the lock that w waits for and whose holder is the same thread.
func ownLock(w wait) picture.Lock {
	return picture.Lock{Implementation: "bootstrap", Held: true, Evidence: w.Evidence,
		Holders: []picture.Holder{{Thread: w.Thread, Certainty: picture.Likely, Evidence: w.Evidence}}}
}
