package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// No record names the thread that will wake a waiter of a condition variable, or fulfil the event of a detached
// task. The code names the threads that will not: from its current place, it comes to no such call.

// reach finds the calls that the code of threads may still make.
type reach struct {
	roster *teams.ThreadTable
	code   *stacks.Code
	flows  *stacks.Flow
	links  map[string]bool // by function: mayLink; nil before the first use
}

// eventCalls returns the return addresses of the calls that make events of detached tasks, in a function on the stack
// of a thread, or in the function of the task in which it waits, which has no frame after a tail call.
func (r *reach) eventCalls(lwp int, t *picture.Task) []uint64 {
	n := r.roster.ByLWP[lwp]
	if n == nil {
		return nil
	}
	calls := r.flows.Program.EventCalls(r.flows.Thread(&n.Thread))
	if len(calls) == 0 && t != nil && t.Function != nil && t.Function.Address != nil {
		calls = r.flows.Program.FunctionEventCalls(uint64(*t.Function.Address))
	}
	return calls
}

// taskMayRelease reports whether a task, when it is executed, may release a lock of a family, or fulfil an event.
func (r *reach) taskMayRelease(t *picture.Task, family string) bool {
	return t.Function == nil || t.Function.Address == nil ||
		r.flows.Program.FunctionMayRelease(uint64(*t.Function.Address), family)
}

// threads returns the LWPs of the threads that may come to a release of a lock of a family, by their code.
func (r *reach) threads(family string) []int {
	var out []int
	for _, n := range r.roster.All {
		if n.LWP == 0 || n.Info.Role == picture.RoleIdle || n.Info.HiddenHelper {
			continue
		}
		if n.Missing != nil || isLibraryThread(n) && !lockflow.OfOpenMP(family) ||
			r.flows.Program.MayRelease(r.flows.Thread(&n.Thread), family) || r.endMayRelease(n, family) {
			out = append(out, n.LWP)
		}
	}
	return out
}

// isLibraryThread reports whether all frames of a thread are the C library's: it has not come to the program's function
// yet, or the library started it for itself. Such a thread calls functions of the program, or starts threads that do,
// when a timer expires, a message arrives or input and output are done (SIGEV_THREAD). No code shows which.
// The thread of a sanitizer's runtime calls no function of the program.
func isLibraryThread(n *teams.Thread) bool {
	st := n.Stack()
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindSystem || f.Module != nil && libc.IsSanitizer(f.Module.Path) {
			return false
		}
	}
	return n.Runtime == nil && len(st.Frames) > 0
}

// endMayRelease reports whether the end of a thread may release a lock of a family. When a thread ends, it calls the
// functions that the program set for that (destructors of thread-specific data and of thread_local variables), the
// thread that executes main also those for the end of the process. No code shows which. It returns true if code
// on a stack is linked both with a function that sets them and with one that releases a lock of the family.
func (r *reach) endMayRelease(n *teams.Thread, family string) bool {
	linked := func(names []string) bool { return slices.ContainsFunc(names, r.mayLink) }
	return n.Runtime == nil && linked(rtl.EndHandlers(n.Stack().OfMain())) && linked(rtl.Releasing(family)) &&
		(r.flows.Program.MayReturn(r.flows.Thread(&n.Thread)) || linked(rtl.ThreadEnders()))
}

// isWithoutLocks reports whether no function on a thread's stack comes, by calls of known functions, to a call on locks
// of a family.
func (r *reach) isWithoutLocks(n *teams.Thread, family string) bool {
	return n.Stack().Complete() && !r.flows.Program.NamesLocks(r.flows.Thread(&n.Thread), family)
}

// libraryHandlers are the signals with handlers of the C library: it cancels threads by 32, and makes all threads
// change their user by 33.
const libraryHandlers = 1<<(32-1) | 1<<(33-1)

// handlerMayPost reports whether a signal handler may post a semaphore. It returns true if code on a stack is
// linked both with a function that sets handlers and with sem_post, one of the few functions that handlers may
// call, or if that is unknown.
func (r *reach) handlerMayPost() bool { return r.hasHandlersWith("sem_post") }

// hasHandlers reports whether a signal handler may be set.
func (r *reach) hasHandlers() bool { return r.hasHandlersWith("") }

// handlersUse reports whether code on a stack sets a handler of a signal that comes to a call on locks of a family.
func (r *reach) handlersUse(family string) bool {
	return slices.ContainsFunc(r.roster.All, func(n *teams.Thread) bool {
		return n.LWP != 0 && r.flows.Program.HandlersUse(r.flows.Thread(&n.Thread), family)
	})
}

// hasHandlersWith reports whether code on a stack is linked with a function that sets signal handlers and, if with
// is not empty, with that function.
func (r *reach) hasHandlersWith(with string) bool {
	if s, ok := r.roster.Target.(callbacks.Scheduler); ok {
		if set, ok := s.HandledSignals(); ok && set&^libraryHandlers == 0 {
			return false
		}
	}
	return r.anyModule(func(pc uint64) bool {
		sets := slices.ContainsFunc(rtl.HandlerSetters(), func(name string) bool { return r.mayBind(pc, name) })
		return sets && (with == "" || r.mayBind(pc, with))
	})
}

// anyModule reports whether a condition holds for one of the program's modules with code on a stack. It is given an
// address in each.
func (r *reach) anyModule(holds func(pc uint64) bool) bool {
	seen := map[*callbacks.Module]bool{}
	for _, n := range r.roster.All {
		st := n.Stack()
		for i, f := range st.Frames {
			if st.Kinds[i] != stacks.KindUser || f.Module == nil || seen[f.Module] {
				continue
			}
			seen[f.Module] = true
			if holds(f.PC) {
				return true
			}
		}
	}
	return false
}

// mayLink reports whether one of the program's modules with code on a stack is linked with a function, or may be.
func (r *reach) mayLink(name string) bool {
	linked, known := r.links[name]
	if !known {
		linked = r.anyModule(func(pc uint64) bool { return r.mayBind(pc, name) })
		if r.links == nil {
			r.links = map[string]bool{}
		}
		r.links[name] = linked
	}
	return linked
}

// mayBind reports whether the module around pc is linked with a function, or may be.
func (r *reach) mayBind(pc uint64, name string) bool {
	if r.code.Symbols == nil {
		return true
	}
	binds, known := r.code.Symbols.IsLinkedWith(pc, name)
	return binds || !known
}

// allStacks reports whether the stacks of all threads are complete, so that a call on no stack is not being made.
func (r *reach) allStacks() bool {
	return !slices.ContainsFunc(r.roster.All, func(n *teams.Thread) bool {
		return n.Missing != nil || n.LWP != 0 && n.Info.Role != picture.RoleIdle && !n.Stack().Complete()
	})
}
