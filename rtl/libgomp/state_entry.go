package libgomp

import "strings"

// entryKind is what a call into the runtime may wait for.
type entryKind uint8

const (
	entryOther     entryKind = iota // nothing: what the thread does there is overhead
	entryBarrier                    // an explicit barrier, or the one at the end of a static loop or a single
	entryWorkshare                  // the barrier at the end of another worksharing construct
	entryFork                       // the end of a parallel region
	entryTaskwait
	entryTaskgroup
	entryLock
	entryNestLock
	entryCritical // without a name
	entryCriticalName
	entryAtomic
	entryOrdered
)

// entryNames are the exported functions of the runtime in which threads wait.
func entryNames() map[string]entryKind {
	return map[string]entryKind{
		"GOMP_barrier": entryBarrier, "GOMP_barrier_cancel": entryBarrier,
		"GOMP_loop_end": entryWorkshare, "GOMP_loop_end_cancel": entryWorkshare, "GOMP_sections_end": entryWorkshare,
		"GOMP_sections_end_cancel": entryWorkshare, "GOMP_single_copy_start": entryWorkshare, "GOMP_single_copy_end": entryWorkshare,
		"GOMP_workshare_task_reduction_unregister": entryWorkshare,
		"GOMP_parallel": entryFork, "GOMP_parallel_end": entryFork, "GOMP_parallel_sections": entryFork, "GOMP_parallel_reductions": entryFork,
		"GOMP_taskwait": entryTaskwait, "GOMP_taskwait_depend": entryTaskwait, "GOMP_task": entryTaskwait,
		"GOMP_taskgroup_end": entryTaskgroup, "GOMP_taskloop": entryTaskgroup, "GOMP_taskloop_ull": entryTaskgroup,
		"omp_set_lock": entryLock, "omp_set_nest_lock": entryNestLock,
		"GOMP_critical_start": entryCritical, "GOMP_critical_name_start": entryCriticalName, "GOMP_atomic_start": entryAtomic,
		"GOMP_ordered_start": entryOrdered, "GOMP_doacross_wait": entryOrdered, "GOMP_doacross_ull_wait": entryOrdered,
	}
}

// kindOfEntry classifies an exported function by name, which may be decorated as
// Fortran's names are, or with a symbol version.
func kindOfEntry(name string) entryKind {
	name, _, _ = strings.Cut(name, "@")
	name = strings.TrimRight(strings.TrimPrefix(name, "gomp_ialias_"), "_")
	if strings.HasPrefix(name, "GOMP_parallel_loop") {
		return entryFork
	}
	return entryNames()[name]
}
