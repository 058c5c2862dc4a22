package flow

// SitesAfter returns the calls that the function may still make from a point on,
// without the one that is under way. A handler of exceptions may be next where a call
// throws, and any place after a call of the setjmp family.
func (f *Function) SitesAfter(at Point) []CallSite {
	f.ensureSolved()
	now, ok := f.indexAt(at)
	if !ok || f.returnsTwice {
		return f.sites
	}
	seen := f.reachAfter(now)
	if at.Exact {
		seen[now] = true
	}
	var out []CallSite
	for i, ok := range seen {
		if s, call := f.siteOf[i]; ok && call {
			out = append(out, f.sites[s])
		}
	}
	return out
}

// reachAfter are the instructions that may be executed after one, or in a handler of what is thrown there.
func (g *graph) reachAfter(now int) []bool {
	handlers := g.handlers()
	return g.reach(now, len(g.insts), func(i int) []int {
		if i == now {
			return append(g.next(i), handlers...)
		}
		return g.next(i)
	})
}

// handlers are the first instructions of the blocks that nothing seen leads to.
func (g *graph) handlers() []int {
	var out []int
	for b := range g.blocks {
		if g.blocks[b].unreached {
			out = append(out, g.blocks[b].first)
		}
	}
	return out
}
