package analyze

import "github.com/ompd-inspect/ompd-inspect/trace"

// What says what a span is.
type What uint8

// What spans are.
const (
	Region   What = iota // from fork to join, in the thread that forks
	Implicit             // an implicit task
	Task                 // an explicit task on a thread
	Sync                 // a barrier, taskwait or taskgroup, with the wait in it
	Work                 // a worksharing construct
	Masked
	LockWait // from the attempt to acquire a lock to the acquisition
	LockHeld
	Device // a target construct
	Idle   // a worker between two regions
	Reduction
	Serial        // code outside of regions; it has no span, only a timeline has it
	DataOperation // of a device
	Kernel        // on a device
)

// Span is what a thread did from one time to another.
type Span struct {
	Thread *trace.Thread
	LWP    uint32
	What   What
	Kind   uint8 // as the beginning event has it
	// Open says that it had not ended when the recording was read, Failed that a lock was
	// tested and not acquired.
	Open, Failed bool
	Begin, End   uint64 // ticks
	PC           uint64
	Region, Task uint64
	Lock         uint64
	Count        uint64 // iterations, threads; 0 unknown
	Inner        uint64 // ticks of it in which other tasks ran
	detail
}

// detail is what only some spans have.
type detail struct {
	tested   bool   // of a lock: nobody waited for it
	explicit bool   // of a lock: it was acquired in an explicit task,
	began    uint64 // which began then
	deferred bool   // of a task: its creator did not wait for it
}

// Ticks is how long it took.
func (s *Span) Ticks() uint64 { return s.End - s.Begin }

// Sink takes the spans of a thread: those that nest as they begin and end, so that one
// that began last ends first. Spans of locks that are held end in any order.
type Sink interface {
	Begin(*Span)
	End(*Span)
	// Point is an event that is neither beginning nor end.
	Point(t *trace.Thread, lwp uint32, e *trace.Event)
}

// Pairing says how well beginnings and ends matched. What does not match has its other
// half before the recording, or in a runtime that leaves it out.
type Pairing struct {
	Spans    int
	EndOnly  int // ends of what began before the recording
	Unclosed int // beginnings that were closed by the end of what is around them
}

// Window is the time of which spans are made, in ticks.
type Window struct {
	Since uint64
	// Until is the present, at which spans end that are open; 0 is the newest event.
	Until uint64
}

// Walk goes through the events of a window, thread by thread, and makes spans of them.
func Walk(rec *trace.Recording, w Window, sink func(*trace.Thread) Sink) (p Pairing) {
	all := newIndex(rec, w.Since)
	last := max(rec.Last(), w.Until)
	for _, t := range rec.Threads {
		m := machine{rec: rec, thread: t, index: all, sink: sink(t), pairing: &p, known: knownRegion(t, w.Since),
			releases: rec.Records(trace.MutexReleased)}
		for e := range t.Events(w.Since) {
			m.add(e)
		}
		if t.Life == trace.Alive {
			m.finish(last)
		} else {
			m.gone(last)
		}
	}
	return p
}

// knownRegion is the region that a thread is in from the first to the last of its events,
// if no implicit task begins or ends in them; 0 else.
func knownRegion(t *trace.Thread, since uint64) uint64 {
	if len(t.Tasks) == 0 {
		return 0
	}
	c := t.Main.Since(since)
	if e := (trace.Event{}); c.NextOf(&e, entering) {
		return 0
	}
	return t.Tasks[len(t.Tasks)-1].Region
}

// entering are the events after which a thread is perhaps in another region.
var entering = trace.CodesOf(trace.ImplicitTask, trace.NewThread)
