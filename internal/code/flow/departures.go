package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Departure is where a function goes on, by a branch, without making a fact false any more
// that a call made true: behind it, no path comes to a call that does before the function
// returns or makes the fact true again, while behind the branch's other side one does. A branch
// that always goes the other way where the fact is true, since the same condition made it true, is
// none; nor is one that leads only to the program's end, as that of an assertion.
type Departure struct {
	Branch uint64 // the branch instruction
	Target uint64 // where it goes on, if that is one more jump, which nothing else leads to; else 0
}

// Departures lists where the function departs while a fact is true that calls make true
// and false, as effects tell by their index; first is what they do first, which differs where
// a call makes the fact true and false again. Where alike has more effects than first, these are on
// something else, or on the same, which is not known: a way that comes to one that makes the fact false is
// no departure.
func (f *Function) Departures(effects, first, alike []Effect) []Departure {
	f.ensureSolved()
	if f.spend(len(f.insts)) != nil || f.Indirect {
		return nil
	}
	in, w, may := f.propagate(facts{entry: No, effects: effects}), waysOf(f, first), waysOf(f, alike)
	entries := make([]int, len(f.blocks))
	for b := range f.blocks {
		for _, s := range f.blocks[b].succ {
			entries[s]++
		}
	}
	var out []Departure
	var same *branches
	for b := range f.blocks {
		blk := &f.blocks[b]
		held := f.transfer(in[b], blk.first, blk.last, effects)
		if held.by == 0 || !slices.ContainsFunc(blk.succ, func(s int) bool { return w.closes[s] }) ||
			comesBack(f, b, effects) {
			continue
		}
		for _, s := range blk.succ {
			if w.closes[s] || may.closes[s] || w.ends[s] {
				continue
			}
			if same == nil {
				same = branchesOf(f)
			}
			if !same.isPossible(edge{b, s}, effects) || collectsInLoop(f, edge{b, s}, effects) {
				continue
			}
			d := Departure{Branch: f.insts[blk.last-1].pc}
			if entries[s] == 1 && f.endsInJump(s) {
				d.Target = f.insts[f.blocks[s].first].pc
			}
			out = append(out, d)
		}
	}
	return out
}

// collectsInLoop reports whether a way out of a block goes round a loop in which the fact is made true, and
// never false: one that acquires several locks, which are released behind it.
func collectsInLoop(f *Function, way edge, effects []Effect) bool {
	g := blocksOf(f)
	ahead, behind := g.blocksAfter(way.from, -1), g.blocksBefore(way.from, -1)
	if !behind[way.to] {
		return false
	}
	for i, s := range f.siteOf {
		if b := f.owner[i]; ahead[b] && behind[b] && effects[s].MayClears() {
			return false
		}
	}
	return true
}

// comesBack reports whether block b is in a loop that makes the fact false and comes back to the block
// without making it true: one that releases several locks, say. Its end is where none are left.
func comesBack(f *Function, b int, effects []Effect) bool {
	const open, cleared = 1, 2 // bits: reached before a call that clears the fact, and behind one
	seen := make([]uint8, len(f.blocks))
	enter := func(work []int, blocks []int, how uint8) []int {
		for _, n := range blocks {
			if seen[n]&how != how {
				seen[n] |= how
				work = append(work, n)
			}
		}
		return work
	}
	work := enter(nil, f.blocks[b].succ, open)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		how := seen[n]
		for i := f.blocks[n].first; i < f.blocks[n].last && how != 0; i++ {
			if s, ok := f.siteOf[i]; ok && !f.isBranch(i) {
				switch e := effects[s]; {
				case e == Sets || e == NoReturn:
					how = 0
				case e.MayClears():
					how = cleared
				}
			}
		}
		if n == b && how&cleared != 0 {
			return true
		}
		if how != 0 {
			work = enter(work, f.blocks[n].succ, how)
		}
	}
	return false
}

// branches are the conditions on which a function's blocks branch, where they are known.
type branches struct {
	f     *Function
	conds []symbolic.Cond // by block; that of its first successor
}

func branchesOf(f *Function) *branches {
	out := &branches{f, make([]symbolic.Cond, len(f.blocks))}
	for b := range f.blocks {
		blk := &f.blocks[b]
		if len(blk.succ) == 2 && blk.succ[0] != blk.succ[1] && blk.in != nil {
			out.conds[b], _ = conditionAt(f, blk.last-1)
		}
	}
	return out
}

// isPossible reports whether a fact, false when the function begins, may be true where a way out of
// a block is taken, if all branches on the same condition go the same way.
func (br *branches) isPossible(way edge, effects []Effect) bool {
	f := br.f
	closed := br.closedBy(way)
	if len(closed) == 0 || f.spend(len(f.insts)) != nil {
		return true
	}
	in := f.propagate(facts{entry: No, effects: effects, edges: closed})
	blk := &f.blocks[way.from]
	return f.transfer(in[way.from], blk.first, blk.last, effects).by != 0
}

// closedBy returns the ways that other branches do not take where one way is taken.
func (br *branches) closedBy(way edge) map[edge]change {
	takes := br.conds[way.from]
	if br.f.blocks[way.from].succ[0] != way.to {
		takes = takes.Negate()
	}
	if takes.Op == lift.CondUnknown {
		return nil
	}
	closed := map[edge]change{}
	for b, c := range br.conds {
		for _, to := range br.f.blocks[b].succ {
			if b != way.from && takes.Equal(c.Negate()) {
				closed[edge{b, to}] = change{effect: NoReturn}
			}
			c = c.Negate() // that of the other successor
		}
	}
	return closed
}

// endsInJump reports whether block b ends in a jump, as the code of continue, goto and return.
func (f *Function) endsInJump(b int) bool {
	return slices.ContainsFunc(f.insts[f.blocks[b].last-1].Uops,
		func(u lift.Uop) bool { return u.Code == lift.UopJump })
}

// ways are where the paths from the starts of a function's blocks come to.
type ways struct {
	closes []bool // some path comes to a call that may make the fact false before one that makes it true
	ends   []bool // no path comes to such a call, nor returns, and some comes to code that does not go on
}

// waysOf finds where all paths of a function come to.
func waysOf(f *Function, effects []Effect) ways {
	w := ways{make([]bool, len(f.blocks)), make([]bool, len(f.blocks))}
	other := make([]bool, len(f.blocks))    // some path comes to another call that has an effect, or returns
	own := make([]Effect, len(f.blocks))    // of the first call that has one
	branch := make([]Effect, len(f.blocks)) // of a call that is a branch at the end
	for b := range f.blocks {
		own[b], branch[b] = firstEffect(f, b, effects), NoReturn
		if s, ok := f.siteOf[f.blocks[b].last-1]; ok && f.isBranch(f.blocks[b].last-1) {
			branch[b] = effects[s]
		}
		w.closes[b] = own[b].MayClears() || own[b] == NoEffect && branch[b].MayClears()
		last := len(f.blocks[b].succ) == 0
		w.ends[b] = own[b] == NoReturn || own[b] == NoEffect && last && !f.isExit(f.blocks[b].last-1)
		other[b] = !w.ends[b] && (own[b] != NoEffect || last || branch[b] != NoReturn)
	}
	for changed := true; changed; {
		changed = false
		for b := range f.blocks {
			succ := f.blocks[b].succ
			if own[b] != NoEffect || len(succ) == 0 {
				continue
			}
			for _, one := range [][]bool{w.closes, w.ends, other} {
				if !one[b] && slices.ContainsFunc(succ, func(s int) bool { return one[s] }) {
					one[b], changed = true, true
				}
			}
		}
	}
	for b := range w.ends {
		w.ends[b] = w.ends[b] && !other[b]
	}
	return w
}

// FirstSets reports whether some call of a function makes a fact true, and on no path from its
// beginning one makes it false before.
func FirstSets(f *Function, effects []Effect) bool {
	f.ensureSolved()
	if f.spend(len(f.insts)) != nil || f.Indirect || len(f.blocks) == 0 {
		return false
	}
	seen, work, sets := make([]bool, len(f.blocks)), []int{0}, false
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		goesOn := true
		for i := f.blocks[b].first; i < f.blocks[b].last && goesOn; i++ {
			s, ok := f.siteOf[i]
			switch {
			case !ok:
			case effects[s].MayClears():
				return false
			case effects[s] == Sets || effects[s] == NoReturn:
				sets, goesOn = sets || effects[s] == Sets, false
			}
		}
		if goesOn {
			work = append(work, f.blocks[b].succ...)
		}
	}
	return sets
}

// firstEffect returns the effect of the first call in block b that surely has one, but for a branch.
func firstEffect(f *Function, b int, effects []Effect) Effect {
	blk := &f.blocks[b]
	for i := blk.first; i < blk.last; i++ {
		s, ok := f.siteOf[i]
		if ok && !f.isBranch(i) && effects[s] != NoEffect && effects[s] != MaySet {
			return effects[s]
		}
	}
	return NoEffect
}

// TrueAt reports of each call, by its index, whether a fact may be true when it is made.
func (f *Function) TrueAt(effects []Effect) []bool {
	f.ensureSolved()
	out := make([]bool, len(f.sites))
	if f.spend(len(f.insts)) != nil {
		return out
	}
	in := f.propagate(facts{entry: No, effects: effects})
	for b := range f.blocks {
		h := in[b]
		for i := f.blocks[b].first; i < f.blocks[b].last; i++ {
			if s, ok := f.siteOf[i]; ok {
				out[s] = h.by != 0
				h = h.apply(effects[s], s)
			}
		}
	}
	return out
}
