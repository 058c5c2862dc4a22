package locate

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// pointees maps pointer fields of a path to the structures that they point to.
var pointees = map[string]string{
	"th_team": "kmp_base_team_t", "t_parent": "kmp_base_team_t", "th_root": "kmp_base_root_t",
	"th_current_task": "kmp_taskdata_t", "td_parent": "kmp_taskdata_t", "t_threads": "kmp_base_info_t",
	"r_uber_thread": "kmp_base_info_t",
}

// result and reads select the expressions of a rule: the function's result, and everything that it reads.
var result, reads = symbolic.Path.Returned, symbolic.Path.Read

// codeRules lists all rules.
var codeRules = []layoutcode.Rule{
	{Function: "omp_get_level", Of: result, Path: "th_team t_level"},
	{Function: "omp_get_active_level", Of: result, Path: "th_team t_active_level"},
	{Function: "__kmpc_bound_num_threads", Of: result, Path: "th_team t_nproc"},
	{Function: "__kmpc_bound_thread_num", Of: result, Path: "th_info.ds.ds_tid"},
	{Function: "omp_get_default_device", Of: result, Path: "th_current_task td_icvs.default_device"},
	{Function: "omp_get_dynamic", Of: result, Path: "th_current_task td_icvs.dynamic"},
	{Function: "omp_get_dynamic", Of: conditions, Path: "th_current_task td_icvs.dynamic"},
	{Function: "omp_get_max_threads", Of: result, Path: "th_current_task td_icvs.nproc"},
	{Function: "omp_get_proc_bind", Of: result, Path: "th_current_task td_icvs.proc_bind"},
	{Function: "omp_get_max_active_levels", Of: result, Path: "th_current_task td_icvs.max_active_levels"},
	// Since LLVM 19 the limit of the task counts if it is not 0. Before that, it is absent.
	{Function: "omp_get_thread_limit", Of: otherResult, Path: "th_current_task td_icvs.thread_limit"},
	{Function: "omp_get_thread_limit", Of: testedResult, Path: "th_current_task td_icvs.task_thread_limit"},
	{Function: "omp_get_schedule", Of: accesspath.StoredThrough(1), Path: "th_current_task td_icvs.sched.chunk"},
	{Function: "omp_get_schedule", Of: reads, Path: "th_current_task td_icvs.sched.r_sched_type"},
	{Function: "omp_in_final", Of: result, Path: "th_current_task td_flags.final", Bits: true},
	{Function: "omp_in_explicit_task", Of: result, Path: "th_current_task td_flags.tasktype", Bits: true},
	{Function: "omp_in_parallel", Of: result, Path: "th_root r_in_parallel"},
	{Function: "omp_in_parallel", Of: conditions, Path: "th_teams_microtask"},
	{Function: "omp_get_team_size", Of: reads, Path: "th_team t_serialized", Size: 4},
	{Function: "omp_get_team_size", Of: reads, Path: "th_team t_parent", Size: 8},
	{Function: "omp_get_team_size", Of: reads, Path: "th_team t_parent t_serialized", Size: 4},
	{Function: "omp_get_team_size", Of: reads, Path: "th_teams_level", Size: 4},
	{Function: "omp_get_ancestor_thread_num", Of: result, Path: "th_team t_master_tid"},
	{Function: "omp_get_ancestor_thread_num", Of: result, Path: "th_team t_parent t_master_tid"},
	{Function: "kmp_get_blocktime", Of: reads, Path: "th_team t_threads th_current_task td_icvs.bt_set", Size: 1},
	{Function: "kmp_get_blocktime", Of: reads, Path: "th_team t_threads th_current_task td_icvs.blocktime", Size: 4},
	{Function: "omp_get_place_num", Of: result, Path: "th_current_place"},
	{Function: "__kmpc_get_default_allocator", Of: result, Path: "th_def_allocator"},
	{Function: "__kmpc_push_num_threads", Of: writes(2), Path: "th_set_nproc"},
	{Function: "__kmpc_push_proc_bind", Of: writes(2), Path: "th_set_proc_bind"},
	{Function: "__kmpc_omp_taskwait", Of: writes(0), Path: "th_current_task td_taskwait_ident"},
	{Function: "__kmpc_omp_taskwait", Of: writes(1), Path: "th_current_task td_taskwait_thread"},
	{Function: "__kmpc_get_parent_taskid", Of: result, Path: "th_current_task td_parent td_task_id"},

	{Function: "omp_get_cancellation", Of: result, Path: "global __kmp_omp_cancellation"},
	{Function: "omp_get_max_task_priority", Of: result, Path: "global __kmp_max_task_priority"},
	{Function: "kmp_get_stacksize_s", Of: result, Path: "global __kmp_stksize"},
	{Function: "omp_get_num_procs", Of: result, Path: "global __kmp_avail_proc"},
	{Function: "kmp_get_num_known_threads", Of: result, Path: "global __kmp_nth"},
	{Function: "__kmpc_global_num_threads", Of: result, Path: "global __kmp_all_nth"},
	{Function: "kmp_get_library", Of: result, Path: "global __kmp_library"},
	{Function: "omp_get_max_teams", Of: result, Path: "global __kmp_nteams"},
	{Function: "omp_get_teams_thread_limit", Of: result, Path: "global __kmp_teams_thread_limit"},
	{Function: "__kmpc_get_target_offload", Of: result, Path: "global __kmp_target_offload"},
	{Function: "omp_get_affinity_format", Of: reads, Path: "global __kmp_affinity_format", Size: 8},
}

// testedResult returns the results that the function compared before it returned them.
func testedResult(p symbolic.Path) []*symbolic.Expr {
	for _, c := range p.Conds {
		if p.Result != nil && c.A != nil && c.A.Equal(p.Result) {
			return p.Returned()
		}
	}
	return nil
}

// otherResult returns the results that the function did not compare.
func otherResult(p symbolic.Path) []*symbolic.Expr {
	if testedResult(p) != nil {
		return nil
	}
	return p.Returned()
}

// conditions returns the expressions that the function compares.
func conditions(p symbolic.Path) []*symbolic.Expr {
	var out []*symbolic.Expr
	for _, c := range p.Conds {
		if c.A != nil {
			out = append(out, c.A)
		}
	}
	return out
}

// writes returns the places to which the function writes its argument.
func writes(arg int) func(symbolic.Path) []*symbolic.Expr {
	return func(p symbolic.Path) []*symbolic.Expr {
		var out []*symbolic.Expr
		for _, s := range p.Stores {
			if a, ok := s.Value.OfArg(); ok && a == arg {
				out = append(out, s.Cell())
			}
		}
		return out
	}
}
