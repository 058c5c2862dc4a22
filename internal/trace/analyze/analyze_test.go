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

// script makes a recording: each call adds an event of a thread at the next microsecond.
type script struct {
	*tracetest.Image
	now uint64
}

func newScript(threads int) *script { return &script{tracetest.New(threads, 10), 1_000_000} }

const region = 1<<48 | 7

// put adds an event at the next microsecond.
func (s *script) put(thread int, r tracetest.Record) {
	s.now += 1000
	r.Time = s.now
	s.Put(thread, r)
}

// scope adds the start (1) or the end (2) of a construct in the region.
func (s *script) scope(thread int, code trace.Code, kind, endpoint uint8) {
	s.put(thread, tracetest.Record{
		Code: uint8(code), Kind: kind, Flags: endpoint, Value: region & 0xffffffff, A: 1<<48 | 0x401000 + uint64(code),
	})
}

// implicit starts or ends an implicit task of a region.
func (s *script) implicit(thread int, of uint64, endpoint uint8) {
	s.put(thread, tracetest.Record{
		Code: uint8(trace.ImplicitTask), Kind: 2, Flags: endpoint, Value: 2, A: of, B: uint64(thread+1) << 48,
	})
}

// take asks for a lock and acquires it; give releases it.
func (s *script) take(thread int, kind uint8, locks ...uint64) {
	for _, l := range locks {
		s.put(thread, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: kind, A: 0x402000 + l, B: l})
		s.put(thread, tracetest.Record{Code: uint8(trace.MutexAcquired), Kind: kind, A: 0x402000 + l, B: l})
	}
}

func (s *script) give(thread int, locks ...uint64) {
	for _, l := range locks {
		s.put(thread, tracetest.Record{Code: uint8(trace.MutexReleased), Kind: 1, B: l})
	}
}

// keeper keeps the spans of a walk, and checks that they nest.
type keeper struct {
	t     *testing.T
	open  []analyze.Span
	spans []string
}

func (k *keeper) Begin(s *analyze.Span) {
	if s.What != analyze.LockHeld {
		k.open = append(k.open, *s)
	}
}

func (k *keeper) End(s *analyze.Span) {
	if s.What != analyze.LockHeld {
		n := len(k.open) - 1
		if n < 0 || k.open[n].What != s.What || k.open[n].Begin != s.Begin || s.End < s.Begin {
			k.t.Errorf("%+v ends, and %+v are open", *s, k.open)
			return
		}
		k.open = k.open[:n]
	}
	word := fmt.Sprint(analyze.Title(s.What, s.Kind, s.Lock, trace.Words{}), " ", s.Ticks()/1000)
	if s.Open {
		word += " open"
	}
	if s.Failed {
		word += " failed"
	}
	k.spans = append(k.spans, word)
}

func (k *keeper) Point(*trace.Thread, uint32, *trace.Event) {}

// walk returns the spans of the first thread.
func (s *script) walk(t *testing.T) ([]string, analyze.Pairing) {
	t.Helper()
	k := &keeper{t: t}
	p := analyze.Walk(s.Read(t), analyze.Window{}, func(*trace.Thread) analyze.Sink { return k })
	if len(k.open) != 0 {
		t.Errorf("%+v did not end", k.open)
	}
	return k.spans, p
}

const begin, end = 1, 2 // endpoints

// pairs lists events of one thread, and the resulting spans.
var pairs = map[string]struct {
	script            func(*script)
	want              []string
	endOnly, unclosed int
}{
	"a loop that ends as distribute": {func(s *script) {
		s.scope(0, trace.Work, 1, begin)
		s.scope(0, trace.Work, 6, end)
	}, []string{"loop 1"}, 0, 0},
	"masked without an end": {func(s *script) {
		s.implicit(0, region, begin)
		s.scope(0, trace.Masked, 0, begin)
		s.implicit(0, region, end)
	}, []string{"masked 1", "implicit task 2"}, 0, 1},
	"an end without a beginning": {func(s *script) {
		s.scope(0, trace.SyncRegion, 3, end)
		s.scope(0, trace.Work, 1, begin)
		s.implicit(0, region, end)
		s.scope(0, trace.Work, 1, end)
	}, []string{"loop 2"}, 2, 0},
	"a worker's barrier that ends with the next fork": {func(s *script) {
		s.implicit(0, region, begin)
		s.scope(0, trace.SyncRegion, 9, begin)
		s.put(0, tracetest.Record{Code: uint8(trace.ParallelEnd), B: region})
		s.now += 50_000
		s.scope(0, trace.SyncRegion, 9, end)
		s.implicit(0, region, end)
	}, []string{"barrier at the end of the region 1", "implicit task 2", "idle 52"}, 1, 0},
	"locks hand over hand": {func(s *script) {
		s.take(0, 1, 1, 2)
		s.give(0, 1)
		s.take(0, 1, 3)
		s.give(0, 2, 3)
	}, []string{
		"wait for lock 0x1 1", "wait for lock 0x2 1", "lock 0x1 3", "wait for lock 0x3 1",
		"lock 0x2 4", "lock 0x3 2",
	}, 0, 0},
	"a test that fails": {func(s *script) {
		s.put(0, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 2, B: 5})
		s.scope(0, trace.Work, 1, begin)
		s.scope(0, trace.Work, 1, end)
	}, []string{"wait for lock 0x5 0 failed", "loop 1"}, 0, 0},
	"tasks in a taskwait": {func(s *script) {
		s.scope(0, trace.SyncRegion, 5, begin)
		s.put(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 7, A: 10, B: 11})
		s.put(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 7, A: 11, B: 12})
		s.put(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 1, A: 12, B: 11})
		s.put(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 1, A: 11, B: 10})
		s.scope(0, trace.SyncRegion, 5, end)
	}, []string{"task 1", "task 3", "taskwait 5"}, 0, 0},
	"what is not over": {func(s *script) {
		s.take(0, 1, 1)
		s.scope(0, trace.SyncRegion, 3, begin)
	}, []string{"wait for lock 0x1 1", "explicit barrier 0 open", "lock 0x1 1 open"}, 0, 0},
	"a thread that ended, and one that has its ring": {func(s *script) {
		s.implicit(0, region-1, begin)
		s.scope(0, trace.Work, 1, begin)
		s.take(0, 1, 1)
		s.put(0, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, B: 2})
		s.now += 50_000
		s.put(0, tracetest.Record{Code: uint8(trace.NewThread), Value: 7})
		s.implicit(0, region, begin)
		s.scope(0, trace.SyncRegion, 9, begin)
		s.put(1, tracetest.Record{Code: uint8(trace.ParallelEnd), B: region})
		s.put(1, tracetest.Record{Code: uint8(trace.Flush)})
		s.Ends(0)
	}, []string{
		"wait for lock 0x1 1", "wait for lock 0x2 0 failed", "loop 3", "implicit task 4", "lock 0x1 52 open",
		"barrier at the end of the region 1", "implicit task 2",
	}, 1, 0},
	"a thread of the process before the fork": {func(s *script) {
		s.implicit(0, region, begin)
		s.now += 50_000
		s.put(1, tracetest.Record{Code: uint8(trace.NewFork), Value: 7, Rare: true})
		s.now += 50_000
		s.put(1, tracetest.Record{Code: uint8(trace.Flush)})
		s.Ends(0)
	}, []string{"implicit task 0 open"}, 0, 0},
}

// TestPairs pairs events as runtimes send them: loops that end as distribute constructs, ends that are missing
// or whose start was overwritten, ends that come with the next fork, locks that are released in any order, and
// tests of locks that fail.
func TestPairs(t *testing.T) {
	for name, c := range pairs {
		s := newScript(2)
		c.script(s)
		got, p := s.walk(t)
		if !slices.Equal(got, c.want) || p.EndOnly != c.endOnly || p.Unclosed != c.unclosed {
			t.Errorf("%s: %q, %+v, want %q", name, got, p, c.want)
		}
	}
}

// TestStats counts a barrier at which threads arrive at different times, and a lock that one thread waits for
// while another holds it.
func TestStats(t *testing.T) {
	s := newScript(3)
	for i := range 3 {
		s.implicit(i, region, 1)
	}
	for i := range 3 {
		s.scope(i, trace.SyncRegion, 3, 1)
		s.now += 9000
	}
	for i := range 3 {
		s.scope(i, trace.SyncRegion, 3, 2)
	}
	s.take(0, 1, 5)
	s.put(1, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, A: 0x403000, B: 5})
	s.now += 20_000
	s.give(0, 5)
	s.put(1, tracetest.Record{Code: uint8(trace.MutexAcquired), Kind: 1, A: 0x403000, B: 5})
	stats := analyze.Stats(s.Read(t), analyze.Window{}, nil)
	found := 0
	for _, r := range stats.Rows {
		switch {
		case r.What == analyze.Sync:
			found++
			late := analyze.Late{LWP: 102, Count: 1}
			if r.Count != 3 || r.Barriers != 1 || r.Imbalance != 10*time.Microsecond || r.Late != late {
				t.Errorf("the barrier: %+v", r)
			}
		case r.What == analyze.LockWait && r.PC == 0x403000:
			found++
			if r.Contended != 1 || r.Wait != 22*time.Microsecond || r.Holder.PC != 0x402005 {
				t.Errorf("the wait: %+v", r)
			}
		}
	}
	if found != 2 || stats.Threads != 3 {
		t.Errorf("%+v", stats)
	}
}

// TestStatsJoined checks a worker without an event for the end of its region, and the initial task, which
// continues.
func TestStatsJoined(t *testing.T) {
	s := newScript(2)
	s.put(0, tracetest.Record{Code: uint8(trace.ImplicitTask), Kind: 1, Flags: 1, A: 1<<48 | 1, B: 9})
	s.put(0, tracetest.Record{Code: uint8(trace.ParallelBegin), Kind: 1, Flags: 1, B: region})
	for i := range 2 {
		s.implicit(i, region, 1)
		s.scope(i, trace.SyncRegion, 9, 1)
	}
	s.scope(0, trace.SyncRegion, 9, 2)
	s.implicit(0, region, 2)
	s.put(0, tracetest.Record{Code: uint8(trace.ParallelEnd), Kind: 1, Flags: 2, B: region})
	s.now += 1_000_000
	s.put(0, tracetest.Record{Code: uint8(trace.Flush)})
	rec := s.Read(t)
	open, seen := 0, 0
	for _, r := range analyze.Stats(rec, analyze.Window{}, nil).Rows {
		title := analyze.Title(r.What, r.Kind, r.Lock, rec.Words(nil))
		switch title {
		case "initial task":
			open += r.Open
		case "implicit task", "barrier at the end of the region":
			if seen++; r.Open != 0 || r.Count != 2 || r.What == analyze.Sync && r.Barriers != 1 {
				t.Errorf("%s: %+v", title, r)
			}
		}
	}
	if open != 1 || seen != 2 {
		t.Errorf("%d initial tasks are open, %d rows of the region", open, seen)
	}
}

// TestStatsStillWaiting counts an unfinished wait for a lock, but not a test of the lock; the call decides if
// the event does not. A thread at a critical section always waits.
func TestStatsStillWaiting(t *testing.T) {
	stillWaiting(t, 1, 0)
	stillWaiting(t, 5, 1)
}

// stillWaiting checks a thread that waits for a lock of a kind. unknown is 1 if that counts when calls are
// unknown.
func stillWaiting(t *testing.T, kind uint8, unknown int) {
	t.Helper()
	s := newScript(3)
	for i := range 3 {
		s.implicit(i, region, 1)
	}
	s.take(0, 3, 5)
	for i, kind := range []uint8{kind, 2} { // a lock, and a test of one
		s.put(1+i, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: kind, A: 0x404000, B: 5})
	}
	s.now += 5_000_000
	s.scope(0, trace.SyncRegion, 5, 1)
	rec := s.Read(t)
	for _, c := range []struct {
		tests func(uint64) bool
		want  int
	}{{nil, unknown}, {func(uint64) bool { return true }, unknown}, {func(uint64) bool { return false }, 1}} {
		waiting := 0
		for _, r := range analyze.Stats(rec, analyze.Window{}, c.tests).Rows {
			if waiting += r.Waiting; r.Waiting > 0 && (r.Longest < 5*time.Millisecond || r.Wait != r.Longest) {
				t.Errorf("the wait that is not over: %+v", r)
			}
		}
		if waiting != c.want {
			t.Errorf("%d wait still, %d do", waiting, c.want)
		}
	}
}
