package flow

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// releases summarizes a call graph: a function releases if it does so itself or by a callee.
func releases(calls map[uint64][]uint64, itself ...uint64) *Summaries[bool] {
	return &Summaries[bool]{
		Callees: func(f uint64) []uint64 { return calls[f] },
		Compute: func(f uint64, callee func(uint64) bool) bool {
			return slices.Contains(itself, f) || slices.ContainsFunc(calls[f], callee)
		},
		Equal: func(a, b bool) bool { return a == b }, Unknown: true,
	}
}

// TestSummariesInAnyOrder summarizes the functions of call graphs in every order: no summary depends on the
// order.
func TestSummariesInAnyOrder(t *testing.T) {
	tests := []struct {
		name   string
		calls  map[uint64][]uint64
		itself []uint64
		want   map[uint64]bool
	}{
		{"mutual recursion, released by the first", map[uint64][]uint64{1: {2}, 2: {1}}, []uint64{1},
			map[uint64]bool{1: true, 2: true}},
		{"mutual recursion, no release", map[uint64][]uint64{1: {2}, 2: {1}}, nil, map[uint64]bool{1: false, 2: false}},
		{"a function that calls itself", map[uint64][]uint64{1: {1}}, []uint64{1}, map[uint64]bool{1: true}},
		{"released below a circle", map[uint64][]uint64{1: {2}, 2: {3, 1}, 3: {4}}, []uint64{4},
			map[uint64]bool{1: true, 2: true, 3: true, 4: true}},
		{"released above a circle", map[uint64][]uint64{1: {2}, 2: {3}, 3: {2}}, []uint64{1},
			map[uint64]bool{1: true, 2: false, 3: false}},
		{
			"two circles that share a function", map[uint64][]uint64{1: {2}, 2: {1, 3}, 3: {4}, 4: {2}}, []uint64{4},
			map[uint64]bool{1: true, 2: true, 3: true, 4: true},
		},
		{
			"a circle that calls a circle", map[uint64][]uint64{1: {2}, 2: {1, 3}, 3: {4}, 4: {3}}, []uint64{2},
			map[uint64]bool{1: true, 2: true, 3: false, 4: false},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			functions := slices.Sorted(maps.Keys(tt.want))
			for order := range permutations(functions) {
				s := releases(tt.calls, tt.itself...)
				for _, f := range order {
					if got := s.SummaryOf(f); got != tt.want[f] {
						t.Errorf("asked in the order %v: function %d releases: %v, want %v", order, f, got, tt.want[f])
					}
				}
			}
		})
	}
}

// permutations returns all orders of a list.
func permutations(list []uint64) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		var permute func(i int) bool
		p := slices.Clone(list)
		permute = func(i int) bool {
			if i == len(p) {
				return yield(p)
			}
			for k := i; k < len(p); k++ {
				p[i], p[k] = p[k], p[i]
				if !permute(i + 1) {
					return false
				}
				p[i], p[k] = p[k], p[i]
			}
			return true
		}
		permute(0)
	}
}

// TestSummariesOnce computes each function of a tree once, for any number of calls.
func TestSummariesOnce(t *testing.T) {
	const depth = 1000
	computed := map[uint64]int{}
	s := Summaries[int]{
		Callees: func(f uint64) []uint64 {
			if f == depth {
				return nil
			}
			return []uint64{f + 1, f + 1}
		},
		Compute: func(f uint64, callee func(uint64) int) int {
			computed[f]++
			if f == depth {
				return 1
			}
			return callee(f+1) + 1
		},
		Equal: func(a, b int) bool { return a == b },
	}
	if got := s.SummaryOf(1); got != depth {
		t.Errorf("the summary of the first of %d functions is %d", depth, got)
	}
	for f := uint64(1); f <= depth; f++ {
		if computed[f] != 1 {
			t.Errorf("function %d was computed %d times", f, computed[f])
		}
	}
}

// TestSummariesUnstable checks that functions of a cycle that never converges are unknown, and that their caller
// is computed from that.
func TestSummariesUnstable(t *testing.T) {
	calls := map[uint64][]uint64{1: {2}, 2: {3}, 3: {2}}
	s := Summaries[string]{
		Callees: func(f uint64) []uint64 { return calls[f] },
		Compute: func(f uint64, callee func(uint64) string) string {
			return fmt.Sprintf("%.4s%d", callee(calls[f][0]), f)
		},
		Equal: func(a, b string) bool { return false }, Unknown: "unknown",
	}
	for f, want := range map[uint64]string{1: "unkn1", 2: "unknown", 3: "unknown"} {
		if got := s.SummaryOf(f); got != want {
			t.Errorf("function %d: %q, want %q", f, got, want)
		}
	}
}

// TestSummariesBound checks that functions beyond the bound are unknown.
func TestSummariesBound(t *testing.T) {
	s := Summaries[bool]{
		Callees: func(f uint64) []uint64 { return []uint64{f + 1} },
		Compute: func(f uint64, callee func(uint64) bool) bool { return callee(f + 1) },
		Equal:   func(a, b bool) bool { return a == b }, Unknown: true,
	}
	if !s.SummaryOf(1) {
		t.Error("a chain of calls without an end is known")
	}
	if n := s.Len(); n != maxSummaries+1 {
		t.Errorf("%d functions were looked at, want %d", n, maxSummaries+1)
	}
}

// TestSummariesLargest has a cycle of functions that exceeds the bound: only their callees are computed.
func TestSummariesLargest(t *testing.T) {
	calls := map[uint64][]uint64{1: {2}, 2: {3}, 3: {1, 4}, 4: {5}, 5: {4}}
	for largest, want := range map[int]bool{0: false, 3: false, 2: true} {
		s := releases(calls)
		compute := s.Compute
		s.Largest = largest
		s.Compute = func(f uint64, callee func(uint64) bool) bool {
			if want && f <= 3 {
				t.Errorf("function %d of a circle of 3 is computed, though %d are the most", f, largest)
			}
			return compute(f, callee)
		}
		for f := range calls {
			if got := s.SummaryOf(f); got != (want && f <= 3) {
				t.Errorf("of %d at most: function %d: %v", largest, f, got)
			}
		}
	}
}
