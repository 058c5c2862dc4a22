package locate

import "github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"

// Layout is the offsets of the fields, and the addresses of the globals, that this reader of LLVM's runtime
// needs, by the runtime's own names. A group's tag is the structure; a member's tag is the field in it. Dots
// lead into nested structures, and a dot after td_flags into its bits. Some versions lack the optional fields;
// all have the others.
type Layout struct {
	Thread        threadFields        `layout:"kmp_base_info_t"`
	Bar           barFields           `layout:"kmp_bstate_t"`
	TeamBar       teamBarFields       `layout:"kmp_balign_team_t"`
	Team          teamFields          `layout:"kmp_base_team_t"`
	Dist          distFields          `layout:"distributedBarrier"`
	DistFlags     distFlagsFields     `layout:"flags_s"`
	DistIter      distIterFields      `layout:"iter_s"`
	Root          rootFields          `layout:"kmp_base_root_t"`
	Taskdata      taskdataFields      `layout:"kmp_taskdata_t"`
	Task          taskFields          `layout:"kmp_task_t"`
	TaskTeam      taskTeamFields      `layout:"kmp_base_task_team_t"`
	ThreadData    threadDataFields    `layout:"kmp_base_thread_data_t"`
	TaskPri       taskPriFields       `layout:"kmp_task_pri_t"`
	Taskgroup     taskgroupFields     `layout:"kmp_taskgroup_t"`
	Depnode       depnodeFields       `layout:"kmp_base_depnode_t"`
	DepnodeList   depnodeListFields   `layout:"kmp_depnode_list_t"`
	Dephash       dephashFields       `layout:"kmp_dephash_t"`
	DephashEntry  dephashEntryFields  `layout:"kmp_dephash_entry_t"`
	Lwt           lwtFields           `layout:"ompt_lw_taskteam_t"`
	Queuing       queuingFields       `layout:"kmp_base_queuing_lock_t"`
	Tas           tasFields           `layout:"kmp_base_tas_lock_t"`
	Ticket        ticketFields        `layout:"kmp_base_ticket_lock_t"`
	Drdpa         drdpaFields         `layout:"kmp_drdpa_lock_t"`
	Indirect      indirectFields      `layout:"kmp_indirect_lock_t"`
	IndirectTable indirectTableFields `layout:"kmp_indirect_lock_table_t"`
	Ident         identFields         `layout:"ident_t"`
	CG            cgFields            `layout:"kmp_cg_root_t"`
	Disp          dispFields          `layout:"kmp_disp_t"`
	DispPrivate   dispPrivateFields   `layout:"dispatch_private_info_t"`
	DispShared    dispSharedFields    `layout:"dispatch_shared_info_t"`
	HotTeam       hotTeamFields       `layout:"kmp_hot_team_ptr_t"`
	NestedNth     nestedNthFields     `layout:"kmp_nested_nthreads_t"`
	NestedBind    nestedBindFields    `layout:"kmp_nested_proc_bind_t"`

	Globals Globals
}

// threadFields are the fields of kmp_base_info_t, the descriptor of a thread.
type threadFields struct {
	Size            layout.Type
	Stackbase       layout.Field `layout:"th_info.ds.ds_stackbase"` // highest address of the stack
	Stacksize       layout.Field `layout:"th_info.ds.ds_stacksize"`
	Stackgrow       layout.Field `layout:"th_info.ds.ds_stackgrow"`
	Pthread         layout.Field `layout:"th_info.ds.ds_thread"` // pthread_t
	Tid             layout.Field `layout:"th_info.ds.ds_tid"`    // number in the current team
	Gtid            layout.Field `layout:"th_info.ds.ds_gtid"`   // index in __kmp_threads
	Team            layout.Field `layout:"th_team"`              // null while idle
	Root            layout.Field `layout:"th_root"`
	NextPool        layout.Field `layout:"th_next_pool"`
	Dispatch        layout.Field `layout:"th_dispatch"`
	InPool          layout.Field `layout:"th_in_pool"`
	TeamNproc       layout.Field `layout:"th_team_nproc"`
	TeamMaster      layout.Field `layout:"th_team_master"`
	TeamSerialized  layout.Field `layout:"th_team_serialized"`
	TeamsMicrotask  layout.Field `layout:"th_teams_microtask"`
	TeamsLevel      layout.Field `layout:"th_teams_level"`
	TeamsSizeNteams layout.Field `layout:"th_teams_size.nteams"`
	TeamsSizeNth    layout.Field `layout:"th_teams_size.nth"`
	SetNproc        layout.Field `layout:"th_set_nproc"`
	// Since LLVM 19 the field is a list of its own. Before that, it is absent.
	SetNestedNth layout.Field `layout:"th_set_nested_nth,optional"`
	// Since LLVM 19 the field is that list's length. Before that, it is absent.
	SetNestedNthSz        layout.Field `layout:"th_set_nested_nth_sz,optional"`
	HotTeams              layout.Field `layout:"th_hot_teams"`
	SetProcBind           layout.Field `layout:"th_set_proc_bind"`
	CurrentPlace          layout.Field `layout:"th_current_place"`
	NewPlace              layout.Field `layout:"th_new_place"`
	FirstPlace            layout.Field `layout:"th_first_place"`
	LastPlace             layout.Field `layout:"th_last_place"`
	AffinMask             layout.Field `layout:"th_affin_mask"`
	DefAllocator          layout.Field `layout:"th_def_allocator"`
	PackedReductionMethod layout.Field `layout:"th_local.packed_reduction_method"`
	SerialTeam            layout.Field `layout:"th_serial_team"`
	OmptState             layout.Field `layout:"ompt_thread_info.state"`
	OmptWaitId            layout.Field `layout:"ompt_thread_info.wait_id"`
	OmptThreadData        layout.Field `layout:"ompt_thread_info.thread_data"`
	OmptTaskData          layout.Field `layout:"ompt_thread_info.task_data"`
	OmptReturnAddress     layout.Field `layout:"ompt_thread_info.return_address"`
	OmptParallelFlags     layout.Field `layout:"ompt_thread_info.parallel_flags"`
	OmptIdleFrame         layout.Field `layout:"ompt_thread_info.idle_frame"`
	SpinHere              layout.Field `layout:"th_spin_here"`
	SleepLoc              layout.Field `layout:"th_sleep_loc"` // the flag that the thread sleeps on
	SleepLocType          layout.Field `layout:"th_sleep_loc_type"`
	Ident                 layout.Field `layout:"th_ident"`
	TaskTeam              layout.Field `layout:"th_task_team"`
	CurrentTask           layout.Field `layout:"th_current_task"` // null while idle
	TaskState             layout.Field `layout:"th_task_state"`
	ReapState             layout.Field `layout:"th_reap_state"`
	ActiveInPool          layout.Field `layout:"th_active_in_pool"`
	Active                layout.Field `layout:"th_active"`
	UsedInTeam            layout.Field `layout:"th_used_in_team"`
	Cons                  layout.Field `layout:"th_cons"`
	Bar                   layout.Field `layout:"th_bar"`          // array of barBound kmp_bstate_t
	NextWaiting           layout.Field `layout:"th_next_waiting"` // gtid+1 of the next in a queuing lock
	Blocking              layout.Field `layout:"th_blocking"`
	CgRoots               layout.Field `layout:"th_cg_roots"`
}

// barFields are the fields of kmp_bstate_t, a thread's part of a barrier.
type barFields struct {
	Size      layout.Type
	Go        layout.Field `layout:"b_go"`
	Arrived   layout.Field `layout:"b_arrived"`
	MyLevel   layout.Field `layout:"my_level"`
	ParentTid layout.Field `layout:"parent_tid"`
	OldTid    layout.Field `layout:"old_tid"`
	Depth     layout.Field `layout:"depth"`
	ParentBar layout.Field `layout:"parent_bar"`
	Team      layout.Field `layout:"team"`
	Nproc     layout.Field `layout:"nproc"`
	LeafKids  layout.Field `layout:"leaf_kids"`
	WaitFlag  layout.Field `layout:"wait_flag"`
}

// teamBarFields are the fields of kmp_balign_team_t, a team's part of a barrier.
type teamBarFields struct {
	Size    layout.Type
	Arrived layout.Field `layout:"b_arrived"`
}

// teamFields are the fields of kmp_base_team_t, the descriptor of a team.
type teamFields struct {
	Size      layout.Type
	Ordered   layout.Field `layout:"t_ordered.dt.t_value"`
	Bar       layout.Field `layout:"t_bar"` // array of kmp_balign_team_t
	Construct layout.Field `layout:"t_construct"`
	MasterTid layout.Field `layout:"t_master_tid"` // of the primary thread in the parent team
	Ident     layout.Field `layout:"t_ident"`
	Parent    layout.Field `layout:"t_parent"`
	NextPool  layout.Field `layout:"t_next_pool"`
	Dispatch  layout.Field `layout:"t_dispatch"`  // array of kmp_disp_t
	TaskTeam  layout.Field `layout:"t_task_team"` // array of 2 pointers
	// Since LLVM 19 the field is in the team. Before that, it is th_task_state_memo_stack of the thread.
	PrimaryTaskState        layout.Field `layout:"t_primary_task_state,optional"`
	ProcBind                layout.Field `layout:"t_proc_bind"`
	Argv                    layout.Field `layout:"t_argv"`
	Argc                    layout.Field `layout:"t_argc"`
	Nproc                   layout.Field `layout:"t_nproc"`
	Pkfn                    layout.Field `layout:"t_pkfn"`
	Invoke                  layout.Field `layout:"t_invoke"`
	OmptParallelData        layout.Field `layout:"ompt_team_info.parallel_data"`
	OmptMasterReturnAddress layout.Field `layout:"ompt_team_info.master_return_address"`
	OmptSerializedTeamInfo  layout.Field `layout:"ompt_serialized_team_info"` // head of the list of ompt_lw_taskteam_t
	Threads                 layout.Field `layout:"t_threads"`                 // array of t_nproc pointers to kmp_info_t
	ImplicitTaskTaskdata    layout.Field `layout:"t_implicit_task_taskdata"`  // array of t_nproc kmp_taskdata_t
	Level                   layout.Field `layout:"t_level"`
	MaxNproc                layout.Field `layout:"t_max_nproc"`
	Serialized              layout.Field `layout:"t_serialized"`
	Id                      layout.Field `layout:"t_id"`
	ActiveLevel             layout.Field `layout:"t_active_level"`
	SchedType               layout.Field `layout:"t_sched.r_sched_type"`
	SchedChunk              layout.Field `layout:"t_sched.chunk"`
	FirstPlace              layout.Field `layout:"t_first_place"`
	LastPlace               layout.Field `layout:"t_last_place"`
	DefAllocator            layout.Field `layout:"t_def_allocator"`
	ControlStackTop         layout.Field `layout:"t_control_stack_top"`
	CancelRequest           layout.Field `layout:"t_cancel_request"`
	MasterActive            layout.Field `layout:"t_master_active"`
	CopyprivData            layout.Field `layout:"t_copypriv_data"`
	// Since LLVM 14 the field is a pointer to a distributedBarrier, null if the team's barriers
	// are of other patterns. Before that, it is absent.
	Dist layout.Field `layout:"b,optional"`
	// Since LLVM 19 the field is a list of its own. Before that, it is absent.
	NestedNth layout.Field `layout:"t_nested_nth,optional"`
}

// distFields are the fields of distributedBarrier, a team's barrier of the pattern "dist".
// Since LLVM 14 the type is this. Before that, it is absent.
type distFields struct {
	Size       layout.Type  `layout:",optional"`
	Flags      layout.Field `layout:"flags,optional"` // of each round, an array of flags_s
	Iter       layout.Field `layout:"iter,optional"`  // array of iter_s
	NumThreads layout.Field `layout:"num_threads,optional"`
}

// distFlagsFields are the fields of distributedBarrier::flags_s.
// Since LLVM 14 the type is this. Before that, it is absent.
type distFlagsFields struct {
	Size      layout.Type  `layout:",optional"`
	StillNeed layout.Field `layout:"stillNeed,optional"` // the thread has not arrived
}

// distIterFields are the fields of distributedBarrier::iter_s.
// Since LLVM 14 the type is this. Before that, it is absent.
type distIterFields struct {
	Size layout.Type  `layout:",optional"`
	Iter layout.Field `layout:"iter,optional"` // the round that the thread is in
}

// rootFields are the fields of kmp_base_root_t, the descriptor of an initial thread.
type rootFields struct {
	Size       layout.Type
	Active     layout.Field `layout:"r_active"`
	InParallel layout.Field `layout:"r_in_parallel"`
	RootTeam   layout.Field `layout:"r_root_team"`
	HotTeam    layout.Field `layout:"r_hot_team"`
	UberThread layout.Field `layout:"r_uber_thread"`
	Begin      layout.Field `layout:"r_begin"`
	Blocktime  layout.Field `layout:"r_blocktime"`
}

// cgFields are the fields of kmp_cg_root_t, a contention group.
type cgFields struct {
	Size        layout.Type
	Root        layout.Field `layout:"cg_root"`
	ThreadLimit layout.Field `layout:"cg_thread_limit"`
	Nthreads    layout.Field `layout:"cg_nthreads"`
	Up          layout.Field `layout:"up"`
}

// dispFields are the fields of kmp_disp_t, a thread's part of a worksharing loop.
type dispFields struct {
	Size              layout.Type
	DispatchShCurrent layout.Field `layout:"th_dispatch_sh_current"`
	DispatchPrCurrent layout.Field `layout:"th_dispatch_pr_current"` // a dispatch_private_info_t
	DispIndex         layout.Field `layout:"th_disp_index"`
	DoacrossBufIdx    layout.Field `layout:"th_doacross_buf_idx"`
	DoacrossInfo      layout.Field `layout:"th_doacross_info"`
}

// dispPrivateFields are the fields of dispatch_private_info_t, the chunk that a thread works on.
type dispPrivateFields struct {
	Size     layout.Type
	Count    layout.Field `layout:"u.p64.count"` // of chunks that may be stolen: the next
	Ub       layout.Field `layout:"u.p64.ub"`
	Lb       layout.Field `layout:"u.p64.lb"`
	St       layout.Field `layout:"u.p64.st"`
	Tc       layout.Field `layout:"u.p64.tc"`
	Schedule layout.Field `layout:"schedule"`
	TypeSize layout.Field `layout:"type_size"`
	PushedWs layout.Field `layout:"pushed_ws"`
	// The same by the size of the loop's variable.
	Count32 layout.Field `layout:"u.p32.count"`
	Ub32    layout.Field `layout:"u.p32.ub"`
	Lb32    layout.Field `layout:"u.p32.lb"`
	St32    layout.Field `layout:"u.p32.st"`
	Tc32    layout.Field `layout:"u.p32.tc"`
	Chunk32 layout.Field `layout:"u.p32.parm1"`
	Chunk64 layout.Field `layout:"u.p64.parm1"`
	Ordered layout.Field `layout:"flags.ordered"`
	// The iterations of the chunk that may run in an ordered loop, by the size of the loop's variable.
	OrderedLower32 layout.Field `layout:"u.p32.ordered_lower"`
	OrderedUpper32 layout.Field `layout:"u.p32.ordered_upper"`
	OrderedLower64 layout.Field `layout:"u.p64.ordered_lower"`
	OrderedUpper64 layout.Field `layout:"u.p64.ordered_upper"`
}

// dispSharedFields are the fields of dispatch_shared_info_t, a team's part of a worksharing loop.
type dispSharedFields struct {
	Size      layout.Type
	Given32   layout.Field `layout:"u.s32.iteration"` // chunks, or guided iterations, that threads have taken
	Given64   layout.Field `layout:"u.s64.iteration"`
	Ordered32 layout.Field `layout:"u.s32.ordered_iteration"` // the number of the thread that may run next
	Ordered64 layout.Field `layout:"u.s64.ordered_iteration"`
}

// hotTeamFields are the fields of kmp_hot_team_ptr_t, a team that is kept for the next region.
type hotTeamFields struct {
	Size       layout.Type
	HotTeam    layout.Field `layout:"hot_team"`
	HotTeamNth layout.Field `layout:"hot_team_nth"`
}
