package analyze_test

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// both starts the region in two threads.
func both(s *script) {
	s.implicit(0, region, 1)
	s.implicit(1, region, 1)
}

// barrier makes both threads pass a barrier.
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

// orders lists orders in which threads acquire locks.
var orders = map[string]struct {
	script func(*script)
	want   int // number of locks of the cycle; 0: no cycle
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
	"tasks": {func(s *script) { inversion(s, func() { s.create(0, 8); s.create(0, 9) }) }, 2},
	"a task that is created afterwards": {func(s *script) {
		both(s)
		pair(s, 0, 1, 1, 2)
		s.create(0, 8)
		s.task(1, 8, 2, 1)
	}, 0},
	"a task that is over at a barrier": {func(s *script) {
		both(s)
		s.create(0, 8)
		s.scope(1, trace.SyncRegion, 3, 1)
		s.task(1, 8, 1, 2)
		s.scope(0, trace.SyncRegion, 3, 1)
		s.scope(0, trace.SyncRegion, 3, 2)
		pair(s, 0, 1, 2, 1)
		s.scope(1, trace.SyncRegion, 3, 2)
	}, 0},
	"one task reads what the other writes": {func(s *script) {
		inversion(s, func() { s.create(0, 8, dependence{5, 3}); s.create(0, 9, dependence{5, 1}) })
	}, 0},
	"tasks that read": {func(s *script) {
		inversion(s, func() { s.create(0, 8, dependence{5, 1}); s.create(0, 9, dependence{5, 1}) })
	}, 2},
	"tasks of different locations": {func(s *script) {
		inversion(s, func() { s.create(0, 8, dependence{5, 3}); s.create(0, 9, dependence{6, 3}) })
	}, 2},
	"a task in between": {func(s *script) {
		inversion(s, func() {
			s.create(0, 8, dependence{5, 2})
			s.create(0, 7, dependence{5, 1}, dependence{6, 2})
			s.create(0, 9, dependence{6, 1})
		})
	}, 0},
	"dependences that are not known": {func(s *script) {
		inversion(s, func() { s.create(0, 8); s.created(0, 9, 1) })
	}, 0},
	"a task whose creation is not known": {func(s *script) { inversion(s, func() { s.create(0, 8) }) }, 0},
}

// dependence is a location, and an ompt_dependence_type_t.
type dependence struct{ variable, kind uint64 }

// created adds the creation of a task, by the implicit task of a thread.
func (s *script) created(thread int, id uint64, depends uint8) {
	s.put(thread, tracetest.Record{
		Code: uint8(trace.TaskCreate), Kind: depends, Flags: 1 << 4, Value: 4, A: 0x403000, B: id,
	})
	s.put(thread, tracetest.Record{Code: 64, A: uint64(thread+1) << 48})
}

// create creates a task with dependences.
func (s *script) create(thread int, id uint64, list ...dependence) {
	s.created(thread, id, uint8(min(len(list), 1)))
	if len(list) == 0 {
		return
	}
	s.put(thread, tracetest.Record{
		Code: uint8(trace.Dependences), Flags: uint8(len(list)+1) / 2 << 4, Value: uint32(len(list)), A: id, Rare: true,
	})
	for ; len(list) > 0; list = list[min(2, len(list)):] {
		r := tracetest.Record{Code: 64, A: list[0].variable, Value: uint32(list[0].kind), Rare: true}
		if len(list) > 1 {
			r.B, r.Value = list[1].variable, r.Value|uint32(list[1].kind)<<16
		}
		s.put(thread, r)
	}
}

// task executes a task that acquires locks.
func (s *script) task(thread int, id uint64, locks ...uint64) {
	own := uint64(thread+1) << 48
	s.put(thread, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 7, A: own, B: id})
	pair(s, thread, 1, locks...)
	s.put(thread, tracetest.Record{Code: uint8(trace.TaskSchedule), Kind: 1, A: id, B: own})
}

// inversion executes two tasks that acquire locks in different orders, on two threads.
func inversion(s *script, create func()) {
	both(s)
	create()
	s.task(0, 8, 1, 2)
	s.task(1, 9, 2, 1)
}

// TestLockOrder finds inversions of two and three locks, but not if the threads could not have waited for each
// other.
func TestLockOrder(t *testing.T) {
	for name, c := range orders {
		s := newScript(3)
		c.script(s)
		cycles := analyze.LockOrder(s.Read(t), analyze.Window{}, analyze.Calls{})
		if c.want == 0 && len(cycles) > 0 || c.want > 0 && (len(cycles) != 1 || len(cycles[0]) != c.want) {
			t.Errorf("%s: %+v, want one of %d locks", name, cycles, c.want)
		}
	}
}

// ask asks for a lock.
func (s *script) ask(thread int, kind uint8, lock uint64) {
	s.put(thread, tracetest.Record{Code: uint8(trace.MutexAcquire), Kind: kind, A: 0x402000 + lock, B: lock})
}

// yes and no classify every call alike.
func yes(uint64) bool { return true }
func no(uint64) bool  { return false }

// waits lists orders in which threads acquire locks, and ask for one that they do not get.
var waits = map[string]struct {
	script func(*script)
	calls  analyze.Calls
	want   int // number of waiting steps of the cycle, 0 for no cycle
}{
	"a deadlock": {func(s *script) {
		s.take(0, 1, 1)
		s.take(1, 1, 2)
		s.ask(0, 1, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{Waits: yes}, 2},
	"nobody asks": {func(s *script) {
		s.take(0, 1, 1)
		s.take(1, 1, 2)
		s.ask(0, 1, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{}, 0},
	"one waits": {func(s *script) {
		pair(s, 0, 1, 1, 2)
		s.take(1, 1, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{Waits: yes}, 1},
	"perhaps a test": {func(s *script) {
		pair(s, 0, 1, 1, 2)
		s.take(1, 1, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{Waits: no}, 0},
	"a test": {func(s *script) {
		pair(s, 0, 1, 1, 2)
		s.take(1, 1, 2)
		s.ask(1, 2, 1)
	}, analyze.Calls{Waits: yes}, 0},
	"a test that failed": {func(s *script) {
		pair(s, 0, 1, 1, 2)
		s.take(1, 1, 2)
		s.ask(1, 1, 1)
		s.give(1, 2)
	}, analyze.Calls{Waits: yes}, 0},
	"a critical construct": {func(s *script) {
		pair(s, 0, 5, 1, 2)
		s.take(1, 5, 2)
		s.ask(1, 5, 1)
	}, analyze.Calls{Waits: no}, 1},
	"a lock around both": {func(s *script) {
		pair(s, 0, 1, 9, 1, 2)
		s.take(1, 1, 9, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{Waits: yes}, 0},
	"a barrier in between": {func(s *script) {
		pair(s, 0, 1, 1, 2)
		barrier(s)
		s.take(1, 1, 2)
		s.ask(1, 1, 1)
	}, analyze.Calls{Waits: yes}, 0},
}

// TestLockOrderWaits counts an unfinished acquisition, if the call is known to wait.
func TestLockOrderWaits(t *testing.T) {
	for name, c := range waits {
		s := newScript(3)
		both(s)
		c.script(s)
		cycles, waits := analyze.LockOrder(s.Read(t), analyze.Window{}, c.calls), 0
		for _, cycle := range cycles {
			for _, step := range cycle {
				if step.Waits {
					waits++
				}
			}
		}
		if waits != c.want || len(cycles) != min(c.want, 1) {
			t.Errorf("%s: %+v, want one with %d that wait", name, cycles, c.want)
		}
	}
}

// TestLockOrderUnknown finds no inversion if events that could separate the steps were not recorded, in the
// whole program or during a pause.
func TestLockOrderUnknown(t *testing.T) {
	inverted := func() *script {
		s := newScript(3)
		orders["two locks"].script(s)
		return s
	}
	for _, left := range []trace.Code{trace.SyncRegion, trace.SyncRegionWait, trace.TaskCreate, trace.TaskSchedule,
		trace.Dependences, trace.MutexReleased} {
		rec := inverted().Read(t)
		rec.Header.Events &^= 1 << left
		if cycles := analyze.LockOrder(rec, analyze.Window{}, analyze.Calls{}); len(cycles) != 0 {
			t.Errorf("without events %d: %+v", left, cycles)
		}
	}
	rec := inverted().Read(t)
	rec.Resumed = rec.Last()
	if cycles := analyze.LockOrder(rec, analyze.Window{}, analyze.Calls{}); len(cycles) != 0 {
		t.Errorf("of before a pause: %+v", cycles)
	}
}
