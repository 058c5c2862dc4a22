package analyze

import (
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// extent is when a construct was executed, and by how many threads.
type extent struct {
	Elapsed time.Duration // from the first time that it began to the last time that it ended
	Threads int
	grain
	Lasting
	first, last uint64
	thread      *trace.Thread // that was the last to be counted,
	lwp         uint32        // as its ring was this one's
}

// grain is how short the deferred tasks of a row are.
type grain struct {
	tasks, short int
}

// shortTask is the time below which a task is short: about what it costs to create and to
// schedule one.
const shortTask = 2 * time.Microsecond

// cover counts a span, which took some time of its own.
func (x *extent) cover(s *Span, took time.Duration) {
	if x.thread != s.Thread || x.lwp != s.LWP { // threads come one after the other
		x.thread, x.lwp = s.Thread, s.LWP
		x.Threads++
	}
	if x.first == 0 || s.Begin < x.first {
		x.first = s.Begin
	}
	if !s.Open {
		x.last = max(x.last, s.End)
	}
	if !s.deferred || s.Open {
		return
	}
	x.tasks++
	if took < shortTask {
		x.short++
	}
}

// Grain is how short the deferred tasks of one place are.
type Grain struct {
	PC           uint64        // where they are created
	Count, Short int           // short are those of less than 2 µs
	Period       time.Duration // from one to the next, on the mean
	first, last  uint64
}

// Grains are those of all places that created deferred tasks, in the order of their rows.
func (s *Statistics) Grains(clock *trace.Clock) (out []Grain) {
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.tasks == 0 {
			continue
		}
		at := slices.IndexFunc(out, func(g Grain) bool { return g.PC == r.PC })
		if at < 0 {
			at, out = len(out), append(out, Grain{PC: r.PC, first: r.first})
		}
		g := &out[at]
		g.Count, g.Short = g.Count+r.tasks, g.Short+r.short
		g.first, g.last = min(g.first, r.first), max(g.last, r.last)
	}
	for i := range out {
		g := &out[i]
		g.Period = clock.Between(min(g.first, g.last), g.last) / time.Duration(g.Count)
	}
	return out
}
