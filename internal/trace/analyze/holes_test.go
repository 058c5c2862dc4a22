package analyze_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestHole releases a lock in records that are missing in the target's memory: the lock is not held after them.
func TestHole(t *testing.T) {
	recording := func(released bool, hole [2]uint64) *trace.Recording {
		s := newScript(2)
		fill := func() {
			for range 200 {
				s.put(0, tracetest.Record{Code: uint8(trace.Flush)})
			}
		}
		both(s)
		s.take(0, 1, 1)
		if fill(); released {
			s.give(0, 1)
		}
		fill()
		pair(s, 0, 1, 2)
		if !released {
			s.give(0, 1)
		}
		pair(s, 1, 1, 2, 1)
		s.Hole = hole
		return s.Read(t)
	}
	const page, slots = 4096, tracetest.Rings + tracetest.Slots
	from := uint64(tracetest.Base+slots+page-1)/page*page - tracetest.Base
	for _, c := range []struct {
		released     bool
		hole         [2]uint64
		cycles, held int
	}{
		{false, [2]uint64{}, 1, 4},
		{true, [2]uint64{}, 0, 4},
		{true, [2]uint64{from, from + 2*page}, 0, 3},
		{false, [2]uint64{from, from + 2*page}, 0, 3},
		{true, [2]uint64{slots, slots + 32<<10}, 0, 2},
	} {
		rec := recording(c.released, c.hole)
		held := 0
		for _, r := range analyze.Stats(rec, analyze.Window{}, nil).Rows {
			if r.What == analyze.LockHeld {
				held += r.Count
			}
		}
		cycles := len(analyze.LockOrder(rec, analyze.Window{}, analyze.Calls{}))
		if cycles != c.cycles || held != c.held {
			t.Errorf("%+v: %d cycles, locks were held %d times", c, cycles, held)
		}
		if line := analyze.NewTimeline(rec, 0); line == nil || len(line.Rows) == 0 {
			t.Errorf("%+v: the timeline is %+v", c, line)
		}
	}
}
