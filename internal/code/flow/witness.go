package flow

import (
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

const (
	// maxWitnesses bounds the branches of one function that are examined for one point: for each, the code after
	// it is followed.
	maxWitnesses = 64
	// maxLateStarts bounds the further instructions of a block from which the condition of its branch is evaluated.
	maxLateStarts = 8
	// maxLoopDepth bounds the nesting of loops.
	maxLoopDepth = 16
)

// Witnesses are the branches on the path to a point with an outcome that a frame there still shows: the
// registers and stack cells that their conditions depend on were not written since.
type Witnesses struct {
	f        *Function
	round    round
	branches []witness
}

// witness is one branch.
type witness struct {
	block int
	from  int           // an instruction of the block
	cond  symbolic.Cond // of its first successor, in terms of the state before that instruction
	named bool          // cond is in terms of the values of the function, and from is the branch
}

// WitnessesOf finds the branches on the path to a point with an outcome that a frame there may still show. The
// result is empty if the code is not known well enough. With memory, it also finds branches on variables that others
// may have written since: those elsewhere, at addresses that the frame still shows, and those of the frame with an
// address that the function has passed on. Their outcome is that of the present values.
func WitnessesOf(f *Function, at Point, memory bool) *Witnesses {
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
	var given []extent
	if !memory {
		given = givenExtents(f)
	}
	for b, on := range out.round.blocks {
		succ := f.blocks[b].succ
		if !on || b == f.owner[now] || len(succ) != 2 || succ[0] == succ[1] || f.blocks[b].in == nil ||
			!out.round.blocks[succ[0]] || !out.round.blocks[succ[1]] || g.isRepeated(b, out.round) {
			continue
		}
		if len(out.branches) == maxWitnesses || f.spend(len(f.insts)) != nil {
			break
		}
		starts := conditionStarts(f, b)
		if memory { // an address may be kept in a register that the block has copied it to
			for i := f.blocks[b].last - 2; i > starts[0] && len(starts) <= maxLateStarts; i-- {
				starts = append(starts, i)
			}
		}
		found := false
		for _, from := range starts {
			k := keeper{f: f, from: from, branch: f.blocks[b].last - 1, at: now, given: given, memory: memory}
			if c, ok := k.condition(); ok && k.keeps(c.A) && k.keeps(c.B) {
				out.branches = append(out.branches, witness{block: b, from: from, cond: c})
				found = true
				break
			}
		}
		if !memory || found {
			continue
		}
		// The frame may contain a part of a value that was in another place: the low bytes of an argument, say.
		if c, ok := conditionAt(f, f.blocks[b].last-1); ok {
			w := witness{block: b, from: f.blocks[b].last - 1, cond: c, named: true}
			out.branches = append(out.branches, w)
		}
	}
	return out
}

// Ways returns the outcomes of the branches, as far as a frame at the point shows them: one byte each, '1' and
// '0' for the first and the second successor, '?' if unknown.
func (w *Witnesses) Ways(at Point) string {
	out := make([]byte, len(w.branches))
	for i := range w.branches {
		out[i] = '?'
		if first, ok := w.outcome(&w.branches[i], at); ok {
			out[i] = '0'
			if first {
				out[i] = '1'
			}
		}
	}
	return string(out)
}

// outcome reports whether a branch took its first successor, as far as a frame at a point shows it.
func (w *Witnesses) outcome(b *witness, at Point) (first, ok bool) {
	value := func(e *symbolic.Expr) (*symbolic.Expr, bool) {
		k := keeper{f: w.f, from: b.from}
		return k.currentValue(e, at)
	}
	if b.named {
		now, _ := w.f.indexAt(at)
		q := evaluation{f: w.f, at: at, from: b.from, now: now, state: w.f.stateAt(now)}
		value = func(e *symbolic.Expr) (*symbolic.Expr, bool) {
			v, ok := q.eval(e)
			return symbolic.Constant(v), ok
		}
	}
	x, known := value(b.cond.A)
	y, alsoKnown := value(b.cond.B)
	first, ok = symbolic.Cond{Op: b.cond.Op, A: x, B: y}.Decided()
	return first, ok && known && alsoKnown
}

// HoldsAlong is HoldsBy on paths with the last outcomes of branches that Ways returned.
func (w *Witnesses) HoldsAlong(
	at Point, effects []Effect, tries []Guard, underWay Effect, ways string,
) (Truth, []CallSite) {
	f := w.f
	effects, edges := f.tried(effects, tries, Sets)
	before := f.propagate(facts{entry: No, effects: effects, edges: edges})[w.round.head]
	fs := facts{entry: before.truth, by: before.by, start: w.round.head, effects: effects, edges: maps.Clone(edges)}
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
