package inspect

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxOwnersAt bounds the locks whose owners' code is searched: those with the most waiters, of which a report
// names three.
const maxOwnersAt = 16

// ownersAt finds where the owners that locks name acquired them. No verdict depends on it.
func (g *gatherer) ownersAt() {
	first, waiters := map[picture.ID]*wait{}, map[picture.ID]int{}
	for i := range g.waits {
		id := g.facts.Waits[i].Lock
		if waiters[id]++; first[id] == nil {
			first[id] = &g.waits[i]
		}
	}
	var owned []*picture.Lock
	for i := range g.facts.Locks {
		if l := &g.facts.Locks[i]; l.Owner != 0 && l.InvalidReason == "" {
			owned = append(owned, l)
		}
	}
	slices.SortStableFunc(owned, func(a, b *picture.Lock) int { return cmp.Compare(waiters[b.ID], waiters[a.ID]) })
	for _, l := range owned[:min(len(owned), maxOwnersAt)] {
		if w := first[l.ID]; w != nil {
			l.OwnerAt = g.from.waits.ownerAt(w, l)
		}
	}
}

// ownerAt finds where the owner of a lock acquired it, nil if its code does not show it.
func (wf *waitFinder) ownerAt(w *wait, l *picture.Lock) *picture.Frame {
	for _, h := range wf.holders.find(*w, *l) {
		if h.Thread == l.Owner && h.Certainty != picture.Possible {
			return h.AcquiredAt
		}
	}
	return nil
}
