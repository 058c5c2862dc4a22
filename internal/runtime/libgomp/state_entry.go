package libgomp

import "strings"

// entryKind is the kind of wait that a call into the runtime may cause.
type entryKind uint8

const (
	entryOther     entryKind = iota // no wait: the time there is overhead
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

// kindOfName classifies an exported function of the runtime that may wait.
func kindOfName(name string) entryKind {
	switch name {
	case "GOMP_barrier", "GOMP_barrier_cancel":
		return entryBarrier
	case "GOMP_loop_end", "GOMP_loop_end_cancel", "GOMP_sections_end", "GOMP_sections_end_cancel",
		"GOMP_single_copy_start", "GOMP_single_copy_end", "GOMP_workshare_task_reduction_unregister":
		return entryWorkshare
	case "GOMP_parallel", "GOMP_parallel_end", "GOMP_parallel_sections", "GOMP_parallel_reductions":
		return entryFork
	case "GOMP_taskwait", "GOMP_taskwait_depend", "GOMP_task":
		return entryTaskwait
	case "GOMP_taskgroup_end", "GOMP_taskloop", "GOMP_taskloop_ull":
		return entryTaskgroup
	case "omp_set_lock":
		return entryLock
	case "omp_set_nest_lock":
		return entryNestLock
	case "GOMP_critical_start":
		return entryCritical
	case "GOMP_critical_name_start":
		return entryCriticalName
	case "GOMP_atomic_start":
		return entryAtomic
	case "GOMP_ordered_start", "GOMP_doacross_wait", "GOMP_doacross_ull_wait":
		return entryOrdered
	}
	return entryOther
}

// kindOfEntry classifies an exported function by its name, which may have decorations of Fortran or a symbol
// version.
func kindOfEntry(name string) entryKind {
	name, _, _ = strings.Cut(name, "@")
	name = strings.TrimRight(strings.TrimPrefix(name, "gomp_ialias_"), "_")
	if strings.HasPrefix(name, "GOMP_parallel_loop") {
		return entryFork
	}
	return kindOfName(name)
}
