package trace

import "strconv"

// Code is the kind of an event: a value of ompt_callbacks_t (OpenMP 5.1, 4.4.2), or one of the recorder's own.
type Code uint8

// The codes of events.
const (
	ThreadBegin      Code = 1
	ThreadEnd        Code = 2
	ParallelBegin    Code = 3
	ParallelEnd      Code = 4
	TaskCreate       Code = 5
	TaskSchedule     Code = 6
	ImplicitTask     Code = 7
	Target           Code = 8
	TargetDataOp     Code = 9
	TargetSubmit     Code = 10
	ControlTool      Code = 11
	DeviceInitialize Code = 12
	DeviceFinalize   Code = 13
	DeviceLoad       Code = 14
	DeviceUnload     Code = 15
	SyncRegionWait   Code = 16
	MutexReleased    Code = 17
	Dependences      Code = 18
	TaskDependence   Code = 19
	Work             Code = 20
	Masked           Code = 21
	TargetMap        Code = 22
	SyncRegion       Code = 23
	LockInit         Code = 24
	LockDestroy      Code = 25
	MutexAcquire     Code = 26
	MutexAcquired    Code = 27
	NestLock         Code = 28
	Flush            Code = 29
	Cancel           Code = 30
	Reduction        Code = 31
	Dispatch         Code = 32
	TargetEMI        Code = 33
	TargetDataOpEMI  Code = 34
	TargetSubmitEMI  Code = 35
	TargetMapEMI     Code = 36
	ErrorEvent       Code = 37

	more         Code = 64
	NewThread    Code = 65 // a thread takes over the ring
	NewFork      Code = 66 // in the child of a fork
	Mark         Code = 67 // omp_control_tool(64, n, NULL)
	DeviceRecord Code = 68 // a record of a device's trace (Bytes)
	Idling       Code = 69 // before OpenMP 5.0: a thread idles outside of regions
	Shutdown     Code = 70 // before OpenMP 5.0: the runtime shuts down
)

// Own returns the name of an event that the recorder added to OMPT's; "" for OMPT's events.
func (c Code) Own() string {
	switch c {
	case NewThread:
		return "recorder_thread"
	case NewFork:
		return "recorder_fork"
	case Mark:
		return "recorder_mark"
	case DeviceRecord:
		return "recorder_device"
	case Idling:
		return "recorder_idle"
	case Shutdown:
		return "recorder_shutdown"
	}
	return "event_" + strconv.Itoa(int(c))
}

// Endpoint is the end of a scope that an event marks (ompt_scope_endpoint_t).
type Endpoint uint8

// The endpoints.
const (
	Begin Endpoint = 1
	End   Endpoint = 2
	Both  Endpoint = 3
)

// Event is one event of a thread. docs/internals/recorder.md describes Kind, Value, A and B for each code; code
// addresses and ids of regions are already extracted from them.
type Event struct {
	Time     uint64 // ticks of the recording's clock
	Number   uint64 // of its record in the ring
	Code     Code
	Kind     uint8
	Endpoint Endpoint // 0 for events without one
	Folded   bool     // also the wait in a sync_region; a task_create by the current task; one dependence
	Cut      bool     // a list or text was truncated
	Rare     bool     // from the ring of rare events
	Value    uint32
	PC       uint64 // address in the program's code; 0: unknown
	Region   uint64 // id of a parallel region; 0: unknown
	A, B     uint64
	More     []byte // the records that continue the event, 32 bytes each
}

// The places of a code address and of other values in a record (recorder_place).
const (
	placed   = 1 << iota // the lower 48 bits of a are a code address
	regional             // value and the upper 16 bits of a are the region's id
	aRegion              // a is the region's id
	bRegion              // b is the region's id
)

// shapes describes value, a and b for each code.
var shapes = [256]uint8{
	ParallelBegin: placed | bRegion, ParallelEnd: placed | bRegion, TaskCreate: placed, ImplicitTask: aRegion,
	Target: placed, TargetEMI: placed, ControlTool: placed, SyncRegionWait: placed | regional, MutexReleased: placed,
	Work: placed | regional, Masked: placed | regional, TargetMap: placed, TargetMapEMI: placed,
	SyncRegion: placed | regional, LockInit: placed, LockDestroy: placed, MutexAcquire: placed, MutexAcquired: placed,
	NestLock: placed, Flush: placed, Cancel: placed, Reduction: placed | regional, Dispatch: placed | regional,
	ErrorEvent: placed, Mark: placed,
}

// The flags of a record (enum recorder_flags).
const (
	flagEndpoint = 3
	flagFolded   = 4
	flagCut      = 8
	followShift  = 4
)

// decode decodes a record. In a record with a code address, the upper 16 bits of the region's id start at bit
// upper; Value contains the others.
func (e *Event) decode(r []byte, upper uint8) {
	_ = r[recordSize-1]
	word := le.Uint64(r[8:])
	a, b := le.Uint64(r[16:]), le.Uint64(r[24:])
	e.Time, e.Code, e.Kind = le.Uint64(r), Code(word), uint8(word>>8)
	flags := uint8(word >> 16)
	e.Endpoint, e.Folded, e.Cut = Endpoint(flags&flagEndpoint), flags&flagFolded != 0, flags&flagCut != 0
	e.Value = uint32(word >> 32)
	e.A, e.B, e.PC, e.Region = a, b, 0, 0
	shape := shapes[e.Code]
	if shape == 0 {
		return
	}
	if shape&placed != 0 {
		e.PC, e.A = a&addressMask, 0
	}
	switch {
	case shape&regional != 0:
		e.Region = a>>addressBits<<upper | uint64(e.Value)
	case shape&aRegion != 0:
		e.Region = a
	case shape&bRegion != 0:
		e.Region = b
	}
}

// step reports whether an event shows progress of a thread: not only a request for a lock, a flush, or a task
// scheduling point.
func (e *Event) step() bool {
	const yields = 2 // ompt_task_yield
	switch e.Code {
	case MutexAcquire, Flush:
		return false
	case TaskSchedule:
		return e.Kind != yields
	}
	return true
}

// Lock returns the wait id of an event of a lock, critical or ordered construct; 0 for others.
func (e *Event) Lock() uint64 {
	switch e.Code {
	case MutexAcquire, MutexAcquired, MutexReleased, NestLock, LockInit, LockDestroy:
		return e.B
	}
	return 0
}

// Task returns the id of an event's task: the task that is created, starts or ends, or contains the construct;
// for task_schedule, the prior one. 0: unknown.
func (e *Event) Task() uint64 {
	switch e.Code {
	case TaskCreate, ImplicitTask, SyncRegionWait, SyncRegion, Work, Masked, Cancel, Reduction, Dispatch,
		TaskDependence:
		return e.B
	case TaskSchedule, Dependences:
		return e.A
	case ParallelBegin, ParallelEnd:
		return e.parent()
	}
	return 0
}

// Next returns the next task of a task_schedule, or the sink of a task_dependence.
func (e *Event) Next() uint64 {
	if e.Code == TaskSchedule {
		return e.B
	}
	return 0
}

// parent returns the id in the record that continues the event; 0 without one.
func (e *Event) parent() uint64 {
	if len(e.More) < recordSize {
		return 0
	}
	return le.Uint64(e.More[16:])
}

// Count returns the number in the record after the event: iterations of a loop, the index of the thread of an
// implicit task. 0: unknown.
func (e *Event) Count() uint64 {
	if len(e.More) < recordSize {
		return 0
	}
	if e.Code == ImplicitTask {
		return uint64(le.Uint32(e.More[12:]))
	}
	return le.Uint64(e.More[16:])
}

// Text returns the text of an event: the message of an error, the type of a device.
func (e *Event) Text() string { return text(e.Bytes()) }

// Bytes returns the data in the records that continue an event.
func (e *Event) Bytes() (out []byte) {
	b := e.More
	if e.Code == DeviceLoad && len(b) >= recordSize {
		b = b[recordSize:]
	}
	for ; len(b) >= recordSize; b = b[recordSize:] {
		part := append(append([]byte(nil), b[:8]...), b[16:recordSize]...)
		out = append(out, part[:min(int(le.Uint32(b[12:])), len(part))]...)
	}
	return out
}
