package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Row contains the statistics of one construct at one place in the code.
type Row struct {
	What  What
	Kind  uint8
	PC    uint64
	Lock  uint64 // of a wait; 0 for other constructs
	Count int
	Open  int           // number that had not ended
	Total time.Duration // sum of all
	Max   time.Duration
	// Contended counts waits for a lock that another thread held, and Wait is their time; for barriers, both
	// contain all waits.
	Contended int
	Wait      time.Duration
	// Imbalance is the time between the mean and the last arrival at a barrier, Barriers the number of
	// barriers, and Late the thread that was the last most often.
	Imbalance time.Duration
	Barriers  int
	Late      Late
	// Holder is the place at which the awaited locks were acquired.
	Holder Blame
	extent
}

// Lasting contains the contended waits of a row that are unfinished at the end of the window.
type Lasting struct {
	Waiting int
	Longest time.Duration
}

// Late is a thread that arrived last, and how often.
type Late struct {
	LWP   uint32
	Count int
}

// Blame is a place in the code for which others waited, and how long.
type Blame struct {
	PC   uint64
	Time time.Duration
}

// Statistics contains the statistics of a recording, longest time first.
type Statistics struct {
	Span    time.Duration // from the first event to the last
	Threads int
	Events  int
	Rows    []Row
	Pairing
}

// rowKey identifies a row.
type rowKey struct {
	what What
	kind uint8
	pc   uint64
	lock uint64
}

// rowsMax bounds the rows, and keptMax the spans of barriers and locks that are kept for comparison with each
// other.
const rowsMax, keptMax = 1 << 14, 1 << 22

// collector collects the spans of all threads.
type collector struct {
	clock    *trace.Clock
	tests    func(pc uint64) bool
	rows     map[rowKey]*Row
	barriers []Span
	waits    []Span
	holds    map[uint64][]Span // by lock
	kept     int
}

// Stats returns statistics of the events of a window. tests reports whether the call that returns to pc only
// tests a lock, or may do so; nil if that is not known. LLVM's runtime before 19 reports such a call as one
// that waits: an unfinished call counts as a wait only if it is not a test.
func Stats(rec *trace.Recording, w Window, tests func(pc uint64) bool) *Statistics {
	rec = rec.Connected()
	c := collector{clock: &rec.Clock, tests: tests, rows: map[rowKey]*Row{}, holds: map[uint64][]Span{}}
	if rec.OfCalls() { // the kinds of its calls are recorded
		c.tests = func(uint64) bool { return false }
	}
	s := &Statistics{}
	s.Pairing = Walk(rec, w, func(*trace.Thread) Sink { return &c })
	first, last := ^uint64(0), uint64(0)
	lwps := map[uint32]bool{}
	for _, t := range rec.Threads {
		for _, run := range []*trace.Run{&t.Main, &t.Rare} {
			cursor, before := run.Since(w.Since), s.Events
			for e := (trace.Event{}); cursor.Next(&e); s.Events++ {
				first, last = min(first, e.Time), max(last, e.Time)
				if s.Events == before || e.Code == trace.NewThread {
					lwps[t.LWPOf(&e)] = true
				}
			}
		}
	}
	s.Threads = len(lwps)
	if first < last {
		s.Span = rec.Clock.Elapsed(first, last)
	}
	c.addImbalance()
	c.addContention()
	for _, r := range c.rows {
		r.Elapsed = c.clock.Elapsed(min(r.first, r.last), r.last)
		s.Rows = append(s.Rows, *r)
	}
	slices.SortFunc(s.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.What, b.What), cmp.Compare(a.PC, b.PC),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Lock, b.Lock))
	})
	return s
}

// Begin implements Sink.
func (c *collector) Begin(*Span) {}

// Point implements Sink.
func (c *collector) Point(*trace.Thread, uint32, *trace.Event) {}

// End implements Sink.
func (c *collector) End(s *Span) {
	r := c.rowOf(s)
	if r == nil {
		return
	}
	d := c.clock.Elapsed(s.Begin, s.End)
	if s.What == Task {
		d = c.clock.Elapsed(s.Begin, s.End-min(s.Inner, s.Ticks()))
	}
	r.Count++
	r.Total += d
	r.Max = max(r.Max, d)
	if s.Open {
		r.Open++
	}
	r.cover(s, d)
	if c.kept >= keptMax {
		return
	}
	switch {
	case s.What == Sync && IsBarrier(s.Kind):
		r.Wait += d
		c.barriers = append(c.barriers, *s)
	case s.What == LockWait && !s.Failed && (!s.Open || c.lasts(s)):
		c.waits = append(c.waits, *s)
	case s.What == LockHeld:
		c.holds[s.Lock] = append(c.holds[s.Lock], *s)
	default:
		return
	}
	c.kept++
}

// Values of ompt_mutex_t.
const mutexLock, mutexNestLock = 1, 3

// lasts reports whether an unfinished call is known to wait.
func (c *collector) lasts(s *Span) bool {
	if s.Kind != mutexLock && s.Kind != mutexNestLock {
		return !isTest(s.Kind) // a thread at a critical section waits
	}
	return c.tests != nil && s.PC != 0 && !c.tests(s.PC)
}

// addContended counts a wait for a lock that another thread held.
func (r *Row) addContended(s *Span, d time.Duration) {
	r.Contended++
	r.Wait += d
	if s.Open {
		r.Waiting++
		r.Longest = max(r.Longest, d)
		r.last = max(r.last, s.End)
	}
}

// IsBarrier reports whether a kind of ompt_sync_region_t is a barrier of a team.
func IsBarrier(kind uint8) bool { return kind != 5 && kind != 6 && kind != 7 }

// rowOf returns the row of a span, nil if there are too many.
func (c *collector) rowOf(s *Span) *Row {
	key := rowKey{s.What, s.Kind, s.PC, s.Lock}
	r := c.rows[key]
	if r == nil && len(c.rows) < rowsMax {
		r = &Row{What: s.What, Kind: s.Kind, PC: s.PC, Lock: s.Lock}
		c.rows[key] = r
	}
	return r
}

// addImbalance finds the spans that belong to one barrier, and the late threads.
func (c *collector) addImbalance() {
	sortBarriers(c.barriers)
	late := map[*Row]map[uint32]int{}
	for i := 0; i < len(c.barriers); {
		j := i + sameBarrier(c.barriers[i:])
		c.addBarrier(c.barriers[i:j], late)
		i = j
	}
	for r, counts := range late {
		for lwp, n := range counts {
			if n > r.Late.Count || n == r.Late.Count && lwp < r.Late.LWP {
				r.Late = Late{lwp, n}
			}
		}
	}
}

// addBarrier counts the spans of one barrier, sorted by arrival.
func (c *collector) addBarrier(spans []Span, late map[*Row]map[uint32]int) {
	last := &spans[len(spans)-1]
	r := c.rowOf(last)
	if len(spans) < 2 || last.Open || r == nil {
		return
	}
	sum := time.Duration(0)
	for i := range spans {
		sum += c.clock.Elapsed(spans[i].Begin, last.Begin)
	}
	r.Imbalance += sum / time.Duration(len(spans))
	r.Barriers++
	if late[r] == nil {
		late[r] = map[uint32]int{}
	}
	late[r][last.LWP]++
}

// holdersMost bounds the holders of a lock that one thread waits for; the last ones are kept.
const holdersMost = 64

// addContention finds the holders of locks during each wait.
func (c *collector) addContention() {
	for _, list := range c.holds {
		slices.SortFunc(list, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	}
	blame := map[*Row]map[uint64]time.Duration{}
	for i := range c.waits {
		w := &c.waits[i]
		list := c.holds[w.Lock]
		n, _ := slices.BinarySearchFunc(list, w.End, func(s Span, at uint64) int { return cmp.Compare(s.Begin, at) })
		r := c.rowOf(w)
		if n == 0 || r == nil {
			continue
		}
		contended := false
		for k := n - 1; k >= max(0, n-holdersMost) && list[k].End > w.Begin; k-- {
			h := &list[k]
			if h.Thread == w.Thread {
				continue
			}
			contended = true
			if blame[r] == nil {
				blame[r] = map[uint64]time.Duration{}
			}
			blame[r][h.PC] += c.clock.Elapsed(max(h.Begin, w.Begin), min(h.End, w.End))
		}
		if contended {
			r.addContended(w, c.clock.Elapsed(w.Begin, w.End))
		}
	}
	for r, places := range blame {
		for pc, d := range places {
			if d > r.Holder.Time || d == r.Holder.Time && pc < r.Holder.PC {
				r.Holder = Blame{pc, d}
			}
		}
	}
}
