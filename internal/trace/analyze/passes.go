package analyze

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// passes contains the times at which threads reached barriers and left them.
type passes struct {
	all      []Span
	byMember map[member][]pass
}

// member is a thread in a region.
type member struct {
	thread *trace.Thread
	region uint64
}

// pass is a barrier as one thread passed it. Those of a region have ascending numbers.
type pass struct{ begin, end, number uint64 }

// sort finds the spans that belong to one barrier (sameBarrier).
func (p *passes) sort() {
	sortBarriers(p.all)
	p.byMember = map[member][]pass{}
	for i, number := 0, uint64(0); i < len(p.all); number++ {
		j := i + sameBarrier(p.all[i:])
		for _, s := range p.all[i:j] {
			m := member{s.Thread, s.Region}
			p.byMember[m] = append(p.byMember[m], pass{s.Begin, s.End, number})
		}
		i = j
	}
	p.all = nil
}

// ranBetween reports whether two steps of one region have a barrier in between: the thread of the first reached it
// after its step, and that of the second had left it, or a later one, before its first acquisition. The time at
// which the first thread left the barrier does not matter. An explicit task ends before the barrier at which a
// thread executes it.
func (p *passes) ranBetween(first, second *Step) bool {
	came := p.byMember[member{first.thread, first.region}]
	i, _ := slices.BinarySearchFunc(came, first.At, func(s pass, t uint64) int {
		if first.explicit {
			return cmp.Compare(s.end, t)
		}
		return cmp.Compare(s.begin, t)
	})
	left, had := p.byMember[member{second.thread, second.region}], second.firstBegins
	j, _ := slices.BinarySearchFunc(left, had, func(s pass, t uint64) int { return cmp.Compare(s.end, t) })
	return i < len(came) && j > 0 && left[j-1].number >= came[i].number
}

// sortBarriers sorts the spans of a region next to each other, in the order of arrival.
func sortBarriers(spans []Span) {
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Begin, b.Begin))
	})
}

// sameBarrier returns the number of spans at the start of a sorted list (sortBarriers) that belong to one
// barrier. All threads arrive at a barrier before the first of them leaves it and before any arrives at the
// next one. So a span that starts after the end of another one of its region belongs to a later barrier.
func sameBarrier(spans []Span) (n int) {
	for end := spans[0].End; n < len(spans) && spans[n].Region == spans[0].Region && spans[n].Begin <= end; n++ {
		end = min(end, spans[n].End)
	}
	return n
}
