package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/pycode"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Offsets in CPython's record of its interpreter's lock (struct _gil_runtime_state), from the condition variable
// in it on which threads sleep. They are the same in 3.7 to 3.15. They serve for interpreters without _PyRuntime.
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

// interpreterWait finds the wait of n for the lock of Python's interpreter (GIL). Such a thread waits for some
// milliseconds on the lock's condition variable, again and again, until it gets the lock. futex is the word on which
// it sleeps, 0 between two sleeps. The locks and their holders are known from the interpreter's own structures; if
// none could be read, the holder is read from the memory around the condition variable. If that is not consistent,
// the wait is an ordinary wait on a condition variable.
func (nw *nativeWaits) interpreterWait(n *teams.Thread, futex uint64, _ uint32) (wait, bool) {
	locks := nw.interpreterLocks()
	isIts := func(l interpreterLock) bool { return futex-l.Condition < pycode.ConditionSize }
	if len(locks) == 0 || futex == 0 {
		cond, ok := nw.interpreterCondition(n)
		switch {
		case !ok:
			return wait{}, false
		case len(locks) == 0:
			return nw.waitByCondition(n, cond)
		}
		isIts = func(l interpreterLock) bool { return l.Condition == cond }
	}
	i := slices.IndexFunc(locks, isIts)
	if i < 0 {
		return wait{}, false
	}
	return nw.waitForInterpreter(n, locks[i], len(locks) > 1)
}

// AddInterpreterWait adds to t, thread n of a picture without OpenMP, its wait for the lock or a pause of a Python
// interpreter.
func (wf *Finder) AddInterpreterWait(t *picture.Thread, n *teams.Thread) {
	if len(wf.Code.Interpreters()) == 0 {
		return
	}
	if w, ok := wf.native.nativeWait(n); ok && (w.interpreter || w.Kind == picture.WaitPause) {
		t.WaitID, t.WaitKind, t.WaitName, t.WaitOn = picture.Address(w.address), w.Kind, w.Name, w.WaitOn
	}
}

// interpreterLock is a lock of a Python interpreter.
type interpreterLock struct {
	pycode.Lock
	threads []pycode.Thread // of its interpreters
}

// interpreterLocks returns the locks of the target's Python interpreters.
func (nw *nativeWaits) interpreterLocks() []interpreterLock {
	var out []interpreterLock
	for _, in := range nw.code.Interpreters() {
		for _, l := range in.Locks {
			out = append(out, interpreterLock{l, in.Threads})
		}
	}
	return out
}

// waitForInterpreter returns the wait of n for a lock, if another thread is known to hold the lock. several is set if
// there is more than one lock: the name then has the interpreter's number.
func (nw *nativeWaits) waitForInterpreter(n *teams.Thread, l interpreterLock, several bool) (wait, bool) {
	i := slices.IndexFunc(l.threads, func(t pycode.Thread) bool { return t.Address == l.Holder })
	if l.Holder == 0 || i < 0 {
		return wait{}, false
	}
	holder := nw.roster.ByPthread[l.threads[i].Pthread]
	if holder == nil || holder == n || holder.LWP == 0 {
		return wait{}, false
	}
	w := wait{address: l.Condition, variable: l.Condition, interpreter: true}
	w.Kind, w.Name, w.WaitOn = picture.WaitMutex, picture.InterpreterLock, holder.LWP
	if several {
		w.Name = picture.InterpreterLockOf(l.Interpreter)
	}
	const words = "the interpreter's record of the lock at %v is locked, and its last_holder is the thread of LWP %d"
	w.Evidence = fmt.Sprintf(words, picture.Hex(l.Address), w.WaitOn)
	return w, true
}

// interpreterCondition returns the condition variable on which a function of Python's interpreter waits.
func (nw *nativeWaits) interpreterCondition(n *teams.Thread) (uint64, bool) {
	if !slices.ContainsFunc(gilWaits, func(name string) bool { return n.InFunction(name) }) {
		return 0, false
	}
	st := n.Stack()
	top := slices.Index(st.Kinds, stacks.KindUser)
	entry, ok := nw.code.Lookup("PyEval_RestoreThread")
	if top < 0 || !ok || nw.code.ModuleOf(entry) != nw.code.ModuleOf(st.Frames[top].PC) {
		return 0, false
	}
	return nw.topArgument(n, 0)
}

// waitByCondition returns the wait of n for the lock with a condition variable, by the memory around it.
func (nw *nativeWaits) waitByCondition(n *teams.Thread, cond uint64) (wait, bool) {
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
