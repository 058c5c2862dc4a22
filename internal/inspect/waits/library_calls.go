package waits

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
)

// libraryCall is the call by which a thread went from the program's code into the C library or a runtime. If the
// function that made it has no frame, because this was a tail call, it follows from the function's code.
type libraryCall struct {
	name string                          // of the called function; "" if unknown
	arg  func(i int) (v uint64, ok bool) // returns integer argument i
}

// libraryCall returns the call that led n into the C library or a runtime. It reads the code once for each thread.
func (nw *nativeWaits) libraryCall(n *teams.Thread) libraryCall {
	c, known := nw.calls[n]
	if !known {
		c = nw.findLibraryCall(n)
		nw.calls[n] = c
	}
	return c
}

// findLibraryCall finds the call that led n into the C library or a runtime.
func (nw *nativeWaits) findLibraryCall(n *teams.Thread) libraryCall {
	unknown := libraryCall{arg: func(int) (uint64, bool) { return 0, false }}
	st := n.Stack()
	if st.TailCalled > 0 {
		if name, arg, ok := nw.model.LibraryCall(n); ok {
			return libraryCall{name, arg}
		}
		return unknown
	}
	top := slices.Index(st.Kinds, stacks.KindUser)
	if top < 1 {
		return unknown
	}
	if nw.code.CallsProgram(st.Frames[top].PC) {
		if c, ok := nw.flows.TailCall(st, top); ok {
			return libraryCall{c.Name, c.Arg}
		}
		if ways := nw.flows.WaysBelow(st, top); len(ways) > 0 {
			return libraryCall{stacks.WaysName(ways), func(i int) (uint64, bool) {
				return nw.flows.WaysArgument(st, top, ways, i)
			}}
		}
	}
	return libraryCall{nw.code.CallTarget(st.Frames[top].PC), func(i int) (uint64, bool) {
		if v, ok := nw.code.Argument(st.Frames[top].PC, i, st.Frames[top].Registers); ok {
			return v, true
		}
		return nw.flows.Argument(st, top, i)
	}}
}

// isInCall reports whether n is in one of the functions of the C library, by the names of its frames or by the call
// that led there.
func (nw *nativeWaits) isInCall(n *teams.Thread, names ...string) bool {
	if slices.ContainsFunc(names, n.InFunction) {
		return true
	}
	if i := slices.IndexFunc(n.Stack().Kinds, func(k stacks.Kind) bool { return k != stacks.KindSystem }); i < 1 ||
		!n.CalledByProgram() { // a runtime called the C library
		return false
	}
	called := nw.libraryCall(n).name
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(called, name) })
}

// topArgument returns integer argument i of the call that led n into the C library or a runtime.
func (nw *nativeWaits) topArgument(n *teams.Thread, i int) (uint64, bool) {
	return nw.libraryCall(n).arg(i)
}
