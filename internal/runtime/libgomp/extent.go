package libgomp

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// extent is a range of code: [low, high).
type extent struct{ low, high uint64 }

// maxFunction is an upper bound for the size of the last functions, in bytes. Code after their start, up to this
// size or to the C library, counts as theirs.
const maxFunction = 2048

// codeOf returns the range of the runtime's functions in mod: the whole module, unless the runtime is linked
// into an executable. There, its object files are adjacent, and their symbols bound the range. Without symbols
// the range is empty, which means unknown.
func codeOf(t callbacks.Target, mod *callbacks.Module) extent {
	if !mod.Main {
		return extent{mod.Low.Offset, mod.High.Offset}
	}
	// Cold code precedes all other code. The other code starts at the program's entry point; the program's
	// functions are in between.
	start, _ := layout.SymbolIn(t, mod, "_start")
	var e extent
	last := uint64(0)
	for _, name := range staticFunctions() {
		a, err := layout.SymbolIn(t, mod, name)
		if err != nil || a.Offset < start.Offset {
			continue
		}
		if e.low == 0 || a.Offset < e.low {
			e.low = a.Offset
		}
		last = max(last, a.Offset)
	}
	if e.low == 0 {
		return e
	}
	e.high = last + maxFunction
	for _, name := range neighbours() {
		if a, err := layout.SymbolIn(t, mod, name); err == nil && a.Offset > last {
			e.high = min(e.high, a.Offset)
		}
	}
	return e
}

// staticFunctions returns the first and last functions of the object files in libgomp.a, and their local
// functions.
func staticFunctions() []string {
	return []string{
		"gomp_malloc", "gomp_aligned_free", "GOMP_atomic_start", "GOMP_atomic_end", "GOMP_barrier",
		"GOMP_barrier_cancel",
		"GOMP_critical_start", "GOMP_critical_name_end", "omp_display_env", "gomp_fatal", "gomp_vfatal",
		"omp_set_num_threads",
		"omp_get_supported_active_levels", "omp_get_initial_device", "gomp_iter_static_next", "gomp_iter_guided_next",
		"gomp_iter_ull_static_next", "gomp_iter_ull_guided_next", "GOMP_loop_start", "GOMP_loop_end_nowait",
		"GOMP_loop_static_start",
		"GOMP_loop_ull_start", "GOMP_loop_ull_runtime_next", "GOMP_ordered_start", "GOMP_doacross_ull_wait",
		"gomp_resolve_num_threads",
		"GOMP_parallel", "omp_get_active_level", "GOMP_scope_start", "GOMP_sections_start", "GOMP_sections_end_nowait",
		"GOMP_single_start",
		"GOMP_single_copy_end", "gomp_init_task", "omp_in_explicit_task", "omp_in_final", "GOMP_task", "gomp_new_team",
		"gomp_free_thread",
		"gomp_thread_start", "gomp_team_start", "gomp_team_end", "gomp_new_icv", "gomp_init_work_share",
		"gomp_work_share_end_nowait",
		"gomp_init_lock_30", "omp_test_nest_lock", "gomp_mutex_lock_slow", "gomp_mutex_unlock_slow",
		"gomp_init_num_threads",
		"gomp_sem_wait_slow", "gomp_sem_post_slow", "gomp_barrier_wait_end", "gomp_team_barrier_cancel",
		"gomp_ptrlock_get_slow",
		"gomp_ptrlock_set_slow", "omp_get_wtime", "omp_get_wtick", "gomp_init_affinity", "omp_get_place_proc_ids_8_",
		"GOMP_target",
		"gomp_init_targets_once", "GOMP_target_ext", "gomp_target_task_fn", "omp_init_allocator", "omp_free",
		"GOMP_teams_reg",
		"omp_get_team_num", "omp_get_num_teams", "priority_tree_remove", "priority_tree_next_task",
		"priority_queue_task_in_queue_p",
		"gomp_display_affinity_thread", "omp_display_affinity", "goacc_host_init", "goacc_runtime_deinitialize",
		"goacc_init_asyncqueues_for_device",
		"goacc_profiling_initialize", "acc_prof_register", "GOACC_parallel_keyed", "acc_init", "gomp_splay_tree_lookup",
		"goacc_register", "goacc_async_free", "acc_malloc", "GOMP_PLUGIN_malloc", "omp_init_lock_", "omp_display_env_",
	}
}

// neighbours returns functions of the C library that linkers place after the last library of a program.
func neighbours() []string {
	return []string{"__libc_start_call_main", "__libc_start_main", "abort", "_exit", "exit", "__libc_setup_tls",
		"_dl_relocate_static_pie"}
}

// executable reports whether the address a may contain code.
func (rt *base) executable(a uint64) bool {
	lister, ok := rt.target.(callbacks.MappingLister)
	if !ok {
		return true
	}
	return slices.ContainsFunc(lister.Mappings(), func(m callbacks.Mapping) bool {
		return a >= m.Low.Offset && a < m.High.Offset && m.Perm&callbacks.PermExec != 0
	})
}
