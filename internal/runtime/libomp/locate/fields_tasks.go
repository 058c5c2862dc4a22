package locate

import "github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"

// taskdataFields are the fields of kmp_taskdata_t, the descriptor of a task.
type taskdataFields struct {
	Size                  layout.Type
	TaskId                layout.Field `layout:"td_task_id"`
	Flags                 layout.Field `layout:"td_flags"`
	FlagTiedness          layout.Field `layout:"td_flags.tiedness"`
	FlagFinal             layout.Field `layout:"td_flags.final"`
	FlagMergedIf0         layout.Field `layout:"td_flags.merged_if0"`
	FlagDestructorsThunk  layout.Field `layout:"td_flags.destructors_thunk"`
	FlagProxy             layout.Field `layout:"td_flags.proxy"`
	FlagPrioritySpecified layout.Field `layout:"td_flags.priority_specified"`
	FlagDetachable        layout.Field `layout:"td_flags.detachable"`
	FlagHiddenHelper      layout.Field `layout:"td_flags.hidden_helper"`
	FlagTasktype          layout.Field `layout:"td_flags.tasktype"` // explicit
	FlagTaskSerial        layout.Field `layout:"td_flags.task_serial"`
	FlagTaskingSer        layout.Field `layout:"td_flags.tasking_ser"`
	FlagTeamSerial        layout.Field `layout:"td_flags.team_serial"`
	FlagStarted           layout.Field `layout:"td_flags.started"`
	FlagExecuting         layout.Field `layout:"td_flags.executing"`
	FlagComplete          layout.Field `layout:"td_flags.complete"`
	FlagFreed             layout.Field `layout:"td_flags.freed"`
	FlagNative            layout.Field `layout:"td_flags.native"`
	// Since LLVM 19 the field is bit 25. Before that, it is reserved.
	FlagTarget layout.Field `layout:"td_flags.target,optional"`
	// Since LLVM 22 the field is bit 7. Before that, it is absent.
	FlagFreeAgentEligible layout.Field `layout:"td_flags.free_agent_eligible,optional"`
	// Since LLVM 22 the field is bit 8. Before that, it is absent.
	FlagTransparent       layout.Field `layout:"td_flags.transparent,optional"`
	Team                  layout.Field `layout:"td_team"`
	AllocThread           layout.Field `layout:"td_alloc_thread"`
	Parent                layout.Field `layout:"td_parent"`
	Level                 layout.Field `layout:"td_level"`
	UntiedCount           layout.Field `layout:"td_untied_count"`
	Ident                 layout.Field `layout:"td_ident"`
	TaskwaitIdent         layout.Field `layout:"td_taskwait_ident"`
	TaskwaitCounter       layout.Field `layout:"td_taskwait_counter"`
	TaskwaitThread        layout.Field `layout:"td_taskwait_thread"` // gtid+1 in a taskwait
	Icvs                  layout.Field `layout:"td_icvs"`
	IcvSerialNestingLevel layout.Field `layout:"td_icvs.serial_nesting_level"`
	IcvDynamic            layout.Field `layout:"td_icvs.dynamic"`
	IcvBtSet              layout.Field `layout:"td_icvs.bt_set"`
	IcvBlocktime          layout.Field `layout:"td_icvs.blocktime"`
	IcvNproc              layout.Field `layout:"td_icvs.nproc"`
	IcvThreadLimit        layout.Field `layout:"td_icvs.thread_limit"`
	// Since LLVM 19 the field is between thread_limit and max_active_levels. Before that, it is absent.
	IcvTaskThreadLimit       layout.Field `layout:"td_icvs.task_thread_limit,optional"`
	IcvMaxActiveLevels       layout.Field `layout:"td_icvs.max_active_levels"`
	IcvSchedType             layout.Field `layout:"td_icvs.sched.r_sched_type"`
	IcvSchedChunk            layout.Field `layout:"td_icvs.sched.chunk"`
	IcvProcBind              layout.Field `layout:"td_icvs.proc_bind"`
	IcvDefaultDevice         layout.Field `layout:"td_icvs.default_device"`
	IcvNext                  layout.Field `layout:"td_icvs.next"`
	AllocatedChildTasks      layout.Field `layout:"td_allocated_child_tasks"`
	IncompleteChildTasks     layout.Field `layout:"td_incomplete_child_tasks"`
	Taskgroup                layout.Field `layout:"td_taskgroup"`
	Dephash                  layout.Field `layout:"td_dephash"`
	Depnode                  layout.Field `layout:"td_depnode"`
	TaskTeam                 layout.Field `layout:"td_task_team"`
	SizeAlloc                layout.Field `layout:"td_size_alloc"`
	LastTied                 layout.Field `layout:"td_last_tied"`
	AllowCompletionEventType layout.Field `layout:"td_allow_completion_event.type"`
	OmptTaskInfo             layout.Field `layout:"ompt_task_info"`
	OmptExitFrame            layout.Field `layout:"ompt_task_info.frame.exit_frame"`
	OmptEnterFrame           layout.Field `layout:"ompt_task_info.frame.enter_frame"`
	OmptExitFrameFlags       layout.Field `layout:"ompt_task_info.frame.exit_frame_flags"`
	OmptEnterFrameFlags      layout.Field `layout:"ompt_task_info.frame.enter_frame_flags"`
	OmptTaskData             layout.Field `layout:"ompt_task_info.task_data"`
	OmptSchedulingParent     layout.Field `layout:"ompt_task_info.scheduling_parent"`
	OmptThreadNum            layout.Field `layout:"ompt_task_info.thread_num"`
}

// taskFields are the fields of kmp_task_t, which follows its kmp_taskdata_t.
type taskFields struct {
	Size     layout.Type
	Shareds  layout.Field `layout:"shareds"`
	Routine  layout.Field `layout:"routine"`
	PartId   layout.Field `layout:"part_id"`
	Priority layout.Field `layout:"data2.priority"`
}

// taskTeamFields are the fields of kmp_base_task_team_t, the data that a team's threads share on its tasks.
type taskTeamFields struct {
	Size                        layout.Type
	ThreadsData                 layout.Field `layout:"tt_threads_data"` // array of kmp_base_thread_data_t
	FoundTasks                  layout.Field `layout:"tt_found_tasks"`
	Nproc                       layout.Field `layout:"tt_nproc"`
	MaxThreads                  layout.Field `layout:"tt_max_threads"`
	FoundProxyTasks             layout.Field `layout:"tt_found_proxy_tasks"`
	HiddenHelperTaskEncountered layout.Field `layout:"tt_hidden_helper_task_encountered"`
	UnfinishedThreads           layout.Field `layout:"tt_unfinished_threads"`
	Active                      layout.Field `layout:"tt_active"`
	Next                        layout.Field `layout:"tt_next"`
	// Since LLVM 15 the field is the list of priorities. Before that, it is absent.
	TaskPriList layout.Field `layout:"tt_task_pri_list,optional"`
	// Since LLVM 15 the field is the number of priority tasks. Before that, it is absent.
	NumTaskPri layout.Field `layout:"tt_num_task_pri,optional"`
}

// threadDataFields are the fields of kmp_base_thread_data_t, a thread's queue of tasks.
type threadDataFields struct {
	Size        layout.Type
	Thr         layout.Field `layout:"td_thr"`
	Deque       layout.Field `layout:"td_deque"` // ring of td_deque_size pointers to kmp_taskdata_t
	DequeSize   layout.Field `layout:"td_deque_size"`
	DequeHead   layout.Field `layout:"td_deque_head"`
	DequeTail   layout.Field `layout:"td_deque_tail"`
	DequeNtasks layout.Field `layout:"td_deque_ntasks"`
}

// taskPriFields are the fields of kmp_task_pri_t, the queue of the tasks of one priority.
// Since LLVM 15 the type is this. Before that, it is absent.
type taskPriFields struct {
	Size     layout.Type  `layout:",optional"`
	Td       layout.Field `layout:"td,optional"` // a kmp_base_thread_data_t
	Priority layout.Field `layout:"priority,optional"`
	Next     layout.Field `layout:"next,optional"`
}

// taskgroupFields are the fields of kmp_taskgroup_t.
type taskgroupFields struct {
	Size          layout.Type
	Count         layout.Field `layout:"count"` // allocated and unfinished tasks
	CancelRequest layout.Field `layout:"cancel_request"`
	Parent        layout.Field `layout:"parent"`
	ReduceData    layout.Field `layout:"reduce_data"`
}

// depnodeFields are the fields of kmp_base_depnode_t, a task's node in the dependence graph.
type depnodeFields struct {
	Size          layout.Type
	Successors    layout.Field `layout:"successors"` // list of kmp_depnode_list_t
	Task          layout.Field `layout:"task"`       // a kmp_task_t; null once it is finished
	Npredecessors layout.Field `layout:"npredecessors"`
	Nrefs         layout.Field `layout:"nrefs"`
}

// depnodeListFields are the fields of kmp_depnode_list_t.
type depnodeListFields struct {
	Size layout.Type
	Node layout.Field `layout:"node"`
	Next layout.Field `layout:"next"`
}

// dephashFields are the fields of kmp_dephash_t, the map of the dependences of a task's children.
type dephashFields struct {
	Size      layout.Type
	Buckets   layout.Field `layout:"buckets"` // array of size pointers to kmp_dephash_entry_t
	Length    layout.Field `layout:"size"`
	Nelements layout.Field `layout:"nelements"`
}

// dephashEntryFields are the fields of kmp_dephash_entry_t, one address that tasks depend on.
type dephashEntryFields struct {
	Size         layout.Type
	Addr         layout.Field `layout:"addr"`
	LastOut      layout.Field `layout:"last_out"`
	LastSet      layout.Field `layout:"last_set"`
	PrevSet      layout.Field `layout:"prev_set"`
	LastFlag     layout.Field `layout:"last_flag"`
	NextInBucket layout.Field `layout:"next_in_bucket"`
}

// lwtFields are the fields of ompt_lw_taskteam_t, an enclosing serialized region.
type lwtFields struct {
	Size                    layout.Type
	OmptParallelData        layout.Field `layout:"ompt_team_info.parallel_data"`
	OmptMasterReturnAddress layout.Field `layout:"ompt_team_info.master_return_address"`
	OmptTaskInfo            layout.Field `layout:"ompt_task_info"`
	OmptExitFrame           layout.Field `layout:"ompt_task_info.frame.exit_frame"`
	OmptEnterFrame          layout.Field `layout:"ompt_task_info.frame.enter_frame"`
	OmptExitFrameFlags      layout.Field `layout:"ompt_task_info.frame.exit_frame_flags"`
	OmptEnterFrameFlags     layout.Field `layout:"ompt_task_info.frame.enter_frame_flags"`
	OmptTaskData            layout.Field `layout:"ompt_task_info.task_data"`
	OmptSchedulingParent    layout.Field `layout:"ompt_task_info.scheduling_parent"`
	OmptThreadNum           layout.Field `layout:"ompt_task_info.thread_num"`
	Heap                    layout.Field `layout:"heap"`
	Parent                  layout.Field `layout:"parent"`
}

// queuingFields are the fields of kmp_base_queuing_lock_t.
type queuingFields struct {
	Size        layout.Type
	Initialized layout.Field `layout:"initialized"` // the lock itself, once it is initialized
	Location    layout.Field `layout:"location"`
	TailId      layout.Field `layout:"tail_id"`
	HeadId      layout.Field `layout:"head_id"`  // 0 free, -1 held, else gtid+1 of the first waiting thread
	OwnerId     layout.Field `layout:"owner_id"` // gtid+1; kept for nestable locks only
	DepthLocked layout.Field `layout:"depth_locked"`
	Flags       layout.Field `layout:"flags"`
}

// tasFields are the fields of kmp_base_tas_lock_t; kmp_base_futex_lock_t has the same.
type tasFields struct {
	Size        layout.Type
	Poll        layout.Field `layout:"poll"`
	DepthLocked layout.Field `layout:"depth_locked"`
}

// ticketFields are the fields of kmp_base_ticket_lock_t.
type ticketFields struct {
	Size        layout.Type
	Initialized layout.Field `layout:"initialized"`
	Self        layout.Field `layout:"self"`
	Location    layout.Field `layout:"location"`
	NextTicket  layout.Field `layout:"next_ticket"`
	NowServing  layout.Field `layout:"now_serving"`
	OwnerId     layout.Field `layout:"owner_id"`
	DepthLocked layout.Field `layout:"depth_locked"`
}

// drdpaFields are the fields of kmp_drdpa_lock_t.
type drdpaFields struct {
	Size        layout.Type
	Initialized layout.Field `layout:"lk.initialized"`
	Location    layout.Field `layout:"lk.location"`
	NumPolls    layout.Field `layout:"lk.num_polls"`
	NextTicket  layout.Field `layout:"lk.next_ticket"`
	NowServing  layout.Field `layout:"lk.now_serving"`
	OwnerId     layout.Field `layout:"lk.owner_id"`
	DepthLocked layout.Field `layout:"lk.depth_locked"`
}

// indirectFields are the fields of kmp_indirect_lock_t, a lock that does not fit its variable.
type indirectFields struct {
	Size layout.Type
	Lock layout.Field `layout:"lock"`
	Type layout.Field `layout:"type"`
}

// indirectTableFields are the fields of kmp_indirect_lock_table_t.
type indirectTableFields struct {
	Size      layout.Type
	Table     layout.Field `layout:"table"`
	NrowPtrs  layout.Field `layout:"nrow_ptrs"`
	Next      layout.Field `layout:"next"`
	NextTable layout.Field `layout:"next_table"`
}

// identFields are the fields of ident_t, a place in the source as the compiler recorded it.
type identFields struct {
	Size      layout.Type
	Flags     layout.Field `layout:"flags"`
	Reserved2 layout.Field `layout:"reserved_2"`
	Psource   layout.Field `layout:"psource"` // string ";file;function;line;column;;"
}

// nestedNthFields are the fields of kmp_nested_nthreads_t.
type nestedNthFields struct {
	Size   layout.Type
	Nth    layout.Field `layout:"nth"` // array of used int
	Length layout.Field `layout:"size"`
	Used   layout.Field `layout:"used"`
}

// nestedBindFields are the fields of kmp_nested_proc_bind_t.
type nestedBindFields struct {
	Size      layout.Type
	BindTypes layout.Field `layout:"bind_types"` // array of used kmp_proc_bind_t, 4 bytes each
	Length    layout.Field `layout:"size"`
	Used      layout.Field `layout:"used"`
}
