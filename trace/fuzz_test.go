package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// FuzzRead changes the memory of a recorder: every record must be read, lost, or reported as a problem, and
// times must ascend.
func FuzzRead(f *testing.F) {
	m := inherit(tracetest.New(3, 7), 2)
	for i := range uint64(150) {
		code := uint8(1 + i%40)
		m.Put(0, tracetest.Record{
			Time: 2000 + 10*i, Code: code, Kind: uint8(i), Flags: 1, Value: 7, A: 0x401000 + i, B: i,
		})
	}
	for i := range uint64(20) {
		m.Put(1, tracetest.Record{Time: 2005 + 10*i, Code: 37, Flags: 2 << 4, Rare: true})
		m.Put(1, tracetest.Record{Code: 64, Time: 1 << 62, Value: 24, Rare: true})
		m.Put(1, tracetest.Record{Code: 64, Time: 1 << 62, Value: 3, Rare: true})
	}
	for _, c := range []struct {
		at    uint32
		value uint64
	}{
		{0, 0}, {16, 2}, {112, 1 << 30}, {tracetest.Directory, 1 << 40}, {tracetest.Rings, 0},
		{tracetest.Rings + 8, 1 << 63},
		{tracetest.Rings + 48, 20 | 20<<32},
		{tracetest.Rings + 52, 6}, {tracetest.Rings + tracetest.Slots, 0},
		{tracetest.Rings + tracetest.Slots + 8, 1<<64 - 1}, {tracetest.Rings + 192, 1<<64 - 1},
		{tracetest.Rings + 104, 1 << 63},
	} {
		f.Add(c.at, c.value, uint32(len(m.Bytes)))
	}
	f.Fuzz(func(t *testing.T, at uint32, value uint64, end uint32) {
		b := append([]byte(nil), m.Bytes...)
		if int(at)+8 <= len(b) {
			le.PutUint64(b[at:], value)
		}
		n := &tracetest.Image{Bytes: b[:min(int(end), len(b))], Maps: m.Maps}
		r, err := trace.Open(n, 0)
		if err != nil {
			return
		}
		rec, err := r.Read()
		if (rec == nil) == (err == nil) {
			t.Fatalf("%v and %v", rec, err)
		}
		if err != nil {
			return
		}
		for _, th := range rec.Threads {
			for _, run := range []*trace.Run{&th.Main, &th.Rare} {
				if run.First+uint64(run.Len()) != run.Written || run.Lost > run.Written {
					t.Errorf("%d from %d on of %d, %d lost", run.Len(), run.First, run.Written, run.Lost)
				}
			}
		}
		last := uint64(0)
		for th, e := range rec.Events(0) {
			if e.Time < last {
				t.Errorf("%d after %d", e.Time, last)
			}
			last = e.Time
			_, _, _ = e.Text(), e.Count(), th.LWPOf(e)
		}
	})
}
