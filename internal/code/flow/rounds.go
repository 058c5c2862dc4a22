package flow

import "slices"

// round is the code that a function has executed since it last entered the innermost loop around a point, or
// since the entry.
type round struct {
	head   int    // the block where it starts
	blocks []bool // blocks on the paths from there to the point
}

// blockGraph is the graph of a function's blocks in both directions.
type blockGraph struct {
	succ, pred [][]int
}

func blocksOf(f *Function) *blockGraph {
	g := &blockGraph{make([][]int, len(f.blocks)), make([][]int, len(f.blocks))}
	for b := range f.blocks {
		g.succ[b] = f.blocks[b].succ
		for _, s := range g.succ[b] {
			g.pred[s] = append(g.pred[s], b)
		}
	}
	return g
}

// blocksAfter returns the blocks that can be reached from a block in at least one step, without the edges to
// head.
func (g *blockGraph) blocksAfter(from, head int) []bool {
	return g.reach(from, func(b int) []int {
		return slices.DeleteFunc(slices.Clone(g.succ[b]), func(s int) bool { return s == head })
	})
}

// blocksBefore returns the blocks from which a block can be reached in the same way.
func (g *blockGraph) blocksBefore(from, head int) []bool {
	return g.reach(from, func(b int) []int {
		if b == head {
			return nil
		}
		return g.pred[b]
	})
}

func (g *blockGraph) reach(from int, step func(int) []int) []bool {
	seen := make([]bool, len(g.succ))
	work := []int{from}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, n := range step(b) {
			if !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	return seen
}

// roundOf finds the last round of the innermost loop around a block; ok is false if a loop has several entries.
func (g *blockGraph) roundOf(block int) (r round, ok bool) {
	for range maxLoopDepth {
		ahead, behind := g.blocksAfter(block, r.head), g.blocksBefore(block, r.head)
		if !ahead[block] {
			behind[block] = true
			r.blocks = behind
			return r, true
		}
		heads := g.entries(func(b int) bool { return ahead[b] && behind[b] })
		if len(heads) != 1 {
			return round{}, false
		}
		r.head = heads[0]
	}
	return round{}, false
}

// entries returns the blocks of a loop with predecessors outside it; the entry of a function is one.
func (g *blockGraph) entries(loop func(int) bool) []int {
	var out []int
	for b := range g.pred {
		outside := func(p int) bool { return !loop(p) }
		if loop(b) && (b == 0 || slices.ContainsFunc(g.pred[b], outside)) {
			out = append(out, b)
		}
	}
	return out
}

// isRepeated reports whether a block may be executed more than once in a round.
func (g *blockGraph) isRepeated(b int, r round) bool {
	return g.blocksAfter(b, r.head)[b] && r.blocks[b]
}
