package inspect

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// nativeWaits finds what threads wait for that no OpenMP runtime knows of: what the C
// library keeps, and locks of a runtime that threads of the program's own take.
type nativeWaits struct {
	target callbacks.Target
	notes  *stacks.Notes
	roster *roster
	code   *stacks.Code
	flows  *stacks.Flow
	data   *stacks.Data
	memory *reclaimed
	spins  *spins
	known  map[*native]nativeState
	once   map[uint64][]onceCall // by the flag
	clock  Clock                 // of the target; nil for one that stands
}

// nativeWait is what n waits for in the C library or in MPI, found at most once.
func (nw *nativeWaits) nativeWait(n *native) (wait, bool) {
	s, known := nw.known[n]
	if !known {
		s.wait, s.ok = nw.inLibrary(n)
		nw.known[n] = s
	}
	return s.wait, s.ok
}

// nativeState is what a thread waits for outside of OpenMP; not ok if it waits for nothing
// that is known.
type nativeState struct {
	wait wait
	ok   bool
}

// inLibrary is what n waits for in the C library: a mutex, a condition variable, a semaphore,
// or the end of a thread. They are known from the futex word that it sleeps on.
func (nw *nativeWaits) inLibrary(n *native) (wait, bool) {
	regs := n.Registers()
	if regs == nil {
		return wait{}, false
	}
	if w, ok := nw.inMPI(n); ok {
		return w, true
	}
	futex, ok := arch.IsFutexWait(regs)
	if !ok {
		if w, ok := nw.spinsForLock(n, regs); ok {
			return w, true
		}
		if w, ok := nw.spins.on(n); ok {
			return w, true
		}
		if w, ok := nw.awaitsInterpreter(n, 0, 0); ok { // between two of its waits
			return w, true
		}
		if w, ok := nw.sleeps(n, regs); ok {
			return w, true
		}
		return nw.inCall(n, regs)
	}
	finders := []func(*native, uint64, uint32) (wait, bool){
		nw.joins, nw.locksMutex, nw.locksReadWrite, nw.awaitsInterpreter, nw.awaitsCondition,
		nw.callsLock, nw.locksStream, nw.posts, nw.meets, nw.initializes, nw.runsOnce,
		nw.onWord,
	}
	if err := nw.data.Library().Supported("mutexes and thread control blocks"); err != nil {
		finders = finders[3:]
		if n.Stack().RuntimeFrames() == 0 { // no runtime called the C library
			nw.notes.Warn("what threads wait for in the C library is not known: %v", err)
		}
	}
	word, err := layout.ReadUint(nw.target, futex, 4)
	if err != nil { // the word may be in memory that was returned to the system
		return nw.locksMutex(n, futex.Offset, 0)
	}
	for _, find := range finders {
		if w, ok := find(n, futex.Offset, uint32(word)); ok {
			return w, true
		}
	}
	return wait{}, false
}

// joins is the wait of n for the end of a thread: its futex word lies in that
// thread's own control block. Until glibc 2.41 the word is its LWP, which the kernel
// clears at the end; since then it is one that only pthread_join waits on.
func (nw *nativeWaits) joins(n *native, futex uint64, word uint32) (wait, bool) {
	t, ok := nw.data.Library().ThreadAt(futex)
	if !ok || t.LWP == 0 || int(t.LWP) == n.LWP {
		return wait{}, false
	}
	lwp := int(t.LWP)
	w := wait{Wait: picture.Wait{Kind: picture.WaitJoin, Name: fmt.Sprintf("end of LWP %d", lwp), WaitOn: lwp},
		address: t.Pthread}
	switch {
	case int(word) == lwp:
		w.Evidence = fmt.Sprintf("it sleeps until the thread id %d at %v is cleared", word, picture.Hex(futex))
	case n.InFunction("pthread_join"):
		const words = "it called pthread_join and sleeps on the word at %v, in that thread's control block"
		w.Evidence = fmt.Sprintf(words, picture.Hex(futex))
	case n.CalledByProgram() && asShared(n.Registers()): // pthread_join as a tail call
		const words = "it sleeps on the word at %v, in that thread's control block, as only pthread_join does"
		w.Evidence = fmt.Sprintf(words, picture.Hex(futex))
	default:
		return wait{}, false
	}
	return w, true
}

// asShared reports whether a thread sleeps, without a limit, on a word that the kernel, or another process, may change.
func asShared(regs *callbacks.Registers) bool {
	return arch.EndlessWait(regs, true) && !arch.EndlessWait(regs, false)
}

// locksMutex is the wait of n for a pthread mutex, which begins with its futex word
// and has its owner. What is in memory that was freed does not count.
func (nw *nativeWaits) locksMutex(n *native, futex uint64, _ uint32) (wait, bool) {
	m, err := nw.data.Library().Mutex(futex)
	sound := err == nil && m.Contended
	shown := sound && nw.linkedIn(n) && nw.roster.byLWP[int(m.Owner)] != nil
	if !shown && !n.InFunction("pthread_mutex_lock") {
		return wait{}, false
	}
	if !sound && nw.memory.FreedReason(futex) == "" {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitMutex, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex,
	}
	if sound && nw.roster.byLWP[int(m.Owner)] != nil {
		w.WaitOn, w.Evidence = int(m.Owner), fmt.Sprintf("__owner of the mutex at %v is %d", picture.Hex(futex),
			m.Owner)
	}
	return w, true
}

// linkedIn reports whether the C library is linked into the executable, where its functions may
// have no names, and n did not come to wait by a runtime: what the word that it sleeps on is,
// the memory around it tells then.
func (nw *nativeWaits) linkedIn(n *native) bool {
	st := n.Stack()
	return nw.data.Library().Kind() == libc.Unknown && len(st.Frames) > 0 && st.Frames[0].Module != nil &&
		st.Frames[0].Module.Main && st.RuntimeFrames() == 0
}

// mutex is what is known of the mutex that w waits for. Its owner is gone if the
// process has no thread of that number, and numbers its threads as the target does:
// in a container it may not.
func (nw *nativeWaits) mutex(w wait) picture.Lock {
	l := picture.Lock{Implementation: "mutex", Held: true, Owner: w.WaitOn, Evidence: w.Evidence}
	m, err := nw.data.Library().Mutex(w.address)
	if err != nil || w.WaitOn != 0 || m.Owner == 0 || m.Shared || !nw.ownNumber(w.n) {
		return l
	}
	const words = "__owner of the mutex at %v is %d, which is no thread of the process"
	l.OwnerEnded, l.Evidence = true, fmt.Sprintf(words, picture.Hex(w.address), m.Owner)
	return l
}

// ownNumber reports whether the C library has the number of a thread by which the
// target calls it.
func (nw *nativeWaits) ownNumber(n *native) bool {
	if n == nil || n.Pthread == 0 {
		return false
	}
	tid, err := nw.data.Library().ThreadID(n.Pthread)
	return err == nil && int(tid) == n.LWP
}
