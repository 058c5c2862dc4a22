package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Who will wake a thread that waits on a condition variable, or fulfil the event of
// a detached task, is recorded nowhere. What can be told is which threads will not:
// those whose code, from where it is now, comes to no such call.

// MayWake lists the LWPs of the threads that may wake those that wait on a
// condition variable: all but those whose code comes to no call that does. Which
// variable such a call is for is not looked at.
func (in *Inspector) MayWake() []int { return in.mayCome(rtl.FamilyCondition) }

// MayFulfil lists the LWPs of the threads whose code may come to fulfil an event
// of a detached task, whichever.
func (in *Inspector) MayFulfil() []int { return in.mayCome(rtl.FamilyEvent) }

// MakesEvents tells whether a function on the stack of a thread makes events of
// detached tasks.
func (in *Inspector) MakesEvents(lwp int) bool {
	n := in.byLWP[lwp]
	if n == nil {
		return false
	}
	st := in.stackOf(n)
	for i, f := range st.frames {
		if st.kinds[i] != kindUser {
			continue
		}
		if flow := in.flowAt(f.LookupPC()); flow != nil && slices.ContainsFunc(flow.Sites(), func(s accesspath.Site) bool { return rtl.MakesEvent(s.Name) }) {
			return true
		}
	}
	return false
}

// TaskMayFulfil tells whether a task may fulfil an event when it is executed.
func (in *Inspector) TaskMayFulfil(t *Task) bool {
	return t.Function == nil || t.Function.Address == nil || in.functionGives(uint64(*t.Function.Address), rtl.FamilyEvent, maxCallDepth)
}

// mayCome lists the LWPs of the threads whose code may come to a call that gives
// back something of a family.
func (in *Inspector) mayCome(family string) []int {
	var out []int
	for _, n := range in.natives {
		if n.lwp != 0 && n.info.Role != rtl.RoleIdle && !n.info.HiddenHelper && (n.blank || !in.givesNothing(n, family)) {
			out = append(out, n.lwp)
		}
	}
	return out
}
