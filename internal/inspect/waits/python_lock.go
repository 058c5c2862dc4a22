package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Offsets in CPython's record of its interpreter's lock (struct _gil_runtime_state), from the condition variable
// in it on which threads sleep. They are the same in 3.7 to 3.14.
const (
	gilIntervalAt = -32 // duration of a sleep, in microseconds
	gilHolderAt   = -24 // PyThreadState of the last holder
	gilLockedAt   = -16
	gilMutexAt    = 48 // held while the other fields change
	// maxGILInterval is longer than any configured duration: a minute.
	maxGILInterval = 60_000_000
	// threadStateSize is the part of a PyThreadState that is read. It contains the thread's pthread_t (thread_id).
	threadStateSize = 256
)

// gilWaits are the calls in which CPython waits for its interpreter's lock.
var gilWaits = []string{"pthread_cond_timedwait", "pthread_cond_clockwait"}

// interpreterWait finds the wait of n for the lock of Python's interpreter. Such a thread waits for some
// milliseconds on a condition variable, again and again, until it gets the lock. The holder is read from the
// memory around that variable. If that is not consistent, the wait is an ordinary wait on a condition variable.
func (nw *nativeWaits) interpreterWait(n *teams.Thread, _ uint64, _ uint32) (wait, bool) {
	if !slices.ContainsFunc(gilWaits, func(name string) bool { return n.InFunction(name) }) {
		return wait{}, false
	}
	st := n.Stack()
	top := slices.Index(st.Kinds, stacks.KindUser)
	entry, ok := nw.code.Lookup("PyEval_RestoreThread")
	if top < 0 || !ok || nw.code.ModuleOf(entry) != nw.code.ModuleOf(st.Frames[top].PC) {
		return wait{}, false
	}
	cond, ok := nw.topArgument(n, 0)
	if !ok {
		return wait{}, false
	}
	holder := nw.interpreterHolder(cond)
	if holder == nil || holder == n {
		return wait{}, false
	}
	w := wait{address: cond, variable: cond, interpreter: true}
	w.Kind, w.Name, w.WaitOn = picture.WaitMutex, picture.InterpreterLock, holder.LWP
	const words = "Python's record of the lock around %v (last_holder, locked) has the thread of LWP %d"
	w.Evidence = fmt.Sprintf(words, picture.Hex(cond), w.WaitOn)
	return w, true
}

// interpreterHolder returns the thread that holds the lock of Python's interpreter with a condition variable; nil
// if the lock is free, or the holder is unknown.
func (nw *nativeWaits) interpreterHolder(cond uint64) *teams.Thread {
	word := func(at int64, size uint64) uint64 {
		v, err := layout.ReadUint(nw.target, callbacks.Addr(cond+uint64(at)), size)
		if err != nil {
			return 0
		}
		return v
	}
	interval := word(gilIntervalAt, 8)
	mutex, err := layout.ReadUint(nw.target, callbacks.Addr(cond+gilMutexAt), 4)
	if interval == 0 || interval > maxGILInterval || word(gilLockedAt, 4) != 1 || err != nil || mutex != 0 {
		return nil
	}
	state := make([]byte, threadStateSize)
	if err := nw.target.ReadMemory(callbacks.Addr(word(gilHolderAt, 8)), state); err != nil {
		return nil
	}
	var holder *teams.Thread
	for at := 0; at < len(state); at += 8 {
		n := nw.roster.ByPthread[callbacks.Word(state[at:at+8])]
		switch {
		case n == nil || n.LWP == 0 || n == holder:
		case holder != nil:
			return nil
		default:
			holder = n
		}
	}
	return holder
}
