package trace_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestHole removes a page or two of a ring: whole records are shown, the others are counted, and conclusions
// from the order of events start after the gap.
func TestHole(t *testing.T) {
	const shift, page, perPage = 10, 4096, 128
	records := uint64(tracetest.Base + tracetest.Rings + tracetest.Slots)
	first := (records+page-1)/page*page - records // start of a page in the ring
	for _, c := range []struct {
		name               string
		written            int
		from, to           uint64 // of the ring's slots, in bytes
		missing, connected int
		says               string
	}{
		{"the newest", 1000, first + 7*page, first + 8*page, 1000 - int(first+7*page)/32, 0,
			"newest among them"},
		{"in between", 1000, first + 2*page, first + 4*page, 2 * perPage, 1000 - int(first+4*page)/32,
			"256 of its 1000"},
		{"from the middle of a page", 1000, first + page + 40, first + 2*page, perPage - 1,
			1000 - int(first+2*page)/32, "127 of its 1000"},
		{"in a full ring", 1500, first + 4*page, first + 5*page, perPage, 1500 - int(first+5*page)/32,
			"128 of its 1024"},
		{"all", 1000, 0, 32 << shift, 1000, 0, "1000 of its 1000 records are missing, the newest among them"},
	} {
		m := tracetest.New(2, shift)
		for i := range c.written {
			m.Put(0, tracetest.Record{Time: uint64(10 + i), Code: uint8(trace.MutexAcquired), B: uint64(i)})
		}
		m.Put(1, tracetest.Record{Time: 5, Code: uint8(trace.MutexAcquired)})
		m.Hole = [2]uint64{tracetest.Rings + tracetest.Slots + c.from, tracetest.Rings + tracetest.Slots + c.to}
		rec := m.Read(t)
		run, n := &rec.Threads[0].Main, 0
		for e := range rec.Threads[0].Events(0) {
			if n++; e.B != e.Number || e.Time != 10+e.Number {
				t.Errorf("%s: event %+v", c.name, e)
			}
		}
		if int(run.Missing) != c.missing || n != run.Len()-c.missing || run.Damaged != 0 {
			t.Errorf("%s: %d are missing, %d damaged, %d shown", c.name, run.Missing, run.Damaged, n)
		}
		if len(rec.Problems) != 1 || !strings.Contains(rec.Problems[0].Error(), c.says) {
			t.Errorf("%s: %v", c.name, rec.Problems)
		}
		behind := rec.Connected()
		if got := &behind.Threads[0].Main; got.Len() != c.connected || got.Whole() ||
			got.First+uint64(got.Len()) != uint64(c.written) || behind.Threads[1] != rec.Threads[1] {
			t.Errorf("%s: %d records from %d on are behind the hole", c.name, got.Len(), got.First)
		}
	}
}

// inherit fills a ring with the records of one thread and of a second one that reused it: an iteration that
// waits for others with its continuation record, a nestable lock, and dependences.
func inherit(m *tracetest.Image, i int) *tracetest.Image {
	life := func(lwp uint32, time uint64) {
		m.Put(i, tracetest.Record{Time: time, Code: uint8(trace.NewThread), Value: lwp})
		m.Put(i, tracetest.Record{Time: time + 1, Code: uint8(trace.NewThread), Value: lwp, Rare: true})
		m.Put(i, tracetest.Record{Time: time + 2, Code: uint8(trace.Dependences), Flags: 1 << 4, Value: 1, B: 7})
		m.Put(i, tracetest.Record{Time: time + 2, Code: 64, A: 3, Value: 6})
		m.Put(i, tracetest.Record{Time: time + 3, Code: uint8(trace.NestLock), Flags: 1, B: 9})
		m.Put(i, tracetest.Record{Time: time + 4, Code: uint8(trace.Dependences), Value: 1, Rare: true})
		m.Put(i, tracetest.Record{Time: time + 4, Code: 64, A: 3, Value: 6, Rare: true})
	}
	life(50, 10)
	g := m.Bytes[tracetest.Rings+i*tracetest.RingSize(7):]
	le.PutUint32(g[140:], 1)                   // earlier threads
	le.PutUint64(g[144:], le.Uint64(g[8:]))    // first record of the present one
	le.PutUint64(g[152:], le.Uint64(g[64+8:])) // in both rings
	le.PutUint32(g[160:], 50)                  // the previous thread
	life(le.Uint32(g[132:]), 20)
	return m
}

// TestCut cuts the memory at any byte: complete rings are shown, also those that several threads used, and the
// missing part is reported.
func TestCut(t *testing.T) {
	whole := tracetest.New(3, 7)
	for i := range 3 {
		inherit(whole, i)
	}
	lives, all := map[uint32]bool{}, 0
	for th, e := range whole.Read(t).Events(0) {
		lives[th.LWPOf(e)] = true
		all++
	}
	if all != 3*10 || len(lives) != 4 || !lives[50] {
		t.Fatalf("%d events of the threads %v", all, lives)
	}
	shown := map[int]bool{}
	for end := 0; end <= len(whole.Bytes); end++ {
		m := &tracetest.Image{Bytes: whole.Bytes[:end], Maps: whole.Maps}
		r, err := trace.Open(m, 0)
		if err != nil {
			continue
		}
		rec, err := r.Read()
		if err != nil {
			continue
		}
		n := 0
		for th, e := range rec.Events(0) {
			if n++; !lives[th.LWPOf(e)] {
				t.Errorf("%d bytes have an event of thread %d", end, th.LWPOf(e))
			}
		}
		if n < all && len(rec.Problems) == 0 || n > all {
			t.Errorf("%d bytes show %d events, and say that %v is missing", end, n, rec.Problems)
		}
		shown[n] = true
	}
	if len(shown) < all/2 {
		t.Errorf("%v events were shown", shown)
	}
	for n := range 4 {
		if !shown[n*all/3] {
			t.Errorf("%d events were never shown: %v", n*all/3, shown)
		}
	}
}
