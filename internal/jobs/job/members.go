package job

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// pageSize is how many ranks are kept together: those of a node, mostly.
const pageSize = 64

// page is what ranks in a row have for themselves.
type page struct {
	here uint64 // a bit for each rank of which something is known
	list [pageSize]Member
}

// members is what each rank has for itself, in pages: a job of a million ranks has no entry
// of a map for each. Pages are shared by Parts, and copied before they are changed.
type members struct {
	pages  map[int]*page
	shared map[int]bool
	count  int
}

// get is the member of a rank; not ok if nothing is known of it.
func (m *members) get(rank int) (out Member, ok bool) {
	p := m.pages[rank/pageSize]
	if rank < 0 || p == nil || p.here>>(rank%pageSize)&1 == 0 {
		return Member{Peer: -1}, false
	}
	return p.list[rank%pageSize], true
}

// of is the member of a rank of which something is known.
func (m *members) of(rank int) Member {
	out, _ := m.get(rank)
	return out
}

// set notes the member of a rank.
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

// merge takes over the members of q; of a rank that both have, those of q for which newer is true.
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

// share takes a page that another has, too.
func (m *members) share(n int, p *page) {
	if m.pages == nil {
		m.pages = map[int]*page{}
	}
	if m.shared == nil {
		m.shared = map[int]bool{}
	}
	m.pages[n], m.shared[n] = p, true
}
