package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Departure is a branch by which a function leaves the code where a fact is true, without making it false. After
// the branch, each path returns, or makes the fact true again, before any call that makes it false; after the
// other side of the branch, some path reaches such a call. Branches that cannot go this way while the fact is
// true, because the same condition made it true, are not departures. Nor are branches that only lead to the end
// of the program, such as that of an assertion.
type Departure struct {
	Branch uint64 // the branch instruction
	Target uint64 // the target, if it is only a jump without other predecessors; otherwise 0
}

// Departures lists the departures of the function for a fact. effects are the overall effects of calls on it, by
// index. first are their first effects, which differ for a call that makes the fact true and false again. alike
// adds to first the effects of calls that may be on the same object: a path to a call that makes the fact false
// by alike is not a departure.
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
		open := func(s int) bool { return !w.closes[s] && !may.closes[s] && !w.ends[s] }
		if held.by == 0 || !slices.ContainsFunc(blk.succ, func(s int) bool { return w.closes[s] }) ||
			!slices.ContainsFunc(blk.succ, open) || comesBack(f, b, effects) {
			continue
		}
		for _, s := range blk.succ {
			if !open(s) {
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

// collectsInLoop reports whether an edge stays in a loop that makes the fact true and never false: a loop that
// acquires several locks, to be released after it.
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

// comesBack reports whether block b is in a loop that makes the fact false and returns to the block without
// making it true, such as a loop that releases several locks. When the loop ends, no locks are left.
func comesBack(f *Function, b int, effects []Effect) bool {
	const open, cleared = 1, 2 // bits: reached before a call that clears the fact, and after one
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

// branches contains the known branch conditions of a function's blocks.
type branches struct {
	f     *Function
	conds []symbolic.Cond // by block; the condition of its first successor
	alike map[sides][]int // blocks whose conditions may be the same or opposite
}

// sides identifies the compared values of a condition. Different values may have the same.
type sides struct {
	kindA, kindB uint8
	a, b         uint64
}

func sidesOf(c symbolic.Cond) sides { return sides{uint8(c.A.Kind), uint8(c.B.Kind), c.A.Val, c.B.Val} }

// branchesOf finds the branch conditions of a function once.
func branchesOf(f *Function) *branches {
	if f.memo.branches != nil {
		return f.memo.branches
	}
	out := &branches{f, make([]symbolic.Cond, len(f.blocks)), map[sides][]int{}}
	f.memo.branches = out
	for b := range f.blocks {
		blk := &f.blocks[b]
		if len(blk.succ) == 2 && blk.succ[0] != blk.succ[1] && blk.in != nil {
			out.conds[b], _ = conditionAt(f, blk.last-1)
		}
		if c := out.conds[b]; c.Op != lift.CondUnknown {
			out.alike[sidesOf(c)] = append(out.alike[sidesOf(c)], b)
		}
	}
	return out
}

// isPossible reports whether a fact that is false at the entry can be true when an edge is taken, if all
// branches on the same condition have the same outcome.
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

// closedBy returns the edges of other branches that are not taken if one edge is taken.
func (br *branches) closedBy(way edge) map[edge]change {
	takes := br.conds[way.from]
	if br.f.blocks[way.from].succ[0] != way.to {
		takes = takes.Negate()
	}
	if takes.Op == lift.CondUnknown {
		return nil
	}
	closed := map[edge]change{}
	for _, b := range br.alike[sidesOf(takes)] {
		c := br.conds[b]
		for _, to := range br.f.blocks[b].succ {
			if b != way.from && takes.Equal(c.Negate()) {
				closed[edge{b, to}] = change{effect: NoReturn}
			}
			c = c.Negate() // the condition of the other successor
		}
	}
	return closed
}

// endsInJump reports whether block b ends in a jump, such as the code of continue, goto and return.
func (f *Function) endsInJump(b int) bool {
	return slices.ContainsFunc(f.insts[f.blocks[b].last-1].Uops,
		func(u lift.Uop) bool { return u.Code == lift.UopJump })
}

// ways summarizes the paths from the start of each block.
type ways struct {
	closes []bool // some path reaches a call that may make the fact false before one that makes it true
	ends   []bool // no path reaches such a call or returns, and some path ends without a return
}

// waysOf summarizes the paths from each block of a function.
func waysOf(f *Function, effects []Effect) ways {
	w := ways{make([]bool, len(f.blocks)), make([]bool, len(f.blocks))}
	other := make([]bool, len(f.blocks))    // some path reaches another call with an effect, or returns
	own := make([]Effect, len(f.blocks))    // of the first call with an effect
	branch := make([]Effect, len(f.blocks)) // of a call in a conditional branch at the end
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
		for b := len(f.blocks) - 1; b >= 0; b-- { // most edges lead forward
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

// FirstSets reports whether some call makes a fact true, and no path from the entry reaches a call that makes it
// false before that.
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

// firstEffect returns the effect of the first call in block b with a certain effect, ignoring conditional
// branches.
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

// TrueAt reports for each call, by index, whether a fact may be true when it is made.
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
