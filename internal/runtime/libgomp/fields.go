package libgomp

import "github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"

// Layout holds the offsets of the fields and globals of one libgomp. The names are those in the runtime's source
// (libgomp.h, priority_queue.h). Members of nested structures belong to the outer structure.
type Layout struct {
	Globals   globals
	Thread    threadFields    `layout:"gomp_thread"`
	Team      teamFields      `layout:"gomp_team"`
	Task      taskFields      `layout:"gomp_task"`
	Pool      poolFields      `layout:"gomp_thread_pool"`
	Taskgroup taskgroupFields `layout:"gomp_taskgroup"`
	Taskwait  taskwaitFields  `layout:"gomp_taskwait"`
	WorkShare workShareFields `layout:"gomp_work_share"`
	Dependers dependersFields `layout:"gomp_dependers_vec"`
	Node      nodeFields      `layout:"prio_splay_tree_node_s"`
}

// globals are the runtime's variables. The first one is thread-local: its "address" is the distance from a
// thread's thread pointer, in two's complement.
type globals struct {
	TLS               layout.Global `layout:"global gomp_tls_data"`
	GlobalICV         layout.Global `layout:"global gomp_global_icv,optional"`
	DefaultLock       layout.Global `layout:"global default_lock,optional"`
	AtomicLock        layout.Global `layout:"global atomic_lock,optional"`
	Cancel            layout.Global `layout:"global gomp_cancel_var,optional"`
	MaxTaskPriority   layout.Global `layout:"global gomp_max_task_priority_var,optional"`
	MaxActiveLevels   layout.Global `layout:"global gomp_max_active_levels_var,optional"` // before GCC 11
	AvailableCPUs     layout.Global `layout:"global gomp_available_cpus,optional"`
	NumTeams          layout.Global `layout:"global gomp_num_teams_var,optional"`
	TeamsThreadLimit  layout.Global `layout:"global gomp_teams_thread_limit_var,optional"`
	PlacesListLen     layout.Global `layout:"global gomp_places_list_len,optional"`
	NthreadsList      layout.Global `layout:"global gomp_nthreads_var_list,optional"`
	NthreadsListLen   layout.Global `layout:"global gomp_nthreads_var_list_len,optional"`
	BindList          layout.Global `layout:"global gomp_bind_var_list,optional"`
	BindListLen       layout.Global `layout:"global gomp_bind_var_list_len,optional"`
	SpinCount         layout.Global `layout:"global gomp_spin_count_var,optional"`
	DisplayAffinity   layout.Global `layout:"global gomp_display_affinity_var,optional"`
	AffinityFormat    layout.Global `layout:"global gomp_affinity_format_var,optional"`
	AffinityFormatLen layout.Global `layout:"global gomp_affinity_format_len,optional"`
	DefAllocator      layout.Global `layout:"global gomp_def_allocator,optional"`
	Debug             layout.Global `layout:"global gomp_debug_var,optional"`
	TargetOffload     layout.Global `layout:"global gomp_target_offload_var,optional"`
}

// threadFields are the thread-local data of one thread (struct gomp_thread).
type threadFields struct {
	Size              layout.Type
	Fn                layout.Field `layout:"fn"`
	Team              layout.Field `layout:"ts.team"`
	WorkShare         layout.Field `layout:"ts.work_share"`
	TeamID            layout.Field `layout:"ts.team_id"`
	Level             layout.Field `layout:"ts.level"`
	ActiveLevel       layout.Field `layout:"ts.active_level"`
	PlacePartitionOff layout.Field `layout:"ts.place_partition_off"`
	PlacePartitionLen layout.Field `layout:"ts.place_partition_len"`
	DefAllocator      layout.Field `layout:"ts.def_allocator,optional"` // since GCC 11
	Task              layout.Field `layout:"task"`
	Release           layout.Field `layout:"release"` // semaphore on which the thread waits in ordered regions
	Place             layout.Field `layout:"place"`   // place number + 1; 0 if unbound
	ThreadPool        layout.Field `layout:"thread_pool"`
	NumTeams          layout.Field `layout:"num_teams,optional"` // since GCC 12: number of teams in the league - 1
	TeamNum           layout.Field `layout:"team_num,optional"`  // since GCC 12
}

// teamFields are the fields of a team (gomp_team). The team's nthreads implicit tasks follow it in memory, then
// the array ordered_release.
type teamFields struct {
	Size            layout.Type
	Nthreads        layout.Field `layout:"nthreads"`
	PrevTeam        layout.Field `layout:"prev_ts.team"` // the forking thread's previous state
	PrevTeamID      layout.Field `layout:"prev_ts.team_id"`
	PrevLevel       layout.Field `layout:"prev_ts.level"`
	PrevActiveLevel layout.Field `layout:"prev_ts.active_level"`
	MasterRelease   layout.Field `layout:"master_release"`
	// by thread number: master_release, or the member's gomp_thread.release
	OrderedRelease     layout.Field `layout:"ordered_release"`
	Total              layout.Field `layout:"barrier.total"`
	Generation         layout.Field `layout:"barrier.generation"`
	Awaited            layout.Field `layout:"barrier.awaited"`
	AwaitedFinal       layout.Field `layout:"barrier.awaited_final"`
	TaskLock           layout.Field `layout:"task_lock"`
	QueueRoot          layout.Field `layout:"task_queue.t.root"`
	QueueTasks         layout.Field `layout:"task_queue.l.tasks"`
	TaskCount          layout.Field `layout:"task_count"`
	QueuedCount        layout.Field `layout:"task_queued_count"`
	RunningCount       layout.Field `layout:"task_running_count"`
	WorkShareCancelled layout.Field `layout:"work_share_cancelled"`
	TeamCancelled      layout.Field `layout:"team_cancelled"`
}

// taskFields are the fields of a task, including its control variables.
type taskFields struct {
	Size            layout.Type
	Parent          layout.Field `layout:"parent"`
	ChildrenRoot    layout.Field `layout:"children_queue.t.root"`
	ChildrenTasks   layout.Field `layout:"children_queue.l.tasks"`
	Taskgroup       layout.Field `layout:"taskgroup"`
	Dependers       layout.Field `layout:"dependers"`
	Taskwait        layout.Field `layout:"taskwait"`
	DependCount     layout.Field `layout:"depend_count"`
	NumDependees    layout.Field `layout:"num_dependees"`
	DetachTeam      layout.Field `layout:"detach_team,optional"` // since GCC 11
	Priority        layout.Field `layout:"priority"`
	Pnode           layout.Field `layout:"pnode"` // nodes in the queues of team, parent and taskgroup
	Fn              layout.Field `layout:"fn"`
	Kind            layout.Field `layout:"kind"`
	InTiedTask      layout.Field `layout:"in_tied_task"`
	FinalTask       layout.Field `layout:"final_task"`
	ParentDependsOn layout.Field `layout:"parent_depends_on"`

	Nthreads        layout.Field `layout:"icv.nthreads_var"`
	RunSched        layout.Field `layout:"icv.run_sched_var"`
	RunSchedChunk   layout.Field `layout:"icv.run_sched_chunk_size"`
	DefaultDevice   layout.Field `layout:"icv.default_device_var"`
	ThreadLimit     layout.Field `layout:"icv.thread_limit_var"`
	Dyn             layout.Field `layout:"icv.dyn_var"`
	Nest            layout.Field `layout:"icv.nest_var,optional"`              // before GCC 11
	MaxActiveLevels layout.Field `layout:"icv.max_active_levels_var,optional"` // since GCC 11
	Bind            layout.Field `layout:"icv.bind_var"`
}

// poolFields are the fields of the pool in which a root keeps its workers.
type poolFields struct {
	Threads        layout.Field `layout:"threads"` // gomp_thread by number in the last team; root: 0
	ThreadsUsed    layout.Field `layout:"threads_used"`
	LastTeam       layout.Field `layout:"last_team"`
	DockGeneration layout.Field `layout:"threads_dock.generation"`
}

type taskgroupFields struct {
	Prev        layout.Field `layout:"prev"`
	QueueRoot   layout.Field `layout:"taskgroup_queue.t.root"`
	QueueTasks  layout.Field `layout:"taskgroup_queue.l.tasks"`
	InWait      layout.Field `layout:"in_taskgroup_wait"`
	Cancelled   layout.Field `layout:"cancelled"`
	Sem         layout.Field `layout:"taskgroup_sem"`
	NumChildren layout.Field `layout:"num_children"`
}

type taskwaitFields struct {
	InTaskwait   layout.Field `layout:"in_taskwait"`
	InDependWait layout.Field `layout:"in_depend_wait"`
	NDepend      layout.Field `layout:"n_depend"`
	Sem          layout.Field `layout:"taskwait_sem"`
}

// workShareFields are the fields of a worksharing construct.
type workShareFields struct {
	Sched        layout.Field `layout:"sched"`
	ChunkSize    layout.Field `layout:"chunk_size"`
	End          layout.Field `layout:"end"` // after the last value
	Incr         layout.Field `layout:"incr"`
	Next         layout.Field `layout:"next"` // the next value to assign to a thread
	OrderedOwner layout.Field `layout:"ordered_owner"`
}

// dependersFields are the fields of the vector of tasks that wait for a task.
type dependersFields struct {
	NElem layout.Field `layout:"n_elem"`
	Elem  layout.Field `layout:"elem"` // first element
}

// nodeFields are the fields of a tree node of a queue with several priorities.
type nodeFields struct {
	Tasks layout.Field `layout:"key.l.tasks"`
	Left  layout.Field `layout:"left"`
	Right layout.Field `layout:"right"`
}
