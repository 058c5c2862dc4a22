package flow

// reached contains the instructions that can be reached from an instruction in at least one step without passing
// another one, forward or backward. It is computed from blocks, not single instructions.
type reached struct {
	g        *graph
	from     int
	not      int // an instruction that ends all paths; -1 for no such instruction
	backward bool
	whole    []bool // blocks entered at their start, or at their end if backward
}

// reachedFrom follows the blocks from an instruction, and from the start of some additional blocks.
func (g *graph) reachedFrom(from, not int, backward bool, besides ...int) *reached {
	r := &reached{g: g, from: from, not: not, backward: backward, whole: make([]bool, len(g.blocks))}
	stop := -1
	if not >= 0 {
		stop = g.owner[not]
	}
	var work []int
	leave := func(b int) {
		next := g.blocks[b].succ
		if backward {
			next = g.predecessors()[b]
		}
		for _, n := range next {
			if !r.whole[n] {
				r.whole[n] = true
				work = append(work, n)
			}
		}
	}
	for _, b := range besides {
		if !r.whole[b] {
			r.whole[b] = true
			work = append(work, b)
		}
	}
	if b := g.owner[from]; b != stop || backward == (not >= from) || not == from {
		leave(b)
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		g.visited++
		if b != stop {
			leave(b)
		}
	}
	return r
}

// contains reports whether instruction i is in the set.
func (r *reached) contains(i int) bool {
	if i == r.not {
		return false
	}
	b, from, not, at := r.g.owner[i], r.from, r.not, i
	cut := not >= 0 && r.g.owner[not] == b
	if r.backward {
		from, not, at = -from, -not, -i
	}
	return r.whole[b] && (!cut || at < not) || b == r.g.owner[r.from] && at > from && (!cut || not <= from || at < not)
}

// predecessors returns the predecessors of each block.
func (g *graph) predecessors() [][]int {
	if g.pred == nil {
		g.pred = make([][]int, len(g.blocks))
		for b := range g.blocks {
			for _, s := range g.blocks[b].succ {
				g.pred[s] = append(g.pred[s], b)
			}
		}
	}
	return g.pred
}
