package analyze_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// stretches describes the stretches of a row, in microseconds from the start of the timeline.
func stretches(line *analyze.Timeline, list []analyze.Stretch) (out []string) {
	for _, s := range list {
		text := fmt.Sprintf("%d–%d %s", (s.Begin-line.Begin)/1000, (s.End-line.Begin)/1000,
			analyze.Title(s.What, s.Kind, s.Lock, trace.Words{}))
		if s.Merged > 0 {
			text += fmt.Sprintf(" of %d", s.Merged)
		}
		out = append(out, text)
	}
	return out
}

// checkRow checks the row of a thread.
func checkRow(t *testing.T, line *analyze.Timeline, lwp uint32, spans, held []string) {
	t.Helper()
	i := slices.IndexFunc(line.Rows, func(r analyze.TimelineRow) bool { return r.LWP == lwp })
	if i < 0 {
		t.Errorf("no row of LWP %d: %+v", lwp, line.Rows)
		return
	}
	r := &line.Rows[i]
	if got := stretches(line, r.Spans); !slices.Equal(got, spans) {
		t.Errorf("LWP %d did %q, want %q", lwp, got, spans)
	}
	if got := stretches(line, r.Held); !slices.Equal(got, held) {
		t.Errorf("LWP %d had %q, want %q", lwp, got, held)
	}
}

// TestTimeline checks two threads that wait for each other's lock, the second from the newest event on, one
// that waits at a barrier, and one that ended.
func TestTimeline(t *testing.T) {
	s := newScript(4)
	for i := range 3 {
		s.implicit(i, region, begin)
	}
	s.scope(2, trace.SyncRegion, 3, begin)
	s.take(0, 1, 1)
	s.take(1, 1, 2)
	s.put(3, tracetest.Record{Code: uint8(trace.Work), Kind: 1, Flags: begin})
	s.put(3, tracetest.Record{Code: uint8(trace.ThreadEnd)})
	s.Ends(3)
	s.now += 4000
	s.put(0, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, B: 2})
	s.put(1, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, B: 1})
	line := analyze.NewTimeline(s.Read(t), 0)
	if line == nil || line.Newest-line.Begin != 15_000 || line.End <= line.Newest {
		t.Fatalf("%+v", line)
	}
	checkRow(t, line, 100, []string{
		"0–4 implicit task", "4–5 wait for lock 0x1", "5–14 implicit task", "14–16 wait for lock 0x2",
	}, []string{"5–16 lock 0x1"})
	checkRow(t, line, 101, []string{
		"1–6 implicit task", "6–7 wait for lock 0x2", "7–15 implicit task", "15–16 wait for lock 0x1",
	}, []string{"7–16 lock 0x2"})
	checkRow(t, line, 102, []string{"2–3 implicit task", "3–16 explicit barrier"}, nil)
	checkRow(t, line, 103, []string{"8–9 loop"}, nil)
	if line = analyze.NewTimeline(s.Read(t), s.now+500); line.End-line.Newest != 500 {
		t.Errorf("%d ns after the newest event are shown, want 500", line.End-line.Newest)
	}
}

// TestTimelineMerged checks that spans that are too short are merged into the one with the largest share, with
// their number, and that long spans are exact.
func TestTimelineMerged(t *testing.T) {
	s := newScript(1)
	s.implicit(0, region, begin)
	for range 100 {
		s.put(0, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, B: 5})
		s.now += 3000
		s.put(0, tracetest.Record{Code: uint8(trace.MutexAcquired), Kind: 1, B: 5})
		s.give(0, 5)
	}
	const ms = uint64(time.Millisecond)
	s.now += 500 * ms
	s.scope(0, trace.SyncRegion, 3, begin)
	s.now += 500 * ms
	s.scope(0, trace.SyncRegion, 3, end)
	line := analyze.NewTimeline(s.Read(t), s.now)
	checkRow(t, line, 100, []string{
		"0–599 wait for lock 0x5 of 200", "599–500601 implicit task", "500601–1000602 explicit barrier",
		"1000602–1000602 implicit task",
	}, []string{"5–600 lock 0x5 of 100"})
}

// TestTimelineBounds checks the limits: rings that are full cover less time than others, so the timeline starts
// with half of them; many threads with many events have no more spans than the limit, and no gaps.
func TestTimelineBounds(t *testing.T) {
	const threads = 1024
	s := &script{tracetest.New(threads, 7), 1_000_000}
	for range 100 {
		for i := range threads {
			s.take(i, 1, 5)
			s.give(i, 5)
		}
	}
	line := analyze.NewTimeline(s.Read(t), 0)
	spans := 0
	for _, r := range line.Rows {
		spans += len(r.Spans)
		for i := 1; i < len(r.Spans); i++ {
			if r.Spans[i].Begin != r.Spans[i-1].End {
				t.Fatalf("LWP %d: a gap in %+v", r.LWP, r.Spans)
			}
		}
		if r.Begin < line.Begin || len(r.Spans) == 0 || r.End != line.End {
			t.Fatalf("%+v", r)
		}
	}
	const most = 2 * (1 << 14)
	if len(line.Rows) != threads || spans > most || spans < threads {
		t.Errorf("%d rows with %d spans", len(line.Rows), spans)
	}
	if whole := uint64(100 * threads * 3 * 1000); line.Newest-line.Begin > whole/2 {
		t.Errorf("%d ns are shown, where the rings have less than half of %d", line.Newest-line.Begin, whole)
	}
}

// BenchmarkTimeline measures the timeline of the events that a snapshot of 1,024 threads reads, and their
// statistics for comparison.
func BenchmarkTimeline(b *testing.B) {
	s := &script{tracetest.New(1024, 7), 1_000_000}
	for range 43 {
		for i := range 1024 {
			s.take(i, 1, 5)
			s.give(i, 5)
		}
	}
	rec := s.Read(b)
	b.Run("timeline", func(b *testing.B) {
		for b.Loop() {
			analyze.NewTimeline(rec, 0)
		}
	})
	b.Run("statistics", func(b *testing.B) {
		for b.Loop() {
			analyze.Stats(rec, analyze.Window{}, nil)
		}
	})
}
