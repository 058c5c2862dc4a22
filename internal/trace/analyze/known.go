package analyze

import (
	"math"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// known is since when all events of threads are there.
type known struct {
	since map[*trace.Thread]uint64
	all   uint64 // of all threads
	// left are the times at which threads left barriers of which the beginning is not there.
	left map[*trace.Thread]uint64
}

// newKnown looks at the beginning of what is there of each thread.
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
			if t.Main.Missing > 0 { // what it did is not there
				k.since[t], k.all = math.MaxUint64, math.MaxUint64
			}
			continue // it did nothing in that time
		}
		if !t.Main.Whole() {
			k.since[t] = max(since, e.Time)
			k.all = max(k.all, e.Time)
		}
		k.leaves(t, since)
	}
	return k
}

// leaves finds when a thread left the last barrier that it had come to before.
func (k *known) leaves(t *trace.Thread, since uint64) {
	inside := 0
	c := t.Main.Since(since)
	for e := (trace.Event{}); c.Next(&e); {
		if e.Code != trace.SyncRegion || !IsBarrier(e.Kind) {
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

// covers reports whether all is there that a step's thread did between another one and it.
func (k *known) covers(first, second *Step) bool {
	return k.since[second.thread] <= first.At && k.left[second.thread] <= first.At
}
