package job

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// pageSize is the number of ranks that are kept together: mostly those of a node.
const pageSize = 64

// page contains the own data of consecutive ranks.
type page struct {
	here uint64 // one bit per rank with data
	list [pageSize]Member
}

// members contains the own data of each rank, in pages, because a map with an entry per rank is too large for a
// million ranks. Pages are shared between Parts, and copied before they are changed.
type members struct {
	pages  map[int]*page
	shared map[int]bool
	count  int
}

// get returns the member of a rank; ok is false without one.
func (m *members) get(rank int) (out Member, ok bool) {
	p := m.pages[rank/pageSize]
	if rank < 0 || p == nil || p.here>>(rank%pageSize)&1 == 0 {
		return Member{Peer: -1}, false
	}
	return p.list[rank%pageSize], true
}

// memberOf returns the member of a rank that has one.
func (m *members) memberOf(rank int) Member {
	out, _ := m.get(rank)
	return out
}

// set sets the member of a rank.
func (m *members) set(rank int, v Member) {
	n := rank / pageSize
	p := m.pages[n]
	switch {
	case p == nil:
		if m.pages == nil {
			m.pages = map[int]*page{}
		}
		p = &page{}
		m.pages[n] = p
	case m.shared[n]:
		own := *p
		p = &own
		m.pages[n] = p
		delete(m.shared, n)
	}
	bit := uint64(1) << (rank % pageSize)
	if p.here&bit == 0 {
		m.count++
	}
	p.here |= bit
	p.list[rank%pageSize] = v
}

// all yields the members by rank.
func (m *members) all() iter.Seq2[int, Member] {
	return func(yield func(int, Member) bool) {
		for _, n := range slices.Sorted(maps.Keys(m.pages)) {
			p := m.pages[n]
			for here := p.here; here != 0; here &= here - 1 {
				i := bits.TrailingZeros64(here)
				if !yield(n*pageSize+i, p.list[i]) {
					return
				}
			}
		}
	}
}

// merge adds the members of q. For a rank in both, that of q is taken if newer returns true.
func (m *members) merge(q *members, newer func(rank int, old, other Member) bool) {
	for n, p := range q.pages {
		if m.pages[n] == nil {
			m.share(n, p)
			q.share(n, p)
			m.count += bits.OnesCount64(p.here)
			continue
		}
		for here := p.here; here != 0; here &= here - 1 {
			i := bits.TrailingZeros64(here)
			rank := n*pageSize + i
			if old, twice := m.get(rank); !twice || newer(rank, old, p.list[i]) {
				m.set(rank, p.list[i])
			}
		}
	}
}

// share adds a page that q also uses.
func (m *members) share(n int, p *page) {
	if m.pages == nil {
		m.pages = map[int]*page{}
	}
	if m.shared == nil {
		m.shared = map[int]bool{}
	}
	m.pages[n], m.shared[n] = p, true
}
