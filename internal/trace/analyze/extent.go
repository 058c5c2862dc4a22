package analyze

import (
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// extent contains the time range in which a construct was executed, and its number of threads.
type extent struct {
	Elapsed time.Duration // from the first start to the last end
	Threads int
	grain
	Lasting
	first, last uint64
	thread      *trace.Thread // the last counted thread
	lwp         uint32        // LWP of thread's ring at that time
}

// grain contains the durations of the deferred tasks of a row.
type grain struct {
	tasks, short int
}

// shortTask is the time below which a task is short: about the cost of creating and scheduling one.
const shortTask = 2 * time.Microsecond

// cover counts a span. took is its time without inner tasks.
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

// Grain contains the durations of the deferred tasks of one place.
type Grain struct {
	PC           uint64        // where they are created
	Count, Short int           // short tasks take less than 2 µs
	Period       time.Duration // mean time from one to the next
	first, last  uint64
}

// Grains returns the grains of all places that create deferred tasks, in the order of their rows.
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
		g.Period = clock.Elapsed(min(g.first, g.last), g.last) / time.Duration(g.Count)
	}
	return out
}
