package foreign

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// State returns "working" if the thread executes no code of the runtime and does not sleep in the C library, and
// "waiting for a lock" if it sleeps in a function of the standard that acquires a lock. Any other call of the
// runtime may have any purpose. It may have left no frame, if it ended in a tail call to the C library.
func (rt *runtime) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	_, err := rt.thread(h)
	undefined := handles.ThreadState{State: handles.StateUndefined}
	switch {
	case err != nil || ev == nil:
		return undefined, err
	case rt.id.Module.Main:
		undefined.Evidence = "the runtime is linked into the executable, and nothing distinguishes its code from the " +
			"program's"
		return undefined, nil
	case len(ev.Frames) == 0:
		return undefined, nil
	}
	for _, f := range ev.Frames {
		if f.Owned {
			return inRuntime(ev), nil
		}
	}
	if !ev.Futex.IsNull() {
		undefined.Evidence = fmt.Sprintf("it is asleep on a futex at %v: called by the program's code, or by code of "+
			"the runtime that ended in a tail call", ev.Futex)
		return undefined, nil
	}
	return handles.ThreadState{State: handles.StateWorkParallel,
		Evidence: "no code of the runtime is between it and the " +
			"program's code"}, nil
}

// inRuntime returns the state of a thread in the runtime's code.
func inRuntime(ev *handles.Evidence) handles.ThreadState {
	st := handles.ThreadState{State: handles.StateUndefined,
		Evidence: "it is in code of the runtime, whose entry point is " +
			"not known"}
	if ev.Entry == nil {
		return st
	}
	st.Evidence = fmt.Sprintf("it is in the runtime's %s (%s)", ev.Entry.Function, ev.Entry.By)
	call, ok := rtl.LockCallOf(ev.Entry.Function)
	if !ok || !call.Set || ev.Futex.IsNull() {
		return st
	}
	st.Evidence += fmt.Sprintf(", asleep on a futex at %v", ev.Futex)
	switch call.Family {
	case rtl.FamilyLock, rtl.FamilyNest:
		st.State, st.WaitKind, st.WaitID = handles.StateWaitLock, call.WaitKind(), ev.Futex.Offset
		if v, ok := ev.Entry.Arg(call.Arg); ok {
			st.WaitVariable = v
		}
	}
	return st
}
