package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// awaitsCondition is the wait of n on a condition variable. Which one, the call tells.
func (nw *nativeWaits) awaitsCondition(n *native, futex uint64, word uint32) (wait, bool) {
	called := func(name string) bool { return n.InFunction(name) }
	if !slices.ContainsFunc([]string{"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"}, called) {
		return wait{}, false
	}
	w := wait{Wait: picture.Wait{Kind: picture.WaitCondition}, timed: nw.timed(n, word)}
	if cond, ok := nw.topArgument(n, 0); ok && nw.data.Library().InCondition(cond, futex) {
		w.address, w.variable, w.Name = cond, cond, nw.data.PlaceName(cond)
	}
	return w, true
}

// topArgument is integer argument i of the call by which n's innermost frame that
// is neither the C library's nor a runtime's went to wait.
func (nw *nativeWaits) topArgument(n *native, i int) (uint64, bool) {
	st := n.Stack()
	top := slices.Index(st.Kinds, stacks.KindUser)
	if top < 1 {
		return 0, false
	}
	if v, ok := nw.code.Argument(st.Frames[top].PC, i, st.Frames[top].Registers); ok {
		return v, true
	}
	return nw.flows.Argument(st, top, i)
}

// callsLock is the wait of n, of which no runtime knows, for a lock of one: a thread
// that the program made may take locks without becoming the runtime's. The word that
// it sleeps on is the lock.
func (nw *nativeWaits) callsLock(n *native, futex uint64, _ uint32) (wait, bool) {
	c, w, ok := nw.lockCall(n)
	if !ok {
		return wait{}, false
	}
	w.address = futex
	if c.Arg >= 0 {
		if v, ok := nw.topArgument(n, c.Arg); !ok || v != futex {
			return wait{}, false
		}
		w.variable = futex
	}
	w.Name = w.nameBy(nw.data)
	return w, true
}

// spinsForLock is the same wait before n sleeps: GNU's runtime looks at the lock's word for a
// while first. The argument of the call is the lock, and its word says that it is held.
func (nw *nativeWaits) spinsForLock(n *native, regs *callbacks.Registers) (wait, bool) {
	c, w, ok := nw.lockCall(n)
	if !ok || c.Arg < 0 || regs.Syscall >= 0 {
		return wait{}, false
	}
	lock, ok := nw.topArgument(n, c.Arg)
	if !ok {
		return wait{}, false
	}
	if word, err := layout.ReadUint(nw.target, callbacks.At(lock), 4); err != nil || word == 0 {
		return wait{}, false
	}
	w.address, w.variable = lock, lock
	w.Name = w.nameBy(nw.data)
	return w, true
}

// lockCall is the call by which n, of which no runtime knows, went to acquire a lock of one.
func (nw *nativeWaits) lockCall(n *native) (rtl.LockCall, wait, bool) {
	st := n.Stack()
	top := st.RuntimeFrames()
	if n.rt != nil || top == 0 || top >= len(st.Kinds) || st.Kinds[top] != stacks.KindUser {
		return rtl.LockCall{}, wait{}, false
	}
	var w wait
	w.Call, _ = st.CalledFunction(top)
	c, ok := rtl.LockCallOf(w.Call)
	w.Kind = c.WaitKind()
	return c, w, ok && c.Set && w.Kind != ""
}

// foreignLock tells who has the lock that a thread waits for of which no runtime
// knows. Only the stacks tell.
func (wf *waitFinder) foreignLock(w wait) (picture.Lock, error) {
	word, err := layout.ReadUint(wf.native.target, callbacks.At(w.address), 4)
	if w.n == nil || w.n.rt != nil || err != nil {
		return picture.Lock{}, errNoWaits
	}
	l := picture.Lock{Implementation: "futex", Nested: w.Kind == picture.WaitNestLock, Held: word != 0}
	if l.Held {
		l.Holders = wf.holders.find(w, l)
	}
	return l, nil
}
