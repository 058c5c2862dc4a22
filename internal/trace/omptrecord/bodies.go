package omptrecord

import "reflect"

// The bodies of records, in the order of section 4.5.2. Fields have the standard's names;
// enumerations are uint32, ids and pointers uint64.
type (
	// ThreadBegin is ompt_record_thread_begin_t.
	ThreadBegin struct{ ThreadType uint32 }
	// ParallelBegin is ompt_record_parallel_begin_t.
	ParallelBegin struct {
		EncounteringTaskID, ParallelID uint64
		RequestedParallelism           uint32
		Flags                          int32
		CodeptrRA                      uint64
	}
	// ParallelEnd is ompt_record_parallel_end_t.
	ParallelEnd struct {
		ParallelID, EncounteringTaskID uint64
		Flags                          int32
		CodeptrRA                      uint64
	}
	// Work is ompt_record_work_t.
	Work struct {
		WorkType, Endpoint                   uint32
		ParallelID, TaskID, Count, CodeptrRA uint64
	}
	// Dispatch is ompt_record_dispatch_t.
	Dispatch struct {
		ParallelID, TaskID uint64
		Kind               uint32
		Instance           uint64
	}
	// TaskCreate is ompt_record_task_create_t.
	TaskCreate struct {
		EncounteringTaskID, NewTaskID uint64
		Flags, HasDependences         int32
		CodeptrRA                     uint64
	}
	// Dependence is ompt_dependence_t.
	Dependence struct {
		Variable       uint64
		DependenceType uint32
	}
	// Dependences is ompt_record_dependences_t.
	Dependences struct {
		TaskID uint64
		Dep    Dependence
		Ndeps  int32
	}
	// TaskDependence is ompt_record_task_dependence_t.
	TaskDependence struct{ SrcTaskID, SinkTaskID uint64 }
	// TaskSchedule is ompt_record_task_schedule_t.
	TaskSchedule struct {
		PriorTaskID     uint64
		PriorTaskStatus uint32
		NextTaskID      uint64
	}
	// ImplicitTask is ompt_record_implicit_task_t.
	ImplicitTask struct {
		Endpoint                 uint32
		ParallelID, TaskID       uint64
		ActualParallelism, Index uint32
		Flags                    int32
	}
	// Masked is ompt_record_masked_t.
	Masked struct {
		Endpoint                      uint32
		ParallelID, TaskID, CodeptrRA uint64
	}
	// SyncRegion is ompt_record_sync_region_t.
	SyncRegion struct {
		Kind, Endpoint                uint32
		ParallelID, TaskID, CodeptrRA uint64
	}
	// MutexAcquire is ompt_record_mutex_acquire_t.
	MutexAcquire struct {
		Kind, Hint, Impl  uint32
		WaitID, CodeptrRA uint64
	}
	// Mutex is ompt_record_mutex_t.
	Mutex struct {
		Kind              uint32
		WaitID, CodeptrRA uint64
	}
	// NestLock is ompt_record_nest_lock_t.
	NestLock struct {
		Endpoint          uint32
		WaitID, CodeptrRA uint64
	}
	// Flush is ompt_record_flush_t.
	Flush struct{ CodeptrRA uint64 }
	// Cancel is ompt_record_cancel_t.
	Cancel struct {
		TaskID    uint64
		Flags     int32
		CodeptrRA uint64
	}
	// TargetDataOp is ompt_record_target_data_op_t.
	TargetDataOp struct {
		HostOpID                  uint64
		Optype                    uint32
		SrcAddr                   uint64
		SrcDeviceNum              int32
		DestAddr                  uint64
		DestDeviceNum             int32
		Bytes, EndTime, CodeptrRA uint64
	}
	// Target is ompt_record_target_t.
	Target struct {
		Kind, Endpoint              uint32
		DeviceNum                   int32
		TaskID, TargetID, CodeptrRA uint64
	}
	// TargetMap is ompt_record_target_map_t; its lists are pointers to arrays of Nitems.
	TargetMap struct {
		TargetID                                             uint64
		Nitems                                               uint32
		HostAddr, DeviceAddr, Bytes, MappingFlags, CodeptrRA uint64
	}
	// TargetKernel is ompt_record_target_kernel_t.
	TargetKernel struct {
		HostOpID                           uint64
		RequestedNumTeams, GrantedNumTeams uint32
		EndTime                            uint64
	}
	// ControlTool is ompt_record_control_tool_t.
	ControlTool struct{ Command, Modifier, CodeptrRA uint64 }
	// Error is ompt_record_error_t.
	Error struct {
		Severity                   uint32
		Message, Length, CodeptrRA uint64
	}
)

// bodies are the bodies of records by their type (ompt_callbacks_t). OpenMP 5.1 defines a callback and no
// record for the end of a thread (2, thread_end) and for events of devices themselves (12 to 15,
// device_initialize, device_finalize, device_load, device_unload): such a record is only a header.
var bodies = [...]reflect.Type{
	1:  reflect.TypeFor[ThreadBegin](),
	3:  reflect.TypeFor[ParallelBegin](),
	4:  reflect.TypeFor[ParallelEnd](),
	5:  reflect.TypeFor[TaskCreate](),
	6:  reflect.TypeFor[TaskSchedule](),
	7:  reflect.TypeFor[ImplicitTask](),
	8:  reflect.TypeFor[Target](),
	9:  reflect.TypeFor[TargetDataOp](),
	10: reflect.TypeFor[TargetKernel](),
	11: reflect.TypeFor[ControlTool](),
	16: reflect.TypeFor[SyncRegion](), // sync_region_wait
	17: reflect.TypeFor[Mutex](),      // mutex_released
	18: reflect.TypeFor[Dependences](),
	19: reflect.TypeFor[TaskDependence](),
	20: reflect.TypeFor[Work](),
	21: reflect.TypeFor[Masked](),
	22: reflect.TypeFor[TargetMap](),
	23: reflect.TypeFor[SyncRegion](),
	24: reflect.TypeFor[MutexAcquire](), // lock_init
	25: reflect.TypeFor[Mutex](),        // lock_destroy
	26: reflect.TypeFor[MutexAcquire](),
	27: reflect.TypeFor[Mutex](), // mutex_acquired
	28: reflect.TypeFor[NestLock](),
	29: reflect.TypeFor[Flush](),
	30: reflect.TypeFor[Cancel](),
	31: reflect.TypeFor[SyncRegion](), // reduction
	32: reflect.TypeFor[Dispatch](),
	33: reflect.TypeFor[Target](),       // target_emi
	34: reflect.TypeFor[TargetDataOp](), // target_data_op_emi
	35: reflect.TypeFor[TargetKernel](), // target_submit_emi
	36: reflect.TypeFor[TargetMap](),    // target_map_emi
	37: reflect.TypeFor[Error](),
}
