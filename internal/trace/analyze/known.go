package analyze

import (
	"math"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// known contains the times since which all events of threads are present.
type known struct {
	since map[*trace.Thread]uint64
	all   uint64 // of all threads
	// left contains the times at which threads left barriers whose start is missing.
	left map[*trace.Thread]uint64
}

// newKnown reads the start of each thread's events.
func newKnown(rec *trace.Recording, since uint64) *known {
	k := &known{map[*trace.Thread]uint64{}, since, map[*trace.Thread]uint64{}}
	for _, t := range rec.Threads {
		k.since[t] = since
		if t.Main.Whole() && since == 0 {
			continue
		}
		c := t.Main.Since(since)
		var e trace.Event
		if !c.Next(&e) {
			if t.Main.Missing > 0 { // events of this thread are missing
				k.since[t], k.all = math.MaxUint64, math.MaxUint64
			}
			continue // it has no event in that time
		}
		if !t.Main.Whole() {
			k.since[t] = max(since, e.Time)
			k.all = max(k.all, e.Time)
		}
		k.findLeave(t, since)
	}
	return k
}

// findLeave finds the time at which a thread left the last barrier that it had reached before.
func (k *known) findLeave(t *trace.Thread, since uint64) {
	inside := 0
	c := t.Main.Since(since)
	for e := (trace.Event{}); c.Next(&e); {
		if e.Code != trace.SyncRegion && e.Code != trace.SyncRegionWait || !IsBarrier(e.Kind) {
			continue
		}
		switch {
		case e.Endpoint == trace.Begin:
			inside++
		case e.Endpoint == trace.End && inside > 0:
			inside--
		case e.Endpoint == trace.End:
			k.left[t] = e.Time
		}
	}
}

// covers reports whether all events of a step's thread between another step and this one are present.
func (k *known) covers(first, second *Step) bool {
	return k.since[second.thread] <= first.At && k.left[second.thread] <= first.At
}
