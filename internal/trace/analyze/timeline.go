package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Timeline contains the activities of threads in the last seconds before the newest event, and a short time
// after it, so that activities that started with that event are visible.
type Timeline struct {
	Begin, Newest, End uint64 // ticks
	Rows               []TimelineRow
	Omitted            int // number of threads without a row
}

// TimelineRow contains the activities of one thread as consecutive stretches. Held contains the times at which
// it held locks, with the lock that it acquired last.
type TimelineRow struct {
	LWP         uint32
	Begin, End  uint64 // range in which its activity is known
	Spans, Held []Stretch
}

// Stretch is a time range with one activity. If it stands for several that are too short to be shown, Activity
// is the one with the largest share, and Merged is their number.
type Stretch struct {
	Begin, End uint64
	Activity
	Merged int
}

// Activity is the innermost construct that a thread executes.
type Activity struct {
	What     What
	Kind     uint8
	PC, Lock uint64
}

// Limits of a timeline: its length, the largest part of it after the newest event, the number of stretches of
// all rows, the largest and the smallest number of parts into which it is divided (shorter stretches are
// merged), and the number of rows.
const (
	timelineLongest = 10 * time.Second
	behindNewest    = 14
	stretchesMax    = 1 << 14
	partsMost       = 400
	partsLeast      = 8
	rowsMost        = 2048
)

// NewTimeline returns the timeline of a recording; nil if it has no activity. now is the current time in ticks,
// 0 for a stopped target.
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

// lastSeconds returns the range of the timeline of a recording. If the events of threads cover less than the
// limit, because their rings are full, the range starts with the events of half of the threads.
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
	begin = max(first, rec.Clock.TicksBefore(end, timelineLongest))
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
	outside  Activity // activity outside of constructs
	inside   uint64   // end of an implicit task without a start
	at, had  uint64   // ends of the finished stretches of each kind
	over     uint64   // time after the last event of the last thread
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

// begin starts the row of a thread.
func (w *weaver) begin(lwp uint32, at uint64) {
	w.row, w.at, w.had = TimelineRow{LWP: lwp, Begin: max(at, w.timeline.Begin)}, at, at
}

// finish ends the row of a thread.
func (w *weaver) finish(at uint64) {
	w.addActivity(at)
	w.addHeld(at)
	w.row.End = min(at, w.timeline.End)
	w.row.Spans, w.row.Held = w.spans.finish(), w.held.finish()
	if w.row.LWP != 0 && len(w.row.Spans) > 0 {
		w.timeline.Rows = append(w.timeline.Rows, w.row)
	}
}

// addActivity adds the stretch of the thread's activity up to a time.
func (w *weaver) addActivity(until uint64) {
	if w.at < w.inside && w.inside < until && len(w.stack) == 0 {
		w.addActivity(w.inside)
	}
	w.spans.add(w.at, until, w.activity())
	w.at = max(w.at, until)
}

// addHeld adds the stretch of the lock that the thread held up to a time.
func (w *weaver) addHeld(until uint64) {
	if n := len(w.locks); n > 0 {
		w.held.add(w.had, until, w.locks[n-1])
	}
	w.had = max(w.had, until)
}

// activity returns the current activity of the thread.
func (w *weaver) activity() Activity {
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
		w.addHeld(s.Begin)
		w.locks = append(w.locks, a)
		return
	case s.What == LockWait && isTest(s.Kind): // the call does not wait
		a = w.activity()
	}
	w.addActivity(s.Begin)
	w.stack = append(w.stack, a)
}

// End implements Sink.
func (w *weaver) End(s *Span) {
	if s.What == LockHeld {
		w.addHeld(s.End)
		for i := len(w.locks) - 1; i >= 0; i-- {
			if w.locks[i].Lock == s.Lock {
				w.locks = slices.Delete(w.locks, i, i+1)
				break
			}
		}
		return
	}
	w.addActivity(s.End)
	w.stack = w.stack[:max(0, len(w.stack)-1)]
}

// Point implements Sink.
func (w *weaver) Point(_ *trace.Thread, lwp uint32, e *trace.Event) {
	if e.Code == trace.ThreadBegin {
		w.change(lwp, e.Time)
	}
}

// change starts a new row if the ring has another thread now.
func (w *weaver) change(lwp uint32, at uint64) {
	if lwp != w.row.LWP && at >= w.at {
		w.finish(w.at)
		w.begin(lwp, at)
	}
}

// merger merges consecutive stretches that are shorter than least.
type merger struct {
	begin, end, least uint64
	out               []Stretch
	last              Stretch // not added yet: the next one may be the same
	// parts contains the activities of the short stretches that are not in out yet, with their number (Merged)
	// and their time (End).
	parts    []Stretch
	from, to uint64
}

// partsMax bounds the different activities in one merged stretch.
const partsMax = 16

// add adds an activity from one time to another.
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

// take adds the last stretch.
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
	if i < 0 { // it is counted, but does not get the largest share
		i = len(m.parts) - 1
		m.parts[i].Merged++
		return
	}
	m.parts[i].Merged++
	m.parts[i].End += s.End - s.Begin
}

// flush merges the short stretches into one.
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

// finish returns the stretches, and removes them.
func (m *merger) finish() []Stretch {
	m.take()
	m.flush()
	out := m.out
	m.out = nil
	return out
}
