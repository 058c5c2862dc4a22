package locate

import "github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"

// Globals are the runtime's global variables. In a stripped runtime only the first few can be found.
type Globals struct {
	// kmp_info_t**, indexed by gtid, with holes
	Threads layout.Global `layout:"global __kmp_threads"`
	// int, length of __kmp_threads
	ThreadsCapacity layout.Global `layout:"global __kmp_threads_capacity,optional"`
	// kmp_root_t**, indexed by gtid
	Root layout.Global `layout:"global __kmp_root,optional"`
	// kmp_info_t*, list through th_next_pool
	ThreadPool layout.Global `layout:"global __kmp_thread_pool,optional"`
	// kmp_team_t*, list through t_next_pool
	TeamPool layout.Global `layout:"global __kmp_team_pool,optional"`
	// int, threads in teams
	Nth                 layout.Global `layout:"global __kmp_nth,optional"`
	AllNth              layout.Global `layout:"global __kmp_all_nth,optional"`                // int, all threads
	OpenmpVersion       layout.Global `layout:"global __kmp_openmp_version,optional"`         // int
	VersionMajor        layout.Global `layout:"global __kmp_version_major,optional"`          // int
	VersionMinor        layout.Global `layout:"global __kmp_version_minor,optional"`          // int
	VersionBuild        layout.Global `layout:"global __kmp_version_build,optional"`          // int
	Stksize             layout.Global `layout:"global __kmp_stksize,optional"`                // size_t
	OmpCancellation     layout.Global `layout:"global __kmp_omp_cancellation,optional"`       // int
	MaxTaskPriority     layout.Global `layout:"global __kmp_max_task_priority,optional"`      // int32
	AvailProc           layout.Global `layout:"global __kmp_avail_proc,optional"`             // int
	Xproc               layout.Global `layout:"global __kmp_xproc,optional"`                  // int
	AffinityFormat      layout.Global `layout:"global __kmp_affinity_format,optional"`        // char*
	DfltBlocktime       layout.Global `layout:"global __kmp_dflt_blocktime,optional"`         // int
	Library             layout.Global `layout:"global __kmp_library,optional"`                // enum library_type
	DfltTeamNth         layout.Global `layout:"global __kmp_dflt_team_nth,optional"`          // int
	DfltMaxActiveLevels layout.Global `layout:"global __kmp_dflt_max_active_levels,optional"` // int
	MaxNth              layout.Global `layout:"global __kmp_max_nth,optional"`                // int
	SysMaxNth           layout.Global `layout:"global __kmp_sys_max_nth,optional"`            // int
	CgMaxNth            layout.Global `layout:"global __kmp_cg_max_nth,optional"`             // int
	TeamsMaxNth         layout.Global `layout:"global __kmp_teams_max_nth,optional"`          // int
	Nteams              layout.Global `layout:"global __kmp_nteams,optional"`                 // int
	TeamsThreadLimit    layout.Global `layout:"global __kmp_teams_thread_limit,optional"`     // int
	// omp_allocator_handle_t
	DefAllocator  layout.Global `layout:"global __kmp_def_allocator,optional"`
	TargetOffload layout.Global `layout:"global __kmp_target_offload,optional"` // enum
	UserLockKind  layout.Global `layout:"global __kmp_user_lock_kind,optional"` // enum lock_kind
	// kmp_indirect_lock_table_t
	ILockTable             layout.Global `layout:"global __kmp_i_lock_table,optional"`
	EnableHiddenHelper     layout.Global `layout:"global __kmp_enable_hidden_helper,optional"`      // int
	HiddenHelperThreadsNum layout.Global `layout:"global __kmp_hidden_helper_threads_num,optional"` // int
	Global                 layout.Global `layout:"global __kmp_global,optional"`                    // kmp_global_t
	// array of 3 enum barrier_pat
	BarrierGatherPattern layout.Global `layout:"global __kmp_barrier_gather_pattern,optional"`
	// array of 3 enum barrier_pat
	BarrierReleasePattern layout.Global `layout:"global __kmp_barrier_release_pattern,optional"`
	HotTeamsMode          layout.Global `layout:"global __kmp_hot_teams_mode,optional"`      // int
	HotTeamsMaxLevel      layout.Global `layout:"global __kmp_hot_teams_max_level,optional"` // int
	TaskingMode           layout.Global `layout:"global __kmp_tasking_mode,optional"`        // enum
	// int, the first stage of initialisation is done
	InitSerial   layout.Global `layout:"global __kmp_init_serial,optional"`
	InitMiddle   layout.Global `layout:"global __kmp_init_middle,optional"`   // int
	InitParallel layout.Global `layout:"global __kmp_init_parallel,optional"` // int
	// bit field struct; the first bit means that states are kept
	OmptEnabled layout.Global `layout:"global ompt_enabled,optional"`
	// u64, bit 0: started with OMP_DEBUG=enabled
	OmpdState        layout.Global `layout:"global ompd_state,optional"`
	OmpdEnvBlock     layout.Global `layout:"global ompd_env_block,optional"`      // char*
	OmpdEnvBlockSize layout.Global `layout:"global ompd_env_block_size,optional"` // u64
}

// Settings are variables that only hold settings. They are located on demand: without symbols that takes the
// code that prints them, a tenth of the work of a snapshot of four threads.
type Settings struct {
	DisplayAffinity layout.Global `layout:"global __kmp_display_affinity,optional"`  // int
	Tool            layout.Global `layout:"global __kmp_tool,optional"`              // int
	ToolLibraries   layout.Global `layout:"global __kmp_tool_libraries,optional"`    // char*
	ToolVerboseInit layout.Global `layout:"global __kmp_tool_verbose_init,optional"` // char*
	NestedNth       layout.Global `layout:"global __kmp_nested_nth,optional"`        // kmp_nested_nthreads_t
	NestedProcBind  layout.Global `layout:"global __kmp_nested_proc_bind,optional"`  // kmp_nested_proc_bind_t
}
