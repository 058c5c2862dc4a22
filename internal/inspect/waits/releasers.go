package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Who will wake a thread that waits on a condition variable, or fulfil the event of
// a detached task, is recorded nowhere. What can be told is which threads will not:
// those whose code, from where it is now, comes to no such call.

// reach tells what the code of threads may come to.
type reach struct {
	roster *teams.ThreadTable
	code   *stacks.Code
	flows  *stacks.Flow
}

// wakers lists the LWPs of the threads that may wake those that wait on a
// condition variable: all but those whose code comes to no call that does. Which
// variable such a call is for is not looked at.
func (r *reach) wakers() []int { return r.threads(rtl.FamilyCondition) }

// fulfillers lists the LWPs of the threads whose code may come to fulfil an event
// of a detached task, whichever.
func (r *reach) fulfillers() []int { return r.threads(rtl.FamilyEvent) }

// makesEvents reports whether a function on the stack of a thread makes events of
// detached tasks.
func (r *reach) makesEvents(lwp int) bool {
	n := r.roster.ByLWP[lwp]
	return n != nil && r.flows.Program.MakesEvents(r.flows.Thread(&n.Thread))
}

// taskMayRelease reports whether a task, when it is executed, may release something of a family, or fulfil an
// event.
func (r *reach) taskMayRelease(t *picture.Task, family string) bool {
	return t.Function == nil || t.Function.Address == nil ||
		r.flows.Program.FunctionMayRelease(uint64(*t.Function.Address), family)
}

// threads lists the LWPs of the threads whose code may come to a call that gives
// back something of a family.
func (r *reach) threads(family string) []int {
	var out []int
	for _, n := range r.roster.All {
		if n.LWP == 0 || n.Info.Role == picture.RoleIdle || n.Info.HiddenHelper {
			continue
		}
		if n.Missing != nil || r.flows.Program.MayRelease(r.flows.Thread(&n.Thread), family) {
			out = append(out, n.LWP)
		}
	}
	return out
}

// libraryHandlers are the signals whose handlers are the C library's own: it cancels threads by 32, and has all of
// them change their user by 33.
const libraryHandlers = 1<<(32-1) | 1<<(33-1)

// handlerMayPost reports whether a handler of a signal may post a semaphore: code on a stack
// is linked both with a function that sets handlers and with sem_post, which is one of the few
// that handlers may call, or it cannot be told with what it is linked.
func (r *reach) handlerMayPost() bool { return r.hasHandlersWith("sem_post") }

// hasHandlers reports whether a handler of a signal may be set.
func (r *reach) hasHandlers() bool { return r.hasHandlersWith("") }

// hasHandlersWith reports whether code on a stack is linked with a function that sets handlers of
// signals, and with another one, if that is named.
func (r *reach) hasHandlersWith(with string) bool {
	if s, ok := r.roster.Target.(callbacks.Scheduler); ok {
		if set, ok := s.HandledSignals(); ok && set&^libraryHandlers == 0 {
			return false
		}
	}
	seen := map[*callbacks.Module]bool{}
	for _, n := range r.roster.All {
		st := n.Stack()
		for i, f := range st.Frames {
			if st.Kinds[i] != stacks.KindUser || f.Module == nil || seen[f.Module] {
				continue
			}
			seen[f.Module] = true
			sets := slices.ContainsFunc(rtl.HandlerSetters(), func(name string) bool { return r.mayBind(f.PC, name) })
			if sets && (with == "" || r.mayBind(f.PC, with)) {
				return true
			}
		}
	}
	return false
}

// mayBind reports whether the module around pc is linked with a function, or may be.
func (r *reach) mayBind(pc uint64, name string) bool {
	if r.code.Symbols == nil {
		return true
	}
	binds, known := r.code.Symbols.IsLinkedWith(pc, name)
	return binds || !known
}

// allStacks reports whether the stacks of all threads are known as a whole, so that what
// none of them shows is not there.
func (r *reach) allStacks() bool {
	return !slices.ContainsFunc(r.roster.All, func(n *teams.Thread) bool {
		return n.Missing != nil || n.LWP != 0 && n.Info.Role != picture.RoleIdle && !n.Stack().Complete()
	})
}
