package libomp

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// entryKind is the kind of wait that a call into the runtime may cause.
type entryKind uint8

const (
	entryOther     entryKind = iota // no wait: the time there is overhead
	entryBarrier                    // a barrier with its kind in the ident_t
	entryExplicit                   // an explicit barrier
	entryWorkshare                  // the barrier at the end of a worksharing construct
	entryReduce                     // a reduction, by a lock or a barrier
	entryFork                       // the end of a parallel region
	entryTeams                      // the end of a teams construct
	entryTaskwait
	entryTaskgroup
	entryTaskyield // no wait, although the task has the mark of a wait
	entryLock
	entryCritical
	entryAtomic
	entryOrdered
	entryIteration // the end of iterations of an ordered loop: those without an ordered region wait for their turn
)

// entryNames maps the runtime's exported functions in which threads wait to the kind of wait, including the
// functions for GCC's code.
var entryNames = map[string]entryKind{
	"__kmpc_barrier": entryBarrier, "__kmpc_cancel_barrier": entryBarrier, "__kmpc_barrier_master": entryBarrier,
	"__kmpc_barrier_master_nowait": entryBarrier, "__kmpc_copyprivate": entryBarrier,
	"GOMP_barrier": entryExplicit, "GOMP_barrier_cancel": entryExplicit,
	"GOMP_loop_end": entryWorkshare, "GOMP_loop_end_cancel": entryWorkshare, "GOMP_sections_end": entryWorkshare,
	"GOMP_sections_end_cancel": entryWorkshare, "GOMP_single_copy_start": entryWorkshare,
	"GOMP_single_copy_end": entryWorkshare,
	"__kmpc_reduce":        entryReduce, "__kmpc_reduce_nowait": entryReduce, "__kmpc_end_reduce": entryReduce,
	"__kmpc_fork_call": entryFork, "__kmpc_fork_call_if": entryFork, "GOMP_parallel": entryFork,
	"GOMP_parallel_end":      entryFork,
	"GOMP_parallel_sections": entryFork, "GOMP_parallel_reductions": entryFork,
	"__kmpc_fork_teams": entryTeams, "GOMP_teams_reg": entryTeams,
	"__kmpc_omp_taskwait": entryTaskwait, "__kmpc_omp_wait_deps": entryTaskwait,
	"__kmpc_omp_taskwait_deps_51": entryTaskwait,
	"GOMP_taskwait":               entryTaskwait, "GOMP_taskwait_depend": entryTaskwait,
	"__kmpc_end_taskgroup": entryTaskgroup, "GOMP_taskgroup_end": entryTaskgroup,
	"__kmpc_taskloop": entryTaskgroup, "__kmpc_taskloop_5": entryTaskgroup,
	"__kmpc_omp_taskyield": entryTaskyield, "GOMP_taskyield": entryTaskyield,
	"omp_set_lock": entryLock, "omp_set_nest_lock": entryLock, "__kmpc_set_lock": entryLock,
	"__kmpc_set_nest_lock": entryLock,
	"__kmpc_critical":      entryCritical, "__kmpc_critical_with_hint": entryCritical,
	"GOMP_critical_start": entryCritical, "GOMP_critical_name_start": entryCritical,
	"GOMP_atomic_start": entryAtomic, "__kmpc_atomic_start": entryAtomic,
	"__kmpc_ordered": entryOrdered, "GOMP_ordered_start": entryOrdered,
	"__kmpc_doacross_wait": entryOrdered, "GOMP_doacross_wait": entryOrdered, "GOMP_doacross_ull_wait": entryOrdered,
}

// kindOfEntry classifies an exported function by its name, which may have decorations of Fortran or a symbol
// version.
func kindOfEntry(name string) entryKind {
	name, _, _ = strings.Cut(name, "@")
	if k, ok := entryNames[name]; ok {
		return k
	}
	name = strings.ToLower(strings.TrimRight(name, "_"))
	switch {
	case strings.HasPrefix(name, "gomp_parallel_loop"):
		return entryFork
	case strings.HasPrefix(name, "__kmpc_atomic_"):
		return entryAtomic
	case strings.HasPrefix(name, "__kmpc_dispatch_fini"), strings.HasPrefix(name, "gomp_loop_ordered_"),
		strings.HasPrefix(name, "gomp_loop_ull_ordered_"):
		return entryIteration
	}
	return entryNames[name]
}

// enteredFunction returns the runtime's function in which the thread waits: the innermost one that may wait, or
// else the one that user code called. They differ if user code ended in a tail call, which leaves no return
// address in user code.
func enteredFunction(ev *handles.Evidence) (entryKind, string) {
	for _, f := range ev.Frames {
		if k := kindOfEntry(f.Symbol); f.Owned && k != entryOther {
			if ev.Entry != nil && ev.Entry.Function == f.Symbol {
				break
			}
			return k, f.Symbol + " (symbol of the frame)"
		}
		if !f.Owned && !rtl.IsSystem(f) {
			break
		}
	}
	if ev.Entry == nil {
		return entryOther, ""
	}
	name := ev.Entry.Function
	if ev.Entry.By != "" {
		name += " (" + ev.Entry.By + ")"
	}
	return kindOfEntry(ev.Entry.Function), name
}
