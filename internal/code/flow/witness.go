package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

const (
	// maxWitnesses bounds the branches of one function that are looked at for one point of it:
	// each is followed through the code behind it.
	maxWitnesses = 64
	// maxLoopDepth bounds how deep loops are nested.
	maxLoopDepth = 16
)

// Witnesses are the branches on the way to a point of a function of which a frame there still shows
// the way that they took: nothing has written the registers and cells of the stack on which their
// conditions depend since.
type Witnesses struct {
	f        *Function
	round    round
	branches []witness
}

// witness is one branch.
type witness struct {
	block int
	from  int           // an instruction of the block
	cond  symbolic.Cond // of its first successor, over what was there before that instruction
}

// WitnessesOf finds the branches on the way to a point whose way a frame there may still show. There
// are none where the code is not known well enough.
func WitnessesOf(f *Function, at Point) *Witnesses {
	f.ensureSolved()
	out := &Witnesses{f: f}
	now, ok := f.indexAt(at)
	if !ok || f.Indirect || f.spend(len(f.insts)) != nil {
		return out
	}
	g := blocksOf(f)
	if out.round, ok = g.roundOf(f.owner[now]); !ok {
		return out
	}
	given := lowestGiven(f)
	for b, on := range out.round.blocks {
		succ := f.blocks[b].succ
		if !on || b == f.owner[now] || len(succ) != 2 || succ[0] == succ[1] || f.blocks[b].in == nil ||
			!out.round.blocks[succ[0]] || !out.round.blocks[succ[1]] || g.isRepeated(b, out.round) {
			continue
		}
		if len(out.branches) == maxWitnesses || f.spend(len(f.insts)) != nil {
			break
		}
		for _, from := range conditionStarts(f, b) {
			k := keeper{f: f, from: from, branch: f.blocks[b].last - 1, at: now, given: given}
			if c, ok := k.condition(); ok && k.keeps(c.A) && k.keeps(c.B) {
				out.branches = append(out.branches, witness{b, from, c})
				break
			}
		}
	}
	return out
}

// Ways returns the ways that the branches took, as a frame at the point shows: a byte for each, '1' and
// '0' for its first successor and its second, '?' if that cannot be told.
func (w *Witnesses) Ways(at Point) string {
	out := make([]byte, len(w.branches))
	for i := range w.branches {
		out[i] = '?'
		k := keeper{f: w.f, from: w.branches[i].from}
		c := w.branches[i].cond
		a, known := k.currentValue(c.A, at)
		b, alsoKnown := k.currentValue(c.B, at)
		if first, ok := (symbolic.Cond{Op: c.Op, A: a, B: b}).Decided(); ok && known && alsoKnown {
			out[i] = '0'
			if first {
				out[i] = '1'
			}
		}
	}
	return string(out)
}

// HoldsAlong is HoldsBy on the ways that branches took last, as Ways tells.
func (w *Witnesses) HoldsAlong(at Point, effects []Effect, underWay Effect, ways string) (Truth, []CallSite) {
	f := w.f
	before := f.propagate(facts{entry: No, effects: effects})[w.round.head]
	fs := facts{entry: before.truth, by: before.by, start: w.round.head, effects: effects, edges: map[edge]change{}}
	never := change{effect: NoReturn}
	for b := range f.blocks {
		if slices.Contains(f.blocks[b].succ, w.round.head) {
			fs.edges[edge{b, w.round.head}] = never
		}
	}
	for i, way := range []byte(ways) {
		succ := f.blocks[w.branches[i].block].succ
		switch way {
		case '1':
			fs.edges[edge{w.branches[i].block, succ[1]}] = never
		case '0':
			fs.edges[edge{w.branches[i].block, succ[0]}] = never
		}
	}
	return f.holds(at, fs, underWay)
}
