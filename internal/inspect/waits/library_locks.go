package waits

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mutexName names the mutex at addr that n waits for: a lock of the loader or of Fortran's library by its purpose,
// another one by the program's variable.
func (nw *nativeWaits) mutexName(n *teams.Thread, addr uint64) string {
	m := nw.code.ModuleOf(addr)
	switch {
	case m == nil || libc.IsLanguage(m.Path):
		if name := nw.fortranLock(n, m); name != "" {
			return name
		}
	case libc.IsLoader(m.Path):
		return picture.LoaderLock
	}
	return nw.data.PlaceName(addr)
}

// fortranLibrary is the start of the file name of GNU's library of Fortran.
const fortranLibrary = "libgfortran."

// unitAt is the offset of a unit's number in the data that GNU's compiler passes to its functions for input and output
// (st_parameter_common).
const unitAt = 4

// fortranLock names a lock that n waits for in GNU's library of Fortran: that of a unit, outside of modules, or that of
// the table of units. It returns "" if n is not in that library.
func (nw *nativeWaits) fortranLock(n *teams.Thread, m *callbacks.Module) string {
	st := n.Stack()
	i := slices.IndexFunc(st.Frames, func(f unwind.Frame) bool {
		_, system := nw.code.SystemFunction(f)
		return !system
	})
	if i < 0 || !isFortranLibrary(st.Frames[i].Module) {
		return ""
	}
	if m != nil {
		return picture.FortranUnits
	}
	for i < len(st.Frames) && isFortranLibrary(st.Frames[i].Module) {
		i++
	}
	if i == len(st.Frames) || !strings.HasPrefix(nw.code.CallTarget(st.Frames[i].PC), "_gfortran_st_") {
		return picture.FortranUnit
	}
	data, ok := nw.code.Argument(st.Frames[i].PC, 0, st.Frames[i].Registers)
	if !ok {
		data, ok = nw.flows.Argument(st, i, 0)
	}
	if !ok {
		return picture.FortranUnit
	}
	unit, err := layout.ReadUint(nw.target, callbacks.Addr(data+unitAt), 4)
	if err != nil || int32(unit) < 0 { // negative: internal, or by newunit
		return picture.FortranUnit
	}
	return fmt.Sprintf("%s %d", picture.FortranUnit, unit)
}

func isFortranLibrary(m *callbacks.Module) bool {
	return m != nil && strings.HasPrefix(filepath.Base(m.Path), fortranLibrary)
}

// allocatorCalls are the functions of the C library that acquire a lock of malloc.
var allocatorCalls = []string{
	"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc",
	"pvalloc",
}

// allocatorWait finds the wait of n for a lock of malloc, which has no owner.
func (nw *nativeWaits) allocatorWait(n *teams.Thread, futex uint64, word uint32) (wait, bool) {
	if word == 0 || nw.data.Library().Kind() != libc.Glibc {
		return wait{}, false
	}
	if _, ok := nw.allocatorFrame(n.Stack(), 0); !ok {
		return wait{}, false
	}
	return wait{
		Wait:    picture.Wait{Kind: picture.WaitMutex, Name: picture.AllocatorLock},
		address: futex, variable: futex, allocator: true,
	}, true
}

// allocatorFrame returns the index of the frame of a function of malloc in a stack from frame from on. The first frame
// of a function with a name must be of it, but for those that end the program.
func (nw *nativeWaits) allocatorFrame(st *stacks.Stack, from int) (int, bool) {
	if nw.code.Symbols == nil {
		return 0, false
	}
	for i := from; i < len(st.Frames); i++ {
		name, system := nw.code.SystemFunction(st.Frames[i])
		name = strings.TrimPrefix(name, "libc_")
		switch {
		case !system || st.Frames[i].Signal:
			return 0, false
		case slices.Contains(allocatorCalls, name):
			return i, true
		case name == "", strings.HasPrefix(name, "lll_lock_wait"), slices.Contains(endingCalls, name):
		default:
			return 0, false
		}
	}
	return 0, false
}

// endingCalls are functions by which malloc ends the program when the heap is damaged.
var endingCalls = []string{"abort", "raise", "gsignal", "pthread_kill", "message", "tgkill", "kill"}

// allocatorLock describes the lock of malloc that w waits for. Its holders are threads that a signal interrupted in
// malloc.
func (nw *nativeWaits) allocatorLock(w wait) picture.Lock {
	l := picture.Lock{Implementation: "malloc", Held: true}
	l.Evidence = fmt.Sprintf("the word at %v, on which it sleeps in malloc, is not 0", picture.Hex(w.address))
	for _, n := range nw.roster.Sorted() {
		st := n.Stack()
		at := signalIndex(st)
		if n.LWP == 0 || at < 0 {
			continue
		}
		i, ok := nw.allocatorFrame(st, at+1)
		if !ok || n != w.n { // each thread has a heap of its own first
			continue
		}
		h := picture.Holder{Thread: n.LWP, Certainty: picture.Likely}
		name, _ := nw.code.SystemFunction(st.Frames[i])
		h.Evidence = "a signal interrupted it in " + name
		if i+1 < len(st.Frames) {
			h.AcquiredAt = nw.code.InnermostFrame(st.Frames[i+1], st.Kinds[i+1])
			h.Evidence += ", called in " + h.AcquiredAt.Spot()
			if h.AcquiredAt.Line != 0 {
				h.Evidence = strings.TrimSuffix(h.Evidence, h.AcquiredAt.Spot()) + h.AcquiredAt.Called() + " at " +
					h.AcquiredAt.Place()
			}
		}
		l.Holders = append(l.Holders, h)
	}
	return l
}
