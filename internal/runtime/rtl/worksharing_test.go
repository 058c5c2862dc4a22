package rtl

import (
	"math"
	"testing"
)

// TestStepRange checks the last value of variables that do not reach their limit.
func TestStepRange(t *testing.T) {
	for _, c := range []struct {
		low, limit, step, last int64
		none                   bool
	}{
		{low: 10, limit: 19, step: 2, last: 18}, {low: 76, limit: 11, step: -2, last: 12},
		{low: 5, limit: 5, step: 7, last: 5},
		{low: math.MinInt64, limit: math.MaxInt64, step: 2, last: math.MaxInt64 - 1},
		{low: math.MaxInt64, limit: math.MinInt64, step: math.MinInt64, last: -1},
		{low: 5, limit: 4, step: 1, none: true}, {low: 4, limit: 5, step: -1, none: true},
		{low: 4, limit: 5, none: true},
	} {
		from, to := StepRange(c.low, c.limit, c.step)
		if (from == nil) != c.none || from != nil && (*from != c.low || *to != c.last) {
			t.Errorf("%d to %d by %d: %v, %v, want to %d", c.low, c.limit, c.step, from, to, c.last)
		}
	}
}

// TestLoopCalls checks the effects of functions on loops by their names.
func TestLoopCalls(t *testing.T) {
	for name, want := range map[string]LoopKind{
		"__kmpc_dispatch_next_8u": LoopHands, "__kmpc_for_static_init_4@VERSION": LoopStatic,
		"__kmpc_for_static_fini": LoopEnds, "__kmpc_dispatch_init_4": LoopEnds,
		"__kmpc_dispatch_next_16": LoopNone, "__kmpc_barrier": LoopNone,
		"GOMP_loop_nonmonotonic_dynamic_next": LoopHands, "GOMP_loop_ull_guided_start": LoopHands,
		"GOMP_loop_end_nowait": LoopEnds, "GOMP_sections_next": LoopSections,
		"GOMP_parallel_loop_dynamic_start": LoopNone, "main": LoopNone, "": LoopNone,
		"__kmpc_4": LoopNone, "__kmpc_8u": LoopNone, "__kmpc_": LoopNone, "GOMP_": LoopNone,
	} {
		if got := LoopCallOf(name).Kind; got != want {
			t.Errorf("%s is of kind %d, want %d", name, got, want)
		}
	}
	if c := LoopCallOf("GOMP_loop_ull_ordered_guided_next"); !c.Unsigned || !c.Ordered || !c.Behind || c.Size != 8 {
		t.Errorf("%+v", c)
	}
}
