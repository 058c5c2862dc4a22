package inspect

import "github.com/ompd-inspect/ompd-inspect/picture"

// misplaced adds to the barriers that threads wait at what is known of barriers in
// constructs that may have none.
func (g *gatherer) misplaced() {
	barriers := map[picture.ID]*picture.Barrier{}
	for i := range g.facts.Barriers {
		barriers[g.facts.Barriers[i].ID] = &g.facts.Barriers[i]
	}
	first, differ := map[picture.ID]*picture.Wait{}, map[picture.ID]*picture.Barrier{}
	for i := range g.facts.Waits {
		w := &g.facts.Waits[i]
		b := barriers[w.Barrier]
		if b == nil || w.Address == nil {
			continue
		}
		if !w.EndOfRegion {
			g.waitsWithin(g.waits[i], b)
		}
		switch o := first[w.Region]; {
		case o == nil:
			first[w.Region] = w
		case o.EndOfRegion != w.EndOfRegion || *o.Address != *w.Address:
			differ[w.Region] = b
		}
	}
	for _, r := range g.pic.Regions {
		if b := differ[r.ID]; b != nil && r.Function != nil && r.Function.Address != nil {
			b.Misplaced = append(b.Misplaced, g.from.constructs.misplaced(uint64(*r.Function.Address))...)
		}
	}
}

// waitsWithin adds the construct that a thread waits in to what is known of its barrier.
func (g *gatherer) waitsWithin(w wait, b *picture.Barrier) {
	if in := g.from.constructs.around(w.n.Stack()); in != nil {
		b.Misplaced = append(b.Misplaced, picture.Misplaced{Thread: w.Thread, Construct: *in})
	}
}
