package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The lowest bits of a flag of glibc's pthread_once: whether its function is being executed, or has been.
// std::call_once of GNU's C++ library and the C standard's call_once call pthread_once. The thread sanitizer's
// replacement has another bit for a running function.
const (
	onceBits    = 3
	onceRunning = 1
	onceWatched = 1 << 16
)

// onceCall is a call in which a thread executes the function of a flag.
type onceCall struct {
	n     *teams.Thread
	frame int // of the code that made the call, or of the C library's code in it
}

// onceWait finds the wait of n for the end of a function that is executed once for a flag. n sleeps on the flag's
// word. The executing thread may be n itself. If no thread is in such a call, because it was left by a jump or
// belongs to a process that forked, the word is treated like any other.
func (nw *nativeWaits) onceWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	running := word&onceBits == onceRunning || word&(onceWatched|onceBits) == onceWatched
	if !running || !n.CalledByProgram() || len(nw.onceCalls(futex)) == 0 {
		return wait{}, false
	}
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitOnce, Name: nw.data.PlaceName(futex)},
		address: futex, variable: futex,
	}, true
}

// onceCalls returns the calls of all threads that execute the function of a flag.
func (nw *nativeWaits) onceCalls(flag uint64) []onceCall {
	calls, known := nw.once[flag]
	if known {
		return calls
	}
	for _, n := range nw.roster.Sorted() {
		if n.LWP == 0 {
			continue
		}
		if i, ok := nw.onceFrame(n, flag); ok {
			calls = append(calls, onceCall{n, i})
		}
	}
	nw.once[flag] = calls
	return calls
}

// onceFrame finds the frame of n in which it executes the function of a flag. Further in there is other code than
// the C library's: the flag's function, or a function that it called.
func (nw *nativeWaits) onceFrame(n *teams.Thread, flag uint64) (int, bool) {
	st := n.Stack()
	other := slices.IndexFunc(st.Frames, func(f unwind.Frame) bool {
		_, system := nw.code.SystemFunction(f)
		return !system
	})
	for i := other + 1; other >= 0 && i < len(st.Frames); i++ {
		if f := st.Frames[i]; f.Exact || f.Signal {
			continue
		}
		if v, ok := nw.onceFlag(st, i); ok && v == flag {
			return i, true
		}
	}
	return 0, false
}

// onceFlag returns the flag of the call that frame i makes, or is in, if that executes a flag's function.
func (nw *nativeWaits) onceFlag(st *stacks.Stack, i int) (uint64, bool) {
	f := st.Frames[i]
	switch {
	case st.Kinds[i] == stacks.KindUser && callsOnce(nw.code.CalledIn(f)):
		if v, ok := nw.code.Argument(f.PC, 0, f.Registers); ok {
			return v, true
		}
		return nw.flows.Argument(st, i, 0)
	case st.Kinds[i] != stacks.KindUser && nw.isInOnce(f):
		return nw.flows.EnteredWith(st, i, 0)
	}
	return 0, false
}

// isInOnce reports whether a frame belongs to the function of the C library that executes a flag's function.
func (nw *nativeWaits) isInOnce(f unwind.Frame) bool {
	name, system := nw.code.SystemFunction(f)
	return system && f.Module != nil && libc.IsSystem(f.Module.Path) && (name == "" || callsOnce(name))
}

// callsOnce reports whether the function of that name executes another one for a flag, its first argument.
func callsOnce(name string) bool {
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains([]string{"pthread_once", "pthread_once_slow", "call_once"}, strings.TrimLeft(name, "_"))
}

// onceLock describes the flag that w waits for, and the threads that execute its function.
func (wf *Finder) onceLock(w wait) picture.Lock {
	nw := wf.native
	l := picture.Lock{Implementation: "once", Held: true}
	l.Evidence = fmt.Sprintf("the flag at %v says that its function is executed", picture.Hex(w.address))
	for _, c := range nw.onceCalls(w.address) {
		h := picture.Holder{Thread: c.n.LWP, Certainty: picture.Certain, AcquiredAt: nw.onceCallSite(c)}
		h.Evidence = "it is in the function that is executed once"
		if at := h.AcquiredAt; at != nil {
			h.Evidence += fmt.Sprintf(", called in %s at %s", at.Called(), at.Place())
		}
		l.Holders = append(l.Holders, h)
	}
	return l
}

// onceCallSite returns the place of a call in the program, outside of the C++ library's headers.
func (nw *nativeWaits) onceCallSite(c onceCall) *picture.Frame {
	st := c.n.Stack()
	for i := c.frame; i < len(st.Frames); i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		for _, f := range nw.code.FramesWithConstruct(st.Frames[i], stacks.KindUser) {
			if stacks.HasProgramLine(f) {
				return &f
			}
		}
	}
	return nil
}
