package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// BenchmarkDecode goes through the events of a ring of 32,768 records.
func BenchmarkDecode(b *testing.B) {
	m := newImage(1, 15)
	for i := range uint64(1 << 15) {
		m.put(0, record{time: 1 + i, code: uint8(16 + i%16), flags: 1, value: 7, a: 0x401000 + i, b: i})
	}
	run := &m.read(b).Threads[0].Main
	events, sum := 0, uint64(0)
	for b.Loop() {
		c := run.Events()
		for e := (trace.Event{}); c.Next(&e); events++ {
			sum += e.PC + e.Region
		}
	}
	b.ReportMetric(float64(events)/1e6/b.Elapsed().Seconds(), "Mevents/s")
	if sum == 0 {
		b.Error("nothing was decoded")
	}
}

// BenchmarkRead copies and checks rings of 24 threads.
func BenchmarkRead(b *testing.B) {
	const threads = 24
	m := newImage(threads, 12)
	for i := range threads {
		for n := range uint64(5000) {
			m.put(i, record{time: 1 + n*threads + uint64(i), code: 27, a: 0x401000, b: n})
		}
	}
	events := 0
	for b.Loop() {
		for range m.read(b).Events(0) {
			events++
		}
	}
	b.ReportMetric(float64(events)/1e6/b.Elapsed().Seconds(), "Mevents/s")
}
