package diagnose

import "github.com/ompd-inspect/ompd-inspect/picture"

// group is the threads that wait at one barrier.
type group struct {
	waits   []*picture.Wait
	views   map[picture.ID]*view // how they see it, as far as that is known
	order   []*view
	missing []int // members that have not arrived; by the first view that knows
	size    int
}

// view is a barrier as some of its threads see it.
type view struct {
	*picture.Barrier
	arrived map[int]bool
}

// barrierGroups groups the threads that wait at barriers.
func (x *index) barrierGroups() []*group {
	type barrier struct {
		address picture.Hex
		end     bool
	}
	views := map[picture.ID]*picture.Barrier{}
	for i := range x.facts.Barriers {
		views[x.facts.Barriers[i].ID] = &x.facts.Barriers[i]
	}
	var out []*group
	by := map[barrier]*group{}
	for _, lwp := range x.order {
		w := x.waits[lwp]
		if w.Kind != picture.WaitBarrier || w.Address == nil {
			continue
		}
		at := barrier{*w.Address, w.EndOfRegion}
		g := by[at]
		if g == nil {
			g = &group{views: map[picture.ID]*view{}}
			by[at] = g
			out = append(out, g)
		}
		g.waits = append(g.waits, w)
		if b := views[w.Barrier]; b != nil && g.views[b.ID] == nil {
			g.addView(b)
		}
	}
	for _, g := range out {
		g.findMissing()
	}
	return out
}

func (g *group) addView(b *picture.Barrier) {
	v := &view{Barrier: b, arrived: map[int]bool{}}
	for _, lwp := range b.Arrived {
		v.arrived[lwp] = true
	}
	g.views[b.ID] = v
	g.order = append(g.order, v)
	g.size = b.TeamSize
}

// findMissing takes the first view that knows of members who have not arrived. One that
// waits at the barrier has, and is not counted yet.
func (g *group) findMissing() {
	here := map[int]bool{}
	for _, w := range g.waits {
		here[w.Thread] = true
	}
	for _, v := range g.order {
		for _, lwp := range v.Missing {
			if !here[lwp] {
				g.missing = append(g.missing, lwp)
			}
		}
		if g.missing != nil {
			return
		}
	}
}
