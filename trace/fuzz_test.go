package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// FuzzRead changes the memory of a recorder: every record is read, lost, or told as a
// problem; times ascend; nothing else happens.
func FuzzRead(f *testing.F) {
	m := newImage(2, 7)
	for i := range uint64(150) {
		code := uint8(1 + i%40)
		m.put(0, record{time: 2000 + 10*i, code: code, kind: uint8(i), flags: 1, value: 7, a: 0x401000 + i, b: i})
	}
	for i := range uint64(20) {
		m.put(1, record{time: 2005 + 10*i, code: 37, flags: 2 << 4, rare: true})
		m.put(1, record{code: 64, time: 1 << 62, value: 24, rare: true})
		m.put(1, record{code: 64, time: 1 << 62, value: 3, rare: true})
	}
	for _, c := range []struct {
		at    uint32
		value uint64
	}{
		{0, 0}, {16, 2}, {112, 1 << 30}, {directory, 1 << 40}, {rings, 0}, {rings + 8, 1 << 63},
		{rings + 48, 20 | 20<<32},
		{rings + 52, 6}, {rings + slots, 0}, {rings + slots + 8, 1<<64 - 1}, {rings + 192, 1<<64 - 1},
		{rings + 104, 1 << 63},
	} {
		f.Add(c.at, c.value, uint32(len(m.bytes)))
	}
	f.Fuzz(func(t *testing.T, at uint32, value uint64, end uint32) {
		b := append([]byte(nil), m.bytes...)
		if int(at)+8 <= len(b) {
			le.PutUint64(b[at:], value)
		}
		n := &image{bytes: b[:min(int(end), len(b))], maps: m.maps}
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
