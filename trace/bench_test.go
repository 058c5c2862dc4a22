package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// BenchmarkDecode decodes the events of a ring of 32,768 records.
func BenchmarkDecode(b *testing.B) {
	m := tracetest.New(1, 15)
	for i := range uint64(1 << 15) {
		m.Put(0, tracetest.Record{Time: 1 + i, Code: uint8(16 + i%16), Flags: 1, Value: 7, A: 0x401000 + i, B: i})
	}
	run := &m.Read(b).Threads[0].Main
	events, sum, begin := 0, uint64(0), tracetest.Processor(b, 0)
	for b.Loop() {
		c := run.Events()
		for e := (trace.Event{}); c.Next(&e); events++ {
			sum += e.PC + e.Region
		}
	}
	b.ReportMetric(float64(events)/1e6/tracetest.Processor(b, begin).Seconds(), "Mevents/cpu-s")
	if sum == 0 {
		b.Error("nothing was decoded")
	}
}

// BenchmarkRead copies and checks tracetest.Rings of 24 threads.
func BenchmarkRead(b *testing.B) {
	const threads = 24
	m := tracetest.New(threads, 12)
	for i := range threads {
		for n := range uint64(5000) {
			m.Put(i, tracetest.Record{Time: 1 + n*threads + uint64(i), Code: 27, A: 0x401000, B: n})
		}
	}
	events, begin := 0, tracetest.Processor(b, 0)
	for b.Loop() {
		for range m.Read(b).Events(0) {
			events++
		}
	}
	b.ReportMetric(float64(events)/1e6/tracetest.Processor(b, begin).Seconds(), "Mevents/cpu-s")
}
