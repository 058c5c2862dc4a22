package trace

import (
	"fmt"
	"strconv"
	"strings"
)

// Words converts events to plain words.
type Words struct {
	// Addresses means that ids are addresses, not a ring's number with a count.
	Addresses bool
	// Lock names a lock by its wait id; nil: locks have no names.
	Lock func(id uint64) string
}

// Words returns the Words for the events of a recording.
func (r *Recording) Words(lock func(id uint64) string) Words {
	return Words{Addresses: r.IDs == idsAddress, Lock: lock}
}

// enum recorder_ids, as far as readers need it.
const (
	idsOurs    = 1
	idsAddress = 2
	idsRegions = 3
)

// ID formats an id: the number of its ring and its count, such as 1.7.
func (w Words) ID(id uint64) string { return string(w.appendID(nil, id)) }

func (w Words) appendID(b []byte, id uint64) []byte {
	if maker := id >> addressBits; !w.Addresses && maker > 0 && maker <= ringsMax {
		b = append(strconv.AppendUint(b, maker-1, 10), '.')
		return strconv.AppendUint(b, id&addressMask, 10)
	}
	return appendHex(b, id)
}

// appendHex appends a number in the format of addresses.
func appendHex(b []byte, n uint64) []byte { return strconv.AppendUint(append(b, "0x"...), n, 16) }

// Mutex returns the lock, critical or ordered construct of an event in words.
func (w Words) Mutex(e *Event) string { return string(w.appendMutex(nil, e)) }

func (w Words) appendMutex(b []byte, e *Event) []byte {
	kind := e.Kind
	if e.Code == NestLock {
		kind = nestLock
	}
	b = append(append(b, pick(mutexes, kind, "lock")...), ' ')
	if w.Lock != nil {
		if name := w.Lock(e.B); name != "" {
			return append(b, name...)
		}
	}
	return appendHex(b, e.B)
}

// nestLock is ompt_mutex_nest_lock. The event nest_lock has no kind.
const nestLock = 3

// mutexes are the values of ompt_mutex_t.
var mutexes = []string{"", "lock", "lock", "nestable lock", "nestable lock", "critical", "atomic", "ordered"}

// syncs are the values of ompt_sync_region_t.
var syncs = []string{
	"", "a barrier", "an implicit barrier", "an explicit barrier", "a barrier of the runtime", "a taskwait",
	"a taskgroup", "a reduction", "the barrier at the end of a worksharing construct",
	"the barrier at the end of the region", "the barrier at the end of a league",
}

// SyncName returns a kind of ompt_sync_region_t in words.
func SyncName(kind uint8) string { return bare(pick(syncs, kind, "a synchronization")) }

// WorkName returns a kind of ompt_work_t in words.
func WorkName(kind uint8) string { return bare(pick(works, kind, "a worksharing construct")) }

// bare returns a noun without its article.
func bare(s string) string {
	for _, article := range []string{"an ", "a ", "the "} {
		s = strings.TrimPrefix(s, article)
	}
	return s
}

// works are the values of ompt_work_t in OpenMP 6.0.
var works = []string{
	"", "a loop", "sections", "a single construct, as its executor", "a single construct of another thread",
	"a workshare construct", "a distribute loop", "a taskloop", "a scope", "a workdistribute construct",
	"a loop with a static schedule", "a loop with a dynamic schedule", "a loop with a guided schedule",
	"a loop with another schedule",
}

// statuses are the values of ompt_task_status_t, as events of the prior task.
var statuses = []string{
	"", "completes", "yields", "is cancelled", "is detached", "is fulfilled early", "is fulfilled late", "is suspended",
	"has no task to wait for any more",
}

// dispatches are the values of ompt_dispatch_t.
var dispatches = []string{"", "an iteration", "a section", "a chunk of a loop", "a chunk of a taskloop", "a chunk"}

// pick returns an entry of a table, or other for an unknown number.
func pick(table []string, i uint8, other string) string {
	if int(i) < len(table) && table[i] != "" {
		return table[i]
	}
	return other
}

// ends returns the verb for the event's endpoint.
func (e *Event) ends(begin, end string) string {
	switch e.Endpoint {
	case End:
		return end
	case Both:
		return strings.TrimSpace(begin) + " and " + end
	}
	return begin
}

// Phrase returns the action of an event in words, such as "acquires lock 0x4040e0".
func (w Words) Phrase(e *Event) string { return string(w.Append(nil, e)) }

// Append appends Phrase to b. For frequent events it allocates no string.
func (w Words) Append(b []byte, e *Event) []byte {
	switch e.Code {
	case SyncRegion:
		return append(append(b, e.ends("comes to ", "leaves ")...), pick(syncs, e.Kind, "a synchronization")...)
	case SyncRegionWait:
		return append(append(b, e.ends("waits at ", "has waited at ")...), pick(syncs, e.Kind, "a synchronization")...)
	case TaskCreate:
		return w.appendID(append(b, "creates task "...), e.Task())
	case TaskSchedule:
		if e.Task() == 0 && e.Next() != 0 { // OMPT of 2013 does not pass the data of a completed task
			return w.appendID(append(b, "continues with task "...), e.Next())
		}
		b = append(w.appendID(append(b, "task "...), e.Task()), ' ')
		b = append(b, pick(statuses, e.Kind, "ends")...)
		if e.Next() != 0 {
			b = w.appendID(append(b, ", continues with task "...), e.Next())
		}
		return b
	case MutexAcquire:
		return w.appendMutex(append(b, "asks for "...), e)
	case MutexAcquired:
		return w.appendMutex(append(b, "acquires "...), e)
	case MutexReleased:
		return w.appendMutex(append(b, "releases "...), e)
	}
	return append(b, w.seldom(e)...)
}

// seldom returns the phrases of the rarer events.
func (w Words) seldom(e *Event) string {
	switch e.Code {
	case ThreadBegin:
		return "begins as " + pick([]string{"", "the initial", "a worker", "another"}, e.Kind, "a") + " thread"
	case ThreadEnd:
		return "ends"
	case ParallelBegin:
		what, of := "parallel region", "threads"
		if e.Kind&4 != 0 {
			what, of = "league", "teams"
		}
		return fmt.Sprintf("forks %s %s for %d %s", what, w.ID(e.Region), e.Value, of)
	case ParallelEnd:
		return "joins region " + w.ID(e.Region)
	case ImplicitTask:
		return w.implicit(e)
	case Work:
		if n := e.Count(); n > 0 && e.Endpoint == Begin && e.Kind != 3 && e.Kind != 4 {
			return "begins " + pick(works, e.Kind, "a worksharing construct") + " of " + strconv.FormatUint(n, 10)
		}
		return e.ends("begins ", "ends ") + pick(works, e.Kind, "a worksharing construct")
	case Masked:
		return e.ends("begins", "ends") + " a masked construct"
	case Reduction:
		return e.ends("begins", "ends") + " a reduction"
	case Dispatch:
		return "takes " + pick(dispatches, e.Kind, "a part of a construct")
	case ControlTool:
		return fmt.Sprintf("calls omp_control_tool(%d, %d)", e.Value, e.B)
	case ErrorEvent:
		return "error" + e.deviceText()
	case NewThread:
		return fmt.Sprintf("is thread %d, recorded from here on", e.Value)
	case NewFork:
		return fmt.Sprintf("is process %d, forked from %d", e.Value, e.A)
	case Mark:
		return fmt.Sprintf("mark %d", e.B)
	case Idling:
		return e.ends("starts to idle", "stops idling")
	case Shutdown:
		return "the runtime shuts down"
	}
	if s := w.ofTask(e); s != "" {
		return s
	}
	if s := w.ofLock(e); s != "" {
		return s
	}
	return w.ofDevice(e)
}

// implicit returns the phrases of implicit tasks.
func (w Words) implicit(e *Event) string {
	switch initial := e.Kind&1 != 0; {
	case e.Endpoint == End && initial:
		return "ends its initial task"
	case e.Endpoint == End:
		return "ends its implicit task"
	case initial:
		return "begins its initial task"
	}
	return fmt.Sprintf("is thread %d of %d in region %s", e.Count(), e.Value, w.ID(e.Region))
}

// ofTask returns the phrases of explicit tasks.
func (w Words) ofTask(e *Event) string {
	switch e.Code {
	case Dependences:
		return w.depends(e)
	case TaskDependence:
		return fmt.Sprintf("task %s must wait for task %s", w.ID(e.B), w.ID(e.A))
	case Cancel:
		return "cancels a construct"
	}
	return ""
}

// depends returns the dependences of a task in words, or the iteration of a doacross loop that a thread has
// finished or waited for: its number in each of the loops.
func (w Words) depends(e *Event) string {
	list := e.Dependences()
	if len(list) == 0 || !list[0].Iterates() {
		of := make([]string, len(list))
		for i, d := range list {
			of[i] = pick(dependenceTypes, uint8(min(d.Type, 0xff)), "another type")
			if d.Type != typeOutAllMemory && d.Type != typeInoutAllMemory {
				of[i] = fmt.Sprintf("%#x %s", d.Variable, of[i])
			}
		}
		return fmt.Sprintf("task %s depends on %s", w.ID(e.Task()), count(e.Value, "address", "addresses")) +
			listFirst(of, int(e.Value))
	}
	b := []byte("posts iteration ")
	if list[0].Type == typeSink {
		b = []byte("has waited for iteration ")
	}
	for i, d := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(d.Variable), 10)
	}
	return string(b)
}

// dependenceTypes are the values of ompt_dependence_type_t in OpenMP 6.0.
var dependenceTypes = []string{
	"", "in", "out", "inout", "mutexinoutset", "source", "sink", "inoutset", typeOutAllMemory: "out of all memory",
	typeInoutAllMemory: "inout of all memory",
}

// listFirst returns the first parts of n as a list after a colon.
func listFirst(parts []string, n int) string {
	const most = 3
	if len(parts) == 0 {
		return ""
	}
	more := ""
	if n > most {
		more = ", …"
	}
	return ": " + strings.Join(parts[:min(most, len(parts))], ", ") + more
}

// ofLock returns the phrases of locks, critical and ordered constructs.
func (w Words) ofLock(e *Event) string {
	switch e.Code {
	case NestLock:
		return e.ends("acquires once more ", "releases once ") + w.Mutex(e)
	case LockInit:
		return "makes " + w.Mutex(e)
	case LockDestroy:
		return "destroys " + w.Mutex(e)
	case Flush:
		return "flushes memory"
	}
	return ""
}

// count formats a number of things.
func count(n uint32, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(uint64(n), 10) + " " + many
}
