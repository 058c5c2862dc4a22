package analyze

import "github.com/ompd-inspect/ompd-inspect/trace"

// What is the kind of a span.
type What uint8

// Kinds of spans.
const (
	Region   What = iota // from fork to join, in the forking thread
	Implicit             // an implicit task
	Task                 // an explicit task on a thread
	Sync                 // a barrier, taskwait or taskgroup, with its wait
	Work                 // a worksharing construct
	Masked
	LockWait // from the attempt to acquire a lock to the acquisition
	LockHeld
	Device // a target construct
	Idle   // a worker between two regions
	Reduction
	Serial        // code outside of regions, only in timelines
	DataOperation // of a device
	Kernel        // on a device
)

// Span is an activity of a thread from one time to another.
type Span struct {
	Thread *trace.Thread
	LWP    uint32
	What   What
	Kind   uint8 // kind of the starting event
	// Open reports whether the span had not ended when the recording was read, Failed whether a lock was tested
	// and not acquired.
	Open, Failed bool
	Begin, End   uint64 // ticks
	PC           uint64
	Region, Task uint64
	Lock         uint64
	Count        uint64 // iterations, threads; 0 if unknown
	Inner        uint64 // ticks in which other tasks ran
	detail
}

// detail contains fields of some kinds of spans.
type detail struct {
	tested   bool   // of a lock: the call did not wait for it
	alone    bool   // a wait whose construct has no events
	explicit bool   // of a lock: it was acquired in an explicit task
	began    uint64 // start of that task
	deferred bool   // of a task: its creator did not wait for it
}

// Ticks returns the duration.
func (s *Span) Ticks() uint64 { return s.End - s.Begin }

// Sink receives the spans of a thread. Most spans nest: one that started last ends first. Spans of held locks
// end in any order.
type Sink interface {
	Begin(*Span)
	End(*Span)
	// Point receives an event that is neither start nor end.
	Point(t *trace.Thread, lwp uint32, e *trace.Event)
}

// Pairing counts unpaired starts and ends. The other half of an unpaired event is before the recording, or
// missing in the runtime.
type Pairing struct {
	Spans    int
	EndOnly  int // ends of spans that started before the recording
	Unclosed int // starts that were closed by the end of a span around them
}

// Window is a time range, in ticks.
type Window struct {
	Since uint64
	// Until is the current time, at which open spans end; 0 means the newest event.
	Until uint64
}

// Walk reads the events of a window, thread by thread, and passes their spans to sinks.
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
			m.removeThread(last)
		}
	}
	return p
}

// knownRegion returns the region of a thread from the first to the last of its events, if no implicit task
// starts or ends in them; else 0.
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

// entering lists the events after which a thread may be in another region.
var entering = trace.CodesOf(trace.ImplicitTask, trace.NewThread)
