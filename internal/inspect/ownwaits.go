package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// posts is the wait of n on a semaphore, which begins with its futex word.
func (nw *nativeWaits) posts(n *native, futex uint64, word uint32) (wait, bool) {
	called := func(name string) bool { return n.InFunction(name) }
	if !slices.ContainsFunc([]string{"sem_wait", "sem_timedwait", "sem_clockwait"}, called) {
		return wait{}, false
	}
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitSemaphore, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex, timed: nw.timed(n, word),
	}, true
}

// meets is the wait of n at a barrier of the C library, which the program's code called.
func (nw *nativeWaits) meets(n *native, futex uint64, word uint32) (wait, bool) {
	if !n.CalledByProgram() || !n.InFunction("pthread_barrier_wait") {
		return wait{}, false
	}
	b, err := nw.data.Library().Barrier(futex)
	if err != nil {
		return wait{}, false
	}
	w := wait{
		Wait:    picture.Wait{Kind: picture.WaitThreads, Name: nw.data.PlaceName(b.Address)},
		address: b.Address, variable: b.Address, timed: nw.timed(n, word),
	}
	const words = "%d of the %d threads came to it that the barrier at %v takes"
	w.Evidence = fmt.Sprintf(words, b.Came, b.Count, picture.Hex(b.Address))
	return w, true
}

// streamLockAt is where a FILE of glibc has the address of its lock (_lock).
const streamLockAt = 136

// streamName names the stream whose lock is at addr, if it is one of the standard streams.
func (nw *nativeWaits) streamName(addr uint64) string {
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		file, err := nw.target.Symbol("_IO_2_1_"+name+"_", "")
		if err != nil {
			continue
		}
		if lock, err := layout.ReadUint(nw.target, file.Add(streamLockAt), 8); err == nil && lock == addr {
			return "of stream " + name
		}
	}
	return "of a stream"
}

// locksStream is the wait of n for a stream of stdio, whose lock names the thread that has it.
func (nw *nativeWaits) locksStream(n *native, futex uint64, _ uint32) (wait, bool) {
	pthread, err := nw.data.Library().StreamOwner(futex)
	owner := nw.roster.byID[pthread]
	if err != nil || owner == nil || owner == n || owner.LWP == 0 || n.InFunction("syscall") {
		return wait{}, false
	}
	w := wait{address: futex, variable: futex}
	w.Kind, w.Name, w.WaitOn = picture.WaitMutex, nw.streamName(futex), owner.LWP
	w.Evidence = fmt.Sprintf("the owner of the stream's lock at %v is the thread of LWP %d", picture.Hex(futex),
		w.WaitOn)
	return w, true
}

// The bits of a guard variable of GNU's C++ library, beside the first byte, which is 1 when
// the variable is initialized.
const (
	guardPending = 1 << 8 // a thread initializes it
	guardWaiting = 1 << 16
)

// initializes is the wait of n for another thread, or for itself, to end the initialization of
// a static variable of a function: it sleeps on the word that GNU's C++ library has for it.
func (nw *nativeWaits) initializes(n *native, futex uint64, word uint32) (wait, bool) {
	if !n.InnermostIs("__cxa_guard_acquire") || word&^(guardPending|guardWaiting) != 0 ||
		word&guardPending == 0 {
		return wait{}, false
	}
	const prefix = "guard variable for "
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitStatic, Name: strings.TrimPrefix(nw.data.PlaceName(futex), prefix)},
		address: futex, variable: futex,
	}, true
}

// initialization is what is known of the initialization that w waits for.
func (wf *waitFinder) initialization(w wait) picture.Lock {
	l := picture.Lock{Implementation: "guard", Held: true}
	l.Evidence = fmt.Sprintf("the guard variable at %v says that a thread initializes it", picture.Hex(w.address))
	l.Holders = wf.holders.find(w, l)
	return l
}

// onWord is the wait of n on a futex word that it came to from the program's code, of which
// no more is known.
func (nw *nativeWaits) onWord(n *native, futex uint64, word uint32) (wait, bool) {
	if !n.CalledByProgram() {
		return wait{}, false
	}
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitFutex, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex, timed: nw.timed(n, word) && !nw.atLatch(n, word),
	}, true
}

// atLatch reports whether n sleeps at a latch of GNU's C++ library that is not at zero: it may have been counted
// down since, for which nobody is woken.
func (nw *nativeWaits) atLatch(n *native, word uint32) bool {
	regs := n.Registers()
	slept := uint32(regs.SyscallArgs[2])
	if int32(word) <= 0 || word >= slept || nw.timed(n, slept) {
		return false
	}
	st := n.Stack()
	for i := range st.Frames {
		if st.Kinds[i] == stacks.KindSystem {
			continue
		}
		for _, f := range nw.code.FramesWithConstruct(st.Frames[i], st.Kinds[i]) {
			switch {
			case !stacks.InLibraryHeader(f):
				return false
			case filepath.Base(f.File) == "latch", strings.Contains(f.Function, "std::latch::"):
				return true
			}
		}
	}
	return false
}

// timed reports whether the wait of n may end though no thread of its process ends it any
// more: there is a time limit, or the word on which it sleeps has changed, as it does before
// a thread is woken.
func (nw *nativeWaits) timed(n *native, word uint32) bool {
	regs := n.Registers()
	private := !nw.spins.shared(regs.SyscallArgs[0])
	return !arch.EndlessWait(regs, private) || uint32(regs.SyscallArgs[2]) != word
}

// inMPI is the wait of n in a function of MPI, which says when it returns.
func (nw *nativeWaits) inMPI(n *native) (wait, bool) {
	st := n.Stack()
	inside := false
	for i, f := range st.Frames {
		switch {
		case f.Module != nil && rtl.OpaqueModule(filepath.Base(f.Module.Path)):
			inside = true
		case st.Kinds[i] == stacks.KindSystem:
		case st.Kinds[i] != stacks.KindUser || !inside:
			return wait{}, false
		default:
			name, ok := rtl.BlockingMPI(nw.code.CallTarget(f.PC))
			return wait{Wait: picture.Wait{Kind: picture.WaitMPI, Name: name}}, ok
		}
	}
	return wait{}, false
}

// ownState is the state of a thread that is at work by the specification's words and waits
// in the C library or in MPI.
func (l *threadLister) ownState(t *picture.Thread, n *native) {
	overhead := t.State.Name == picture.StateOverhead
	if !overhead && !strings.HasPrefix(string(t.State.Name), "work_") {
		return
	}
	w, ok := l.waits.native.nativeWait(n)
	row := w.Kind.Traits()
	if !ok || !row.Own || overhead && w.Kind != picture.WaitFlag && w.Kind != picture.WaitNothing {
		return
	}
	s := *t.State
	s.Standard, s.Name, s.Evidence = s.Name, row.State, w.inLibrary()
	t.State = &s
	t.WaitID, t.WaitKind, t.WaitName, t.WaitOn = picture.Address(w.address), w.Kind, w.Name, w.WaitOn
	t.Sleep = w.Sleep
}

// inLibrary says how it is known that a thread waits in a library that the program called.
func (w *wait) inLibrary() string {
	switch {
	case w.Kind == picture.WaitMPI:
		return "its stack is in MPI, in a call of " + w.Name
	case w.Evidence != "":
		return w.Evidence
	}
	return fmt.Sprintf("it sleeps in a futex call, on what the program's code waits for in the C library (%s)",
		strings.ReplaceAll(string(w.Kind), "_", " "))
}
