package analyze

import "github.com/ompd-inspect/ompd-inspect/trace"

// Title returns the name of a kind of spans: "barrier", "wait for lock 0x4040e0".
func Title(what What, kind uint8, lock uint64, words trace.Words) string {
	begin := trace.Event{Kind: kind, B: lock, Endpoint: trace.Begin}
	switch what {
	case Region:
		return "parallel region"
	case Implicit:
		if kind&1 != 0 { // ompt_task_initial
			return "initial task"
		}
		return "implicit task"
	case Task:
		return "task"
	case Sync:
		return trace.SyncName(kind)
	case Work:
		return trace.WorkName(kind)
	case Masked:
		return "masked"
	case LockWait:
		return "wait for " + words.Mutex(&begin)
	case LockHeld:
		return words.Mutex(&begin)
	case Idle:
		return "idle"
	case Serial:
		return "serial code"
	case Reduction:
		return "reduction"
	case DataOperation:
		return trace.OperationName(kind)
	case Kernel:
		return "kernel on a device"
	}
	return trace.TargetName(kind)
}

// PointTitle returns the name of an event that does not end a span.
func PointTitle(e *trace.Event, words trace.Words) string {
	if e.Code == trace.TaskCreate {
		return "creates a task"
	}
	return words.Phrase(&trace.Event{Code: e.Code, Kind: e.Kind, Endpoint: e.Endpoint, Value: e.Value, B: e.Lock()})
}
