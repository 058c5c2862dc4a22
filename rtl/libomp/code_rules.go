package libomp

import "github.com/ompd-inspect/ompd-inspect/internal/accesspath"

// codeRule says what one access path in the code of one exported function is.
// The functions are those of the OpenMP API and of the compiler's interface
// that do one simple thing, in the source of all releases alike; what the
// machine code for it looks like does not matter.
type codeRule struct {
	function string
	// of gives the expressions among which the path is.
	of func(accesspath.Path) []*accesspath.Expr
	// path names the fields from a thread's descriptor on, the last one's
	// value being the expression; a member of a nested structure goes with
	// its outer ones as in Layout. For a global variable it is "global" and
	// the variable.
	path string
	// not names fields that lie beside the last one and are read too; it is
	// what is left.
	not string
	// size is the size of the last field in bytes, to tell it from others
	// that are read; 0 if there are none.
	size uint8
	// through runs through the calls of the function, as one of the runtime's
	// own does the work.
	through bool
}

// pointees are the structures that fields of a path point to. t_threads is an
// array of pointers: a path goes to one of its elements.
var pointees = map[string]string{
	"th_team": "kmp_base_team_t", "t_parent": "kmp_base_team_t", "th_root": "kmp_base_root_t",
	"th_current_task": "kmp_taskdata_t", "td_parent": "kmp_taskdata_t", "t_threads": "kmp_base_info_t",
	"r_uber_thread": "kmp_base_info_t",
}

// codeRules lists all rules. A rule gives the fields on its path that no rule
// before it gives.
var codeRules = []codeRule{
	{function: "omp_get_level", of: result, path: "th_team t_level"},
	{function: "omp_get_active_level", of: result, path: "th_team t_active_level"},
	{function: "__kmpc_bound_num_threads", of: result, path: "th_team t_nproc"},
	{function: "__kmpc_bound_thread_num", of: result, path: "th_info.ds.ds_tid"},
	{function: "omp_get_default_device", of: result, path: "th_current_task td_icvs.default_device"},
	{function: "omp_get_dynamic", of: result, path: "th_current_task td_icvs.dynamic"},
	{function: "omp_get_dynamic", of: conditions, path: "th_current_task td_icvs.dynamic"},
	{function: "omp_get_max_threads", of: result, path: "th_current_task td_icvs.nproc"},
	{function: "omp_get_proc_bind", of: result, path: "th_current_task td_icvs.proc_bind"},
	{function: "omp_get_max_active_levels", of: result, path: "th_current_task td_icvs.max_active_levels"},
	// Since LLVM 19 the limit of the task counts if it is not 0. Before that, it is absent.
	{function: "omp_get_thread_limit", of: otherResult, path: "th_current_task td_icvs.thread_limit"},
	{function: "omp_get_thread_limit", of: testedResult, path: "th_current_task td_icvs.task_thread_limit"},
	{function: "omp_get_schedule", of: storedThrough(1), path: "th_current_task td_icvs.sched.chunk"},
	{function: "omp_get_schedule", of: reads, path: "th_current_task td_icvs.sched.r_sched_type", not: "td_icvs.sched.chunk"},
	{function: "omp_in_final", of: result, path: "th_current_task td_flags.final"},
	{function: "omp_in_explicit_task", of: result, path: "th_current_task td_flags.tasktype"},
	{function: "omp_in_parallel", of: result, path: "th_root r_in_parallel", not: "th_team"},
	{function: "omp_in_parallel", of: conditions, path: "th_teams_microtask"},
	{function: "omp_get_team_size", of: reads, path: "th_team t_serialized", not: "t_level t_nproc", size: 4},
	{function: "omp_get_team_size", of: reads, path: "th_team t_parent", size: 8},
	{function: "omp_get_team_size", of: reads, path: "th_team t_parent t_serialized", not: "t_nproc", size: 4},
	{function: "omp_get_team_size", of: reads, path: "th_teams_level", size: 4},
	{function: "omp_get_ancestor_thread_num", of: result, path: "th_team t_master_tid"},
	{function: "omp_get_ancestor_thread_num", of: result, path: "th_team t_parent t_master_tid"},
	{function: "kmp_get_blocktime", of: reads, path: "th_team t_threads th_current_task td_icvs.bt_set", size: 1},
	{function: "kmp_get_blocktime", of: reads, path: "th_team t_threads th_current_task td_icvs.blocktime", size: 4},
	{function: "omp_get_place_num", of: result, path: "th_current_place"},
	{function: "__kmpc_get_default_allocator", of: result, path: "th_def_allocator"},
	{function: "__kmpc_push_num_threads", of: writes(2), path: "th_set_nproc"},
	{function: "__kmpc_push_num_threads", of: writes(2), path: "th_set_nproc", through: true},
	{function: "__kmpc_push_proc_bind", of: writes(2), path: "th_set_proc_bind"},
	{function: "__kmpc_push_proc_bind", of: writes(2), path: "th_set_proc_bind", through: true},
	{function: "__kmpc_omp_taskwait", of: writes(0), path: "th_current_task td_taskwait_ident"},
	{function: "__kmpc_omp_taskwait", of: writes(1), path: "th_current_task td_taskwait_thread", not: "td_taskwait_ident"},
	{function: "__kmpc_get_parent_taskid", of: result, path: "th_current_task td_parent td_task_id"},

	{function: "omp_get_cancellation", of: result, path: "global __kmp_omp_cancellation"},
	{function: "omp_get_max_task_priority", of: result, path: "global __kmp_max_task_priority"},
	{function: "kmp_get_stacksize_s", of: result, path: "global __kmp_stksize"},
	{function: "omp_get_num_procs", of: result, path: "global __kmp_avail_proc"},
	{function: "kmp_get_num_known_threads", of: result, path: "global __kmp_nth"},
	{function: "__kmpc_global_num_threads", of: result, path: "global __kmp_all_nth"},
	{function: "kmp_get_library", of: result, path: "global __kmp_library"},
	{function: "omp_get_max_teams", of: result, path: "global __kmp_nteams"},
	{function: "omp_get_teams_thread_limit", of: result, path: "global __kmp_teams_thread_limit"},
	{function: "__kmpc_get_target_offload", of: result, path: "global __kmp_target_offload"},
	{function: "omp_get_affinity_format", of: reads, path: "global __kmp_affinity_format", size: 8},
}

// result is what the function returns.
func result(p accesspath.Path) []*accesspath.Expr {
	if p.Result == nil {
		return nil
	}
	return []*accesspath.Expr{p.Result}
}

// testedResult is a result that the function looked at before it returned it.
func testedResult(p accesspath.Path) []*accesspath.Expr {
	for _, c := range p.Conds {
		if p.Result != nil && c.A != nil && c.A.Equal(p.Result) {
			return result(p)
		}
	}
	return nil
}

// otherResult is a result that the function did not look at.
func otherResult(p accesspath.Path) []*accesspath.Expr {
	if testedResult(p) != nil {
		return nil
	}
	return result(p)
}

// conditions is what the function compares.
func conditions(p accesspath.Path) []*accesspath.Expr {
	var out []*accesspath.Expr
	for _, c := range p.Conds {
		if c.A != nil {
			out = append(out, c.A)
		}
	}
	return out
}

// reads is everything that the function reads.
func reads(p accesspath.Path) []*accesspath.Expr { return p.Loads }

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

// writes is the place to which the function writes its argument.
func writes(arg int) func(accesspath.Path) []*accesspath.Expr {
	return func(p accesspath.Path) []*accesspath.Expr {
		var out []*accesspath.Expr
		for _, s := range p.Stores {
			if a, ok := s.Value.OfArg(); ok && a == arg {
				out = append(out, s.Cell())
			}
		}
		return out
	}
}
