package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkCalls are the functions of the C library that fork a process.
var forkCalls = []string{"fork", "_Fork", "__fork", "__libc_fork"}

// forkedAt returns the call of fork that made the process, by the code of the functions on the stack of its one thread.
// It returns nil if the process was not forked, if it has more threads, or if the code does not show one such line.
func (wf *Finder) forkedAt() *picture.Frame {
	if !wf.About.Forked || len(wf.Threads.All) != 1 {
		return nil
	}
	st := wf.Threads.All[0].Stack()
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		code := wf.Flows.FunctionAt(f.LookupPC())
		if code == nil || !code.MayCall(func(name string) bool { return slices.Contains(forkCalls, name) }) {
			continue
		}
		var found *picture.Frame
		for _, c := range code.CalledBefore(wf.Flows.PointIn(st, i)) {
			if !slices.Contains(forkCalls, c.Target.Name) {
				continue
			}
			at := wf.Code.Frames(unwind.Frame{PC: c.PC, Exact: true, Module: f.Module}, stacks.KindUser)
			if len(at) == 0 || found != nil && (found.File != at[0].File || found.Line != at[0].Line) {
				return nil
			}
			found = &at[0]
		}
		if found != nil {
			return found
		}
	}
	return nil
}
