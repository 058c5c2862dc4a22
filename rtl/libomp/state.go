package libomp

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// State says what the thread does.
func (rt *runtime) State(h handles.Thread, _ *rtl.Evidence) (rtl.ThreadState, error) {
	st := rtl.ThreadState{State: rtl.StateUndefined}
	th, err := rt.byHandle(h)
	if err != nil {
		return st, err
	}
	gs, err := rt.regions(th)
	if err == nil && len(gs) == 0 {
		st = rtl.ThreadState{State: rtl.StateIdle, Evidence: "in no region"}
	}
	return st, err
}
