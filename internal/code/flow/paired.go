package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// EndsBefore reports whether each path from the call at from to the point comes to one of some calls, given by their
// indices, before an unknown value in e is computed again: e then has the same value at both calls, unless memory
// that it is read from has changed.
func (f *Function) EndsBefore(from CallSite, e *symbolic.Expr, ends []int, at Point) bool {
	f.ensureSolved()
	now, ok := f.indexAt(at)
	first, isInst := f.instAt(from.PC)
	if !ok || !isInst || len(ends) == 0 || e.Nameless() || f.spend(len(f.insts)) != nil {
		return false
	}
	after, ok := f.next(first)
	if !ok {
		return false
	}
	again := map[int]bool{now: true, first: true}
	for _, part := range e.Leaves() {
		if part.Kind == symbolic.KindUnknown {
			if i, ok := f.instAt(f.names[part.Val-1].pc); ok {
				again[i] = true
			}
		}
	}
	seen, work := map[int]bool{}, []int{after}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		b := &f.blocks[f.owner[i]]
		for ended := false; !ended; i++ {
			if i >= b.last {
				for _, n := range b.succ {
					if start := f.blocks[n].first; !seen[start] {
						seen[start] = true
						work = append(work, start)
					}
				}
				break
			}
			if again[i] {
				return false
			}
			s, call := f.siteOf[i]
			ended = call && slices.Contains(ends, s)
		}
	}
	return true
}
