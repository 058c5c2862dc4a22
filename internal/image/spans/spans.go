// Package spans finds the range that covers an address.
package spans

import (
	"cmp"
	"slices"
	"sort"
)

// Span maps the addresses [Low, High) to Value.
type Span[T any] struct {
	Low, High uint64
	Value     T
}

// Set is a set of spans, which may overlap. The zero Set is empty.
type Set[T any] struct {
	list []Span[T]
	top  []uint64 // top[i] is the highest end of list[:i+1]
}

// Add adds a span, unless it is empty.
func (s *Set[T]) Add(low, high uint64, v T) {
	if low < high {
		s.list = append(s.list, Span[T]{low, high, v})
	}
}

// Seal sorts the spans; call it between the last Add and the first Find.
func (s *Set[T]) Seal() {
	order := func(a, b Span[T]) int {
		if a.Low != b.Low {
			return cmp.Compare(a.Low, b.Low)
		}
		return cmp.Compare(b.High, a.High)
	}
	if !slices.IsSortedFunc(s.list, order) {
		slices.SortStableFunc(s.list, order)
	}
	s.top = make([]uint64, len(s.list))
	var top uint64
	for i, e := range s.list {
		top = max(top, e.High)
		s.top[i] = top
	}
}

// All returns the spans by address. The caller must not change them.
func (s *Set[T]) All() []Span[T] { return s.list }

// Find returns the span that covers a. Of several it returns the one that starts last (the innermost if they
// nest), then the shortest, then the one added first.
func (s *Set[T]) Find(a uint64) (Span[T], bool) {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].Low > a })
	for i--; i >= 0 && s.top[i] > a; i-- {
		if a >= s.list[i].High {
			continue
		}
		for i > 0 && s.list[i-1].Low == s.list[i].Low && s.list[i-1].High == s.list[i].High {
			i--
		}
		return s.list[i], true
	}
	return Span[T]{}, false
}
