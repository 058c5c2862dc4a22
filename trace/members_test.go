package trace_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/tracetest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestMembers follows the numbers of a thread through nested teams, from the first start that is recorded.
func TestMembers(t *testing.T) {
	m := tracetest.New(1, 10)
	const begin, end, follow, implicit, initial = 1, 2, 1 << 4, 2, 1
	put := func(time uint64, kind, flags uint8, team, index uint32) {
		m.Put(0, tracetest.Record{Time: time, Code: uint8(trace.ImplicitTask), Kind: kind, Flags: flags, Value: team,
			A: 1<<48 | 7, B: 1<<48 | time})
		if flags&follow != 0 {
			m.Put(0, tracetest.Record{Time: time, Code: 64, Value: index})
		}
	}
	put(10, implicit, end, 0, 0) // its start was overwritten
	put(20, initial, begin|follow, 1, 0)
	put(30, implicit, begin|follow, 4, 3)
	put(40, implicit, begin|follow, 2, 1)
	put(50, implicit, end, 0, 0)
	put(60, implicit, end, 0, 0)
	rec := m.Read(t)
	members, lwp := rec.Members(), rec.Threads[0].LWP
	for time, want := range map[uint64]trace.Member{
		5: {}, 10: {}, 25: {}, 30: {Num: 3, Size: 4}, 39: {Num: 3, Size: 4}, 40: {Num: 1, Size: 2},
		50: {Num: 1, Size: 2}, 51: {Num: 3, Size: 4}, 60: {Num: 3, Size: 4}, 61: {}, 1 << 40: {},
	} {
		if got := members.At(lwp, time); got != want {
			t.Errorf("at %d: %+v, want %+v", time, got, want)
		}
	}
	if got := members.At(lwp+1, 35); got != (trace.Member{}) {
		t.Errorf("another thread: %+v", got)
	}
}
