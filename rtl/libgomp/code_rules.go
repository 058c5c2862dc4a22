package libgomp

import "github.com/ompd-inspect/ompd-inspect/internal/accesspath"

// codeRule says what one access path in the code of one exported function is.
// The functions are those of the OpenMP API and of the compiler's interface that
// do one simple thing, in the source of all releases alike; what the machine code
// for it looks like does not matter.
type codeRule struct {
	function string
	// of gives the expressions among which the path is.
	of func(accesspath.Path) []*accesspath.Expr
	// path names the fields from gomp_tls_data on. For a global variable it is
	// "global" and the variable.
	path string
	// unless names a control variable of a task: where it is one, the global
	// variable is part of gomp_global_icv.
	unless string
	// size is the size in bytes of what is read last, to tell it from others
	// that are read; 0 if there are none.
	size uint8
	// as is the size of the last field, if the function reads a part of it; 0
	// if it reads it whole.
	as uint64
	// partly tells that not all bits of the last field matter.
	partly bool
}

// pointees are the structures that fields of a path point to.
var pointees = map[string]string{
	"ts.team": "gomp_team", "prev_ts.team": "gomp_team", "task": "gomp_task", "parent": "gomp_task",
	"ts.work_share": "gomp_work_share", "taskgroup": "gomp_taskgroup", "taskwait": "gomp_taskwait",
	"thread_pool": "gomp_thread_pool",
}

// codeRules lists all rules. A rule gives the fields on its path that no rule
// before it gives.
var codeRules = []codeRule{
	{function: "omp_get_num_threads", of: result, path: "ts.team nthreads"},
	{function: "omp_get_thread_num", of: result, path: "ts.team_id"},
	{function: "omp_get_level", of: result, path: "ts.level"},
	{function: "omp_get_active_level", of: result, path: "ts.active_level"},
	{function: "omp_get_team_size", of: result, path: "ts.team prev_ts.team nthreads"},
	{function: "omp_get_ancestor_thread_num", of: result, path: "ts.team prev_ts.team prev_ts.team_id"},
	{function: "omp_in_final", of: result, path: "task final_task"},
	{function: "omp_get_max_threads", of: result, path: "task icv.nthreads_var", as: 8},
	{function: "omp_get_default_device", of: result, path: "task icv.default_device_var"},
	{function: "omp_get_thread_limit", of: reads, path: "task icv.thread_limit_var", size: 4},
	{function: "omp_get_dynamic", of: result, path: "task icv.dyn_var"},
	{function: "omp_get_proc_bind", of: result, path: "task icv.bind_var"},
	{function: "omp_get_schedule", of: storedThrough(1), path: "task icv.run_sched_chunk_size"},
	{function: "omp_get_schedule", of: storedThrough(0), path: "task icv.run_sched_var", partly: true},
	{function: "omp_get_max_active_levels", of: result, path: "task icv.max_active_levels_var"},
	{function: "omp_get_place_num", of: reads, path: "place", size: 4},
	{function: "omp_get_partition_num_places", of: result, path: "ts.place_partition_len"},
	{function: "omp_get_partition_place_nums", of: stored, path: "ts.place_partition_off"},
	{function: "omp_get_default_allocator", of: result, path: "ts.def_allocator"},
	{function: "omp_get_team_num", of: result, path: "team_num"},
	{function: "omp_get_num_teams", of: reads, path: "num_teams", size: 4},
	{function: "GOMP_single_start", of: reads, path: "ts.single_count", size: 8},
	{function: "GOMP_single_start", of: reads, path: "ts.team single_count", size: 8},
	{function: "GOMP_taskgroup_start", of: reads, path: "task taskgroup", size: 8},
	{function: "GOMP_cancellation_point", of: result, path: "task taskgroup cancelled"},
	{function: "GOMP_ordered_start", of: reads, path: "ts.team ordered_release", size: 8},
	{function: "GOMP_ordered_start", of: reads, path: "ts.work_share ordered_owner", size: 4},
	{function: "GOMP_barrier", of: firstStore, path: "ts.team barrier.awaited"},
	{function: "GOMP_barrier", of: firstNumber, path: "ts.team barrier.generation"},
	{function: "GOMP_cancellation_point", of: reads, path: "ts.team work_share_cancelled", size: 4},
	{function: "GOMP_taskwait", of: result, path: "task children_queue.l.tasks"},
	{function: "GOMP_taskwait", of: reads, path: "task children_queue.t.root", size: 8},
	{function: "GOMP_taskwait", of: firstStore, path: "ts.team task_lock"},

	{function: "omp_get_max_threads", of: result, path: "global gomp_global_icv"},
	{function: "omp_get_cancellation", of: result, path: "global gomp_cancel_var"},
	{function: "omp_get_max_task_priority", of: result, path: "global gomp_max_task_priority_var"},
	{function: "omp_get_max_active_levels", of: result, path: "global gomp_max_active_levels_var", unless: "icv.max_active_levels_var"},
	{function: "omp_get_max_teams", of: result, path: "global gomp_num_teams_var"},
	{function: "omp_get_teams_thread_limit", of: result, path: "global gomp_teams_thread_limit_var"},
	{function: "omp_get_num_places", of: result, path: "global gomp_places_list_len"},
	{function: "omp_get_num_procs", of: result, path: "global gomp_available_cpus"},
	{function: "omp_get_default_allocator", of: result, path: "global gomp_def_allocator"},
	{function: "GOMP_critical_start", of: firstStore, path: "global default_lock"},
	{function: "GOMP_atomic_start", of: firstStore, path: "global atomic_lock"},
}

// result is what the function returns.
func result(p accesspath.Path) []*accesspath.Expr {
	if p.Result == nil {
		return nil
	}
	return []*accesspath.Expr{p.Result}
}

// reads is everything that the function reads.
func reads(p accesspath.Path) []*accesspath.Expr { return p.Loads }

// firstNumber is the first integer of four bytes that the function reads.
func firstNumber(p accesspath.Path) []*accesspath.Expr {
	for _, e := range p.Loads {
		if c, ok := e.Chain(); ok && c.Last().Size == 4 {
			return []*accesspath.Expr{e}
		}
	}
	return nil
}

// firstStore is the first place that the function writes.
func firstStore(p accesspath.Path) []*accesspath.Expr {
	if len(p.Stores) == 0 {
		return nil
	}
	return []*accesspath.Expr{p.Stores[0].Cell()}
}

// stored is everything that the function stores.
func stored(p accesspath.Path) []*accesspath.Expr {
	var out []*accesspath.Expr
	for _, s := range p.Stores {
		out = append(out, s.Value)
	}
	return out
}

// storedThrough is what the function stores where its argument points to.
func storedThrough(arg int) func(accesspath.Path) []*accesspath.Expr {
	return func(p accesspath.Path) []*accesspath.Expr {
		var out []*accesspath.Expr
		for _, s := range p.Stores {
			if a, ok := s.Address.OfArg(); ok && a == arg {
				out = append(out, s.Value)
			}
		}
		return out
	}
}
