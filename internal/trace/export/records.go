package export

import (
	"encoding/binary"
	"io"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptrecord"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// writeRecords writes the events of a recording as OpenMP 5.1's trace records, one ompt_record_ompt_t after the
// other, sorted by time (nanoseconds of CLOCK_MONOTONIC). Events that are not callbacks of OpenMP have no
// record. Callbacks for which OpenMP 5.1 defines no record (thread_end, device_initialize, device_finalize,
// device_load, device_unload) have a record without a body. Pointers to lists and texts are null: they would
// point into the program.
func writeRecords(w io.Writer, rec *trace.Recording, o Options) error {
	out, current := newOutput(w), map[uint32]uint64{}
	var buffer []byte
	for t, e := range rec.Events(o.Since) {
		switch {
		case e.Code == trace.ImplicitTask && e.Endpoint != trace.End:
			current[t.Index] = e.Task()
		case e.Next() != 0:
			current[t.Index] = e.Next()
		}
		if buffer = buffer[:0]; e.Code == trace.DeviceRecord {
			if b := e.Bytes(); len(b) == omptrecord.Size {
				buffer = b
			}
		} else {
			r := omptrecord.Record{Type: uint32(e.Code), Target: targetID(e)}
			r.Time = uint64(nanoseconds(&rec.Clock, e.Time))
			if t.LWPOf(e) == t.LWP {
				r.ThreadID = t.ID
			}
			for _, part := range bodies(e, current[t.Index]) {
				if part.code != 0 {
					r.Type = part.code
				}
				r.Body = part.body
				if b, err := r.Append(buffer); err == nil { // other events have no record
					buffer = b
				}
			}
		}
		if out.write(buffer); out.err != nil {
			break
		}
	}
	return out.close()
}

// part is the body of a record, and its type if it differs from the event's.
type part struct {
	code uint32
	body any
}

// bodies returns the bodies of the records of an event of a thread in a task.
func bodies(e *trace.Event, task uint64) []part {
	switch e.Code {
	case trace.SyncRegion:
		return synchronization(e)
	case trace.Dependences:
		var out []part
		for _, d := range e.Dependences() {
			out = append(out, part{body: &omptrecord.Dependences{TaskID: e.Task(), Ndeps: int32(e.Value),
				Dep: omptrecord.Dependence{Variable: d.Variable, DependenceType: uint32(d.Type)}}})
		}
		return out
	}
	for _, body := range []func(*trace.Event, uint64) any{threadBody, taskBody, lockBody, targetBody} {
		if b := body(e, task); b != nil {
			return []part{{body: b}}
		}
	}
	return []part{{}}
}

// synchronization returns a sync_region, with its wait if that has no event of its own.
func synchronization(e *trace.Event) []part {
	body := part{body: region(e)}
	wait := part{code: uint32(trace.SyncRegionWait), body: body.body}
	switch {
	case !e.Folded:
		return []part{body}
	case e.Endpoint == trace.End:
		body.code = uint32(trace.SyncRegion)
		return []part{wait, body}
	}
	return []part{body, wait}
}

func region(e *trace.Event) *omptrecord.SyncRegion {
	return &omptrecord.SyncRegion{Kind: uint32(e.Kind), Endpoint: uint32(e.Endpoint), ParallelID: e.Region,
		TaskID: e.Task(), CodeptrRA: e.PC}
}

// threadBody returns the body of an event of threads, regions and constructs.
func threadBody(e *trace.Event, _ uint64) any {
	endpoint := uint32(e.Endpoint)
	switch e.Code {
	case trace.ThreadBegin:
		return &omptrecord.ThreadBegin{ThreadType: uint32(e.Kind)}
	case trace.ParallelBegin:
		return &omptrecord.ParallelBegin{EncounteringTaskID: e.Task(), ParallelID: e.Region,
			RequestedParallelism: e.Value, Flags: invoker(e), CodeptrRA: e.PC}
	case trace.ParallelEnd:
		return &omptrecord.ParallelEnd{ParallelID: e.Region, EncounteringTaskID: e.Task(), Flags: invoker(e),
			CodeptrRA: e.PC}
	case trace.Work:
		return &omptrecord.Work{WorkType: uint32(e.Kind), Endpoint: endpoint, ParallelID: e.Region, TaskID: e.Task(),
			Count: e.Count(), CodeptrRA: e.PC}
	case trace.Dispatch:
		return &omptrecord.Dispatch{ParallelID: e.Region, TaskID: e.Task(), Kind: uint32(e.Kind), Instance: e.Count()}
	case trace.Masked:
		return &omptrecord.Masked{Endpoint: endpoint, ParallelID: e.Region, TaskID: e.Task(), CodeptrRA: e.PC}
	case trace.SyncRegionWait, trace.Reduction:
		return region(e)
	case trace.Flush:
		return &omptrecord.Flush{CodeptrRA: e.PC}
	case trace.ControlTool:
		return &omptrecord.ControlTool{Command: uint64(e.Value), Modifier: e.B, CodeptrRA: e.PC}
	case trace.ErrorEvent:
		return &omptrecord.Error{Severity: uint32(e.Kind), Length: e.B, CodeptrRA: e.PC}
	}
	return nil
}

// invoker returns the flags of a region (ompt_parallel_flag_t): the invoker of the team's tasks, and whether it
// is a team of threads or a league.
func invoker(e *trace.Event) int32 {
	const league, team = 0x40000000, -0x80000000
	if e.Kind&4 != 0 {
		return int32(e.Kind&3) | league
	}
	return team | int32(e.Kind&3)
}

// taskBody returns the body of an event of tasks.
func taskBody(e *trace.Event, task uint64) any {
	switch e.Code {
	case trace.TaskCreate:
		creator := e.Creator()
		if e.Folded {
			creator = task
		}
		return &omptrecord.TaskCreate{EncounteringTaskID: creator, NewTaskID: e.Task(), Flags: int32(e.Value),
			HasDependences: int32(e.Kind), CodeptrRA: e.PC}
	case trace.TaskSchedule:
		return &omptrecord.TaskSchedule{PriorTaskID: e.Task(), PriorTaskStatus: uint32(e.Kind), NextTaskID: e.Next()}
	case trace.TaskDependence:
		return &omptrecord.TaskDependence{SrcTaskID: e.A, SinkTaskID: e.B}
	case trace.ImplicitTask:
		return &omptrecord.ImplicitTask{Endpoint: uint32(e.Endpoint), ParallelID: e.Region, TaskID: e.Task(),
			ActualParallelism: e.Value, Index: uint32(e.Count()), Flags: int32(e.Kind)}
	case trace.Cancel:
		return &omptrecord.Cancel{TaskID: e.Task(), Flags: int32(e.Value), CodeptrRA: e.PC}
	}
	return nil
}

// lockBody returns the body of an event of locks, critical and ordered constructs.
func lockBody(e *trace.Event, _ uint64) any {
	const hints = 24 // bits of the hint, below the implementation
	switch e.Code {
	case trace.MutexAcquire, trace.LockInit:
		return &omptrecord.MutexAcquire{Kind: uint32(e.Kind), Hint: e.Value & (1<<hints - 1), Impl: e.Value >> hints,
			WaitID: e.B, CodeptrRA: e.PC}
	case trace.MutexAcquired, trace.MutexReleased, trace.LockDestroy:
		return &omptrecord.Mutex{Kind: uint32(e.Kind), WaitID: e.B, CodeptrRA: e.PC}
	case trace.NestLock:
		return &omptrecord.NestLock{Endpoint: uint32(e.Endpoint), WaitID: e.B, CodeptrRA: e.PC}
	}
	return nil
}

// targetBody returns the body of an event of devices.
func targetBody(e *trace.Event, _ uint64) any {
	switch e.Code {
	case trace.Target, trace.TargetEMI:
		return &omptrecord.Target{Kind: uint32(e.Kind), Endpoint: uint32(e.Endpoint), DeviceNum: int32(e.Value),
			TaskID: continuation(e, 0, 16), TargetID: e.B, CodeptrRA: e.PC}
	case trace.TargetDataOp, trace.TargetDataOpEMI:
		return &omptrecord.TargetDataOp{HostOpID: continuation(e, 0, 24), Optype: uint32(e.Kind), SrcAddr: e.A,
			SrcDeviceNum: int32(e.Value), DestAddr: e.B, DestDeviceNum: int32(continuation(e, 0, 8) >> 32),
			Bytes: continuation(e, 0, 0), CodeptrRA: continuation(e, 0, 16)}
	case trace.TargetSubmit, trace.TargetSubmitEMI:
		return &omptrecord.TargetKernel{HostOpID: e.A, RequestedNumTeams: e.Value}
	case trace.TargetMap, trace.TargetMapEMI:
		return &omptrecord.TargetMap{TargetID: e.B, Nitems: e.Value, CodeptrRA: e.PC}
	}
	return nil
}

// targetID returns the ID of the target region of an event; 0 without one.
func targetID(e *trace.Event) uint64 {
	switch e.Code {
	case trace.Target, trace.TargetEMI, trace.TargetSubmit, trace.TargetSubmitEMI, trace.TargetMap, trace.TargetMapEMI:
		return e.B
	case trace.TargetDataOp, trace.TargetDataOpEMI:
		return continuation(e, 1, 16)
	}
	return 0
}

// continuation returns a number in the ith record that continues an event, 0 if it is missing.
func continuation(e *trace.Event, i, at int) uint64 {
	const size = 32
	if len(e.More) < (i+1)*size {
		return 0
	}
	return binary.LittleEndian.Uint64(e.More[i*size+at:])
}
