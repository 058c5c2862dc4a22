package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Timeline is what threads did in the last seconds before the newest event, and a little behind
// it, so that what began with that event is there.
type Timeline struct {
	Begin, Newest, End uint64 // ticks
	Rows               []TimelineRow
	Omitted            int // threads that have no row
}

// TimelineRow is what one thread did: stretches that follow each other. Held are the times at
// which it had locks, with the one that it acquired last.
type TimelineRow struct {
	LWP         uint32
	Begin, End  uint64 // what it did is known in between
	Spans, Held []Stretch
}

// Stretch is a time in which a thread did one thing. If it stands for several, each too short
// to be told, Activity is what took the most of it, and Merged counts them.
type Stretch struct {
	Begin, End uint64
	Activity
	Merged int
}

// Activity is what a thread does at a moment: the innermost construct.
type Activity struct {
	What     What
	Kind     uint8
	PC, Lock uint64
}

// Bounds of a timeline: how far it goes back, the part of that which is behind the newest event
// at most, how many stretches all of its rows have together,
// into how many parts it is divided at most and at least, below which nothing is told one by
// one, and how many rows it has.
const (
	timelineLongest = 10 * time.Second
	behindNewest    = 14
	stretchesMax    = 1 << 14
	partsMost       = 400
	partsLeast      = 8
	rowsMost        = 2048
)

// NewTimeline makes the timeline of a recording; nil if nobody did anything. now is the present
// in ticks, 0 of a target that stands.
func NewTimeline(rec *trace.Recording, now uint64) *Timeline {
	rec = rec.Connected()
	begin, newest := lastSeconds(rec)
	if begin >= newest {
		return nil
	}
	behind := (newest - begin) / behindNewest
	if now > 0 {
		behind = min(behind, now-min(now, newest))
	}
	t := &Timeline{Begin: begin, Newest: newest, End: newest + max(1, behind)}
	parts := max(partsLeast, min(partsMost, stretchesMax/max(1, len(rec.Threads))))
	least := max(1, (newest-begin)/uint64(parts))
	var all []*weaver
	Walk(rec, Window{Until: t.End}, func(thread *trace.Thread) Sink {
		w := newWeaver(t, thread, least)
		all = append(all, w)
		return w
	})
	for _, w := range all {
		w.finish(w.over)
	}
	slices.SortStableFunc(t.Rows, func(a, b TimelineRow) int { return cmp.Compare(a.LWP, b.LWP) })
	if more := len(t.Rows) - rowsMost; more > 0 {
		t.Omitted, t.Rows = more, t.Rows[:rowsMost]
	}
	return t
}

// lastSeconds are the first and the last moment of the timeline of a recording. If the events
// of threads go back less far than they could, as their rings are full, it begins where those
// of half of them do.
func lastSeconds(rec *trace.Recording) (begin, end uint64) {
	end = rec.Last()
	first := end
	var cut []uint64
	for _, t := range rec.Threads {
		c := t.Main.Events()
		e := trace.Event{}
		if !c.Next(&e) {
			continue
		}
		if first = min(first, e.Time); !t.Main.Whole() {
			cut = append(cut, e.Time)
		}
	}
	begin = max(first, rec.Clock.Before(end, timelineLongest))
	if len(cut) > 0 {
		slices.Sort(cut)
		begin = max(begin, cut[len(cut)/2])
	}
	return begin, end
}

// weaver is a Sink that makes the rows of the threads of a ring.
type weaver struct {
	timeline *Timeline
	row      TimelineRow
	spans    merger
	held     merger
	stack    []Activity
	locks    []Activity
	outside  Activity // what a thread does that is in no construct
	inside   uint64   // until then it is in an implicit task of which the beginning is not there
	at, had  uint64   // up to when the stretches of each kind are made
	over     uint64   // when there is nothing more of the last thread
}

func newWeaver(t *Timeline, thread *trace.Thread, least uint64) *weaver {
	const worker = 2 // ompt_thread_worker
	w := &weaver{timeline: t, outside: Activity{What: Serial}, over: t.End}
	if thread.Type == worker {
		w.outside.What = Idle
	}
	if thread.Life != trace.Alive {
		w.over = thread.Last
	}
	w.spans = merger{begin: t.Begin, end: min(t.End, w.over), least: least}
	w.held = w.spans
	c := thread.Main.Events()
	if e := (trace.Event{}); c.Next(&e) {
		w.begin(thread.LWPOf(&e), e.Time)
	}
	c = thread.Main.Events()
	if e := (trace.Event{}); c.NextOf(&e, entering) {
		if e.Code == trace.ImplicitTask && e.Endpoint == trace.End {
			w.inside = e.Time
		}
	} else if n := len(thread.Tasks); n > 0 && thread.Tasks[n-1].Region != 0 {
		w.inside = t.End
	}
	return w
}

// begin begins the row of a thread.
func (w *weaver) begin(lwp uint32, at uint64) {
	w.row, w.at, w.had = TimelineRow{LWP: lwp, Begin: max(at, w.timeline.Begin)}, at, at
}

// finish ends the row of a thread.
func (w *weaver) finish(at uint64) {
	w.did(at)
	w.owned(at)
	w.row.End = min(at, w.timeline.End)
	w.row.Spans, w.row.Held = w.spans.done(), w.held.done()
	if w.row.LWP != 0 && len(w.row.Spans) > 0 {
		w.timeline.Rows = append(w.timeline.Rows, w.row)
	}
}

// did makes the stretch of what the thread did up to a time.
func (w *weaver) did(until uint64) {
	if w.at < w.inside && w.inside < until && len(w.stack) == 0 {
		w.did(w.inside)
	}
	w.spans.add(w.at, until, w.doing())
	w.at = max(w.at, until)
}

// owned makes the stretch of the lock that the thread had up to a time.
func (w *weaver) owned(until uint64) {
	if n := len(w.locks); n > 0 {
		w.held.add(w.had, until, w.locks[n-1])
	}
	w.had = max(w.had, until)
}

// doing is what the thread does now.
func (w *weaver) doing() Activity {
	if n := len(w.stack); n > 0 {
		return w.stack[n-1]
	}
	if w.at < w.inside {
		return Activity{What: Implicit}
	}
	return w.outside
}

// Begin implements Sink.
func (w *weaver) Begin(s *Span) {
	w.change(s.LWP, s.Begin)
	a := Activity{s.What, s.Kind, s.PC, s.Lock}
	switch {
	case s.What == LockHeld:
		w.owned(s.Begin)
		w.locks = append(w.locks, a)
		return
	case s.What == LockWait && isTest(s.Kind): // nobody waits
		a = w.doing()
	}
	w.did(s.Begin)
	w.stack = append(w.stack, a)
}

// End implements Sink.
func (w *weaver) End(s *Span) {
	if s.What == LockHeld {
		w.owned(s.End)
		for i := len(w.locks) - 1; i >= 0; i-- {
			if w.locks[i].Lock == s.Lock {
				w.locks = slices.Delete(w.locks, i, i+1)
				break
			}
		}
		return
	}
	w.did(s.End)
	w.stack = w.stack[:max(0, len(w.stack)-1)]
}

// Point implements Sink.
func (w *weaver) Point(_ *trace.Thread, lwp uint32, e *trace.Event) {
	if e.Code == trace.ThreadBegin {
		w.change(lwp, e.Time)
	}
}

// change begins a new row if the ring has another thread now.
func (w *weaver) change(lwp uint32, at uint64) {
	if lwp != w.row.LWP && at >= w.at {
		w.finish(w.at)
		w.begin(lwp, at)
	}
}

// merger puts stretches that are shorter than least into one with those beside them.
type merger struct {
	begin, end, least uint64
	out               []Stretch
	last              Stretch // not taken yet: what follows may be the same
	// parts are what was done in the short stretches from one time to another that are not in
	// out yet, how often (Merged), and for how long (End).
	parts    []Stretch
	from, to uint64
}

// partsMax bounds the different activities that are told apart in one merged stretch.
const partsMax = 16

// add adds what was done from one time to another.
func (m *merger) add(from, to uint64, a Activity) {
	if from, to = max(from, m.begin), min(to, m.end); from >= to {
		return
	}
	if m.last.End == from && m.last.Activity == a {
		m.last.End = to
		return
	}
	m.take()
	m.last = Stretch{Begin: from, End: to, Activity: a}
}

// take takes the last stretch.
func (m *merger) take() {
	s := m.last
	if m.last = (Stretch{}); s.End == 0 {
		return
	}
	if len(m.parts) > 0 && (s.End-s.Begin >= m.least || s.Begin-m.from >= m.least || s.Begin-m.to >= m.least) {
		m.flush()
	}
	if s.End-s.Begin >= m.least {
		m.out = append(m.out, s)
		return
	}
	if len(m.parts) == 0 {
		m.from = s.Begin
	}
	m.to = s.End
	i := slices.IndexFunc(m.parts, func(p Stretch) bool { return p.Activity == s.Activity })
	if i < 0 && len(m.parts) < partsMax {
		i, m.parts = len(m.parts), append(m.parts, Stretch{Activity: s.Activity})
	}
	if i < 0 { // it counts, and is not what took the most
		i = len(m.parts) - 1
		m.parts[i].Merged++
		return
	}
	m.parts[i].Merged++
	m.parts[i].End += s.End - s.Begin
}

// flush makes one stretch of the short ones.
func (m *merger) flush() {
	if len(m.parts) == 0 {
		return
	}
	out := Stretch{Begin: m.from, End: m.to}
	most := uint64(0)
	for _, p := range m.parts {
		if out.Merged += p.Merged; p.End > most {
			most, out.Activity = p.End, p.Activity
		}
	}
	if out.Merged == 1 {
		out.Merged = 0
	}
	m.out, m.parts = append(m.out, out), m.parts[:0]
}

// done returns the stretches, and forgets them.
func (m *merger) done() []Stretch {
	m.take()
	m.flush()
	out := m.out
	m.out = nil
	return out
}
