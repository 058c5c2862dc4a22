package libgomp

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// pointees maps pointer fields on a path to the structures they point to.
var pointees = map[string]string{
	"ts.team": "gomp_team", "prev_ts.team": "gomp_team", "task": "gomp_task", "parent": "gomp_task",
	"ts.work_share": "gomp_work_share", "taskgroup": "gomp_taskgroup", "taskwait": "gomp_taskwait",
	"thread_pool": "gomp_thread_pool",
}

// Inputs of rules: the values that the function returns, and all values that it reads.
var result, reads = symbolic.Path.Returned, symbolic.Path.Read

// codeRules lists all rules.
var codeRules = []layoutcode.Rule{
	{Function: "omp_get_num_threads", Of: result, Path: "ts.team nthreads"},
	{Function: "omp_get_thread_num", Of: result, Path: "ts.team_id"},
	{Function: "omp_get_level", Of: result, Path: "ts.level"},
	{Function: "omp_get_active_level", Of: result, Path: "ts.active_level"},
	{Function: "omp_get_team_size", Of: result, Path: "ts.team prev_ts.team nthreads"},
	{Function: "omp_get_ancestor_thread_num", Of: result, Path: "ts.team prev_ts.team prev_ts.team_id"},
	{Function: "omp_in_final", Of: result, Path: "task final_task"},
	{Function: "omp_get_max_threads", Of: result, Path: "task icv.nthreads_var", As: 8},
	{Function: "omp_get_default_device", Of: result, Path: "task icv.default_device_var"},
	{Function: "omp_get_thread_limit", Of: reads, Path: "task icv.thread_limit_var", Size: 4},
	{Function: "omp_get_dynamic", Of: result, Path: "task icv.dyn_var"},
	{Function: "omp_get_proc_bind", Of: result, Path: "task icv.bind_var"},
	{Function: "omp_get_schedule", Of: accesspath.StoredThrough(1), Path: "task icv.run_sched_chunk_size"},
	{Function: "omp_get_schedule", Of: accesspath.StoredThrough(0), Path: "task icv.run_sched_var", Partly: true},
	{Function: "omp_get_max_active_levels", Of: result, Path: "task icv.max_active_levels_var"},
	{Function: "omp_get_place_num", Of: reads, Path: "place", Size: 4},
	{Function: "omp_get_partition_num_places", Of: result, Path: "ts.place_partition_len"},
	{Function: "omp_get_partition_place_nums", Of: storedValues, Path: "ts.place_partition_off"},
	{Function: "omp_get_default_allocator", Of: result, Path: "ts.def_allocator"},
	{Function: "omp_get_team_num", Of: result, Path: "team_num"},
	{Function: "omp_get_num_teams", Of: reads, Path: "num_teams", Size: 4},
	{Function: "GOMP_single_start", Of: reads, Path: "ts.single_count", Size: 8},
	{Function: "GOMP_single_start", Of: reads, Path: "ts.team single_count", Size: 8},
	{Function: "GOMP_taskgroup_start", Of: reads, Path: "task taskgroup", Size: 8},
	{Function: "GOMP_cancellation_point", Of: result, Path: "task taskgroup cancelled"},
	{Function: "GOMP_ordered_start", Of: reads, Path: "ts.team ordered_release", Size: 8},
	{Function: "GOMP_ordered_start", Of: reads, Path: "ts.work_share ordered_owner", Size: 4},
	{Function: "GOMP_barrier", Of: firstStore, Path: "ts.team barrier.awaited"},
	{Function: "GOMP_barrier", Of: firstNumber, Path: "ts.team barrier.generation"},
	{Function: "GOMP_cancellation_point", Of: reads, Path: "ts.team work_share_cancelled", Size: 4},
	{Function: "GOMP_taskwait", Of: result, Path: "task children_queue.l.tasks"},
	{Function: "GOMP_taskwait", Of: reads, Path: "task children_queue.t.root", Size: 8},
	{Function: "GOMP_taskwait", Of: firstStore, Path: "ts.team task_lock"},

	{Function: "omp_get_max_threads", Of: result, Path: "global gomp_global_icv"},
	{Function: "omp_get_cancellation", Of: result, Path: "global gomp_cancel_var"},
	{Function: "omp_get_max_task_priority", Of: result, Path: "global gomp_max_task_priority_var"},
	{Function: "omp_get_max_active_levels", Of: result, Path: "global gomp_max_active_levels_var",
		Unless: layout.FieldName{Type: "gomp_task", Field: "icv.max_active_levels_var"}},
	{Function: "omp_get_max_teams", Of: result, Path: "global gomp_num_teams_var"},
	{Function: "omp_get_teams_thread_limit", Of: result, Path: "global gomp_teams_thread_limit_var"},
	{Function: "omp_get_num_places", Of: result, Path: "global gomp_places_list_len"},
	{Function: "omp_get_num_procs", Of: result, Path: "global gomp_available_cpus"},
	{Function: "omp_get_default_allocator", Of: result, Path: "global gomp_def_allocator"},
	{Function: "GOMP_critical_start", Of: firstStore, Path: "global default_lock"},
	{Function: "GOMP_atomic_start", Of: firstStore, Path: "global atomic_lock"},
}

// firstNumber returns the first four-byte integer that the function reads.
func firstNumber(p symbolic.Path) []*symbolic.Expr {
	for _, e := range p.Loads {
		if c, ok := e.Chain(); ok && c.Last().Size == 4 {
			return []*symbolic.Expr{e}
		}
	}
	return nil
}

// firstStore returns the first address that the function writes.
func firstStore(p symbolic.Path) []*symbolic.Expr {
	if len(p.Stores) == 0 {
		return nil
	}
	return []*symbolic.Expr{p.Stores[0].Cell()}
}

// storedValues returns all values that the function stores.
func storedValues(p symbolic.Path) []*symbolic.Expr {
	var out []*symbolic.Expr
	for _, s := range p.Stores {
		out = append(out, s.Value)
	}
	return out
}
