package analyze_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/trace"
	"github.com/ompd-inspect/ompd-inspect/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace/tracetest"
)

// script makes a recording: each word is an event of a thread at the next microsecond.
type script struct {
	*tracetest.Image
	now uint64
}

func newScript(threads int) *script { return &script{tracetest.New(threads, 10), 1_000_000} }

const region = 1<<48 | 7

// at puts an event at the next microsecond.
func (s *script) at(thread int, r tracetest.Record) {
	s.now += 1000
	r.Time = s.now
	s.Put(thread, r)
}

// scope puts the beginning (1) or the end (2) of a construct in the region.
func (s *script) scope(thread int, code trace.Code, kind, endpoint uint8) {
	s.at(thread, tracetest.Record{
		Code: uint8(code), Kind: kind, Flags: endpoint, Value: region & 0xffffffff, A: 1<<48 | 0x401000 + uint64(code),
	})
}

// implicit begins or ends an implicit task of a region.
func (s *script) implicit(thread int, of uint64, endpoint uint8) {
	s.at(thread, tracetest.Record{
		Code: uint8(trace.ImplicitTask), Kind: 2, Flags: endpoint, Value: 2, A: of, B: uint64(thread+1) << 48,
	})
}

// take asks for a lock and acquires it; give releases it.
func (s *script) take(thread int, kind uint8, locks ...uint64) {
	for _, l := range locks {
		s.at(thread, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: kind, A: 0x402000 + l, B: l})
		s.at(thread, tracetest.Record{Code: uint8(trace.MutexAcquired), Kind: kind, A: 0x402000 + l, B: l})
	}
}

func (s *script) give(thread int, locks ...uint64) {
	for _, l := range locks {
		s.at(thread, tracetest.Record{Code: uint8(trace.MutexReleased), Kind: 1, B: l})
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

// walk makes the spans of the first thread.
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

// pairs are what one thread does, and the spans that follow.
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
		s.at(0, tracetest.Record{Code: uint8(trace.ParallelEnd), B: region})
		s.now += 50_000
		s.scope(0, trace.SyncRegion, 9, end)
		s.implicit(0, region, end)
	}, []string{"barrier at the end of the region 1", "idle 51", "implicit task 54"}, 1, 0},
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
		s.at(0, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 2, B: 5})
		s.scope(0, trace.Work, 1, begin)
		s.scope(0, trace.Work, 1, end)
	}, []string{"wait for lock 0x5 0 failed", "loop 1"}, 0, 0},
	"tasks in a taskwait": {func(s *script) {
		s.scope(0, trace.SyncRegion, 5, begin)
		s.at(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 7, A: 10, B: 11})
		s.at(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 7, A: 11, B: 12})
		s.at(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 1, A: 12, B: 11})
		s.at(0, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 1, A: 11, B: 10})
		s.scope(0, trace.SyncRegion, 5, end)
	}, []string{"task 1", "task 3", "taskwait 5"}, 0, 0},
	"what is not over": {func(s *script) {
		s.take(0, 1, 1)
		s.scope(0, trace.SyncRegion, 3, begin)
	}, []string{"wait for lock 0x1 1", "explicit barrier 0 open", "lock 0x1 1 open"}, 0, 0},
}

// TestPairs pairs what runtimes do: loops that end as distribute constructs, ends that
// never come or whose beginning was overwritten, ends that come with the next fork, locks
// that are released in any order, and tests of locks that fail.
func TestPairs(t *testing.T) {
	for name, c := range pairs {
		s := newScript(1)
		c.script(s)
		got, p := s.walk(t)
		if !slices.Equal(got, c.want) || p.EndOnly != c.endOnly || p.Unclosed != c.unclosed {
			t.Errorf("%s: %q, %+v, want %q", name, got, p, c.want)
		}
	}
}

// TestStats counts a barrier to which threads come at different times, and a lock that one
// waits for while another has it.
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
	s.at(1, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: 1, A: 0x403000, B: 5})
	s.now += 20_000
	s.give(0, 5)
	s.at(1, tracetest.Record{Code: uint8(trace.MutexAcquired), Kind: 1, A: 0x403000, B: 5})
	stats := analyze.Stats(s.Read(t), analyze.Window{})
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

// both begins the region in two threads.
func both(s *script) {
	s.implicit(0, region, 1)
	s.implicit(1, region, 1)
}

// barrier has both pass a barrier.
func barrier(s *script) {
	for _, end := range []uint8{1, 2} {
		s.scope(0, trace.SyncRegion, 3, end)
		s.scope(1, trace.SyncRegion, 3, end)
	}
}

// pair acquires locks and releases them.
func pair(s *script, thread int, kind uint8, locks ...uint64) {
	s.take(thread, kind, locks...)
	slices.Reverse(locks)
	s.give(thread, locks...)
}

// orders are orders in which threads acquire locks.
var orders = map[string]struct {
	script func(*script)
	want   int // locks of the cycle, 0 none
}{
	"two locks":           {func(s *script) { both(s); pair(s, 0, 1, 1, 2); pair(s, 1, 1, 2, 1) }, 2},
	"critical constructs": {func(s *script) { both(s); pair(s, 0, 5, 1, 2); pair(s, 1, 5, 2, 1) }, 2},
	"three locks": {func(s *script) {
		both(s)
		s.implicit(2, region, 1)
		pair(s, 0, 1, 1, 2)
		pair(s, 1, 1, 2, 3)
		pair(s, 2, 1, 3, 1)
	}, 3},
	"the same order":     {func(s *script) { both(s); pair(s, 0, 1, 1, 2); pair(s, 1, 1, 1, 2) }, 0},
	"one thread":         {func(s *script) { both(s); pair(s, 0, 1, 1, 2); pair(s, 0, 1, 2, 1) }, 0},
	"a lock around both": {func(s *script) { both(s); pair(s, 0, 1, 9, 1, 2); pair(s, 1, 1, 9, 2, 1) }, 0},
	"ordered around both": {func(s *script) {
		both(s)
		for thread := range 2 {
			s.take(thread, 7, 9)
			pair(s, thread, 1, uint64(1+thread), uint64(2-thread))
			s.give(thread, 9)
		}
	}, 0},
	"ordered is no lock": {func(s *script) {
		both(s)
		s.take(0, 7, 9)
		pair(s, 0, 1, 1)
		s.give(0, 9)
		s.take(1, 1, 1)
		s.take(1, 7, 9)
	}, 0},
	"one of them around it": {func(s *script) { both(s); pair(s, 0, 1, 9, 1, 2); pair(s, 1, 1, 2, 1) }, 2},
	"a barrier in between":  {func(s *script) { both(s); pair(s, 0, 1, 1, 2); barrier(s); pair(s, 1, 1, 2, 1) }, 0},
	"a barrier that the first leaves last": {func(s *script) {
		both(s)
		s.scope(1, trace.SyncRegion, 3, 1)
		pair(s, 0, 1, 1, 2)
		s.scope(0, trace.SyncRegion, 3, 1)
		s.scope(1, trace.SyncRegion, 3, 2)
		pair(s, 1, 1, 2, 1)
		s.scope(0, trace.SyncRegion, 3, 2)
	}, 0},
	"a barrier before, left late": {func(s *script) {
		both(s)
		s.scope(0, trace.SyncRegion, 3, 1)
		s.scope(1, trace.SyncRegion, 3, 1)
		s.scope(0, trace.SyncRegion, 3, 2)
		pair(s, 0, 1, 1, 2)
		s.scope(0, trace.SyncRegion, 3, 1)
		s.scope(1, trace.SyncRegion, 3, 2)
		pair(s, 1, 1, 2, 1)
	}, 2},
	"a barrier before": {func(s *script) { both(s); barrier(s); pair(s, 0, 1, 1, 2); pair(s, 1, 1, 2, 1) }, 2},
	"different regions": {func(s *script) {
		s.implicit(0, region, 1)
		pair(s, 0, 1, 1, 2)
		s.implicit(1, region+1, 1)
		pair(s, 1, 1, 2, 1)
	}, 0},
	"tests": {func(s *script) { both(s); pair(s, 0, 2, 1, 2); pair(s, 1, 2, 2, 1) }, 0},
	"hand over hand": {func(s *script) {
		both(s)
		for thread := range 2 {
			s.take(thread, 1, 1, 2)
			s.give(thread, 1)
			s.take(thread, 1, 3)
			s.give(thread, 2, 3)
		}
	}, 0},
	"a taskwait in between": {func(s *script) {
		both(s)
		pair(s, 0, 1, 1, 2)
		s.scope(0, trace.SyncRegion, 5, 1)
		s.scope(0, trace.SyncRegion, 5, 2)
		pair(s, 1, 1, 2, 1)
	}, 0},
}

// TestLockOrder finds inversions of two and three locks, and none where the threads could
// not have waited for each other.
func TestLockOrder(t *testing.T) {
	for name, c := range orders {
		s := newScript(3)
		c.script(s)
		cycles := analyze.LockOrder(s.Read(t), analyze.Window{})
		if c.want == 0 && len(cycles) > 0 || c.want > 0 && (len(cycles) != 1 || len(cycles[0]) != c.want) {
			t.Errorf("%s: %+v, want one of %d locks", name, cycles, c.want)
		}
	}
}
