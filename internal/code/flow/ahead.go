package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Ahead is a question about the code that a function executes from a point on.
type Ahead struct {
	f *Function
	// start is the instruction at which the walk starts. The call there is under way and does not count, unless
	// exact is set.
	start int
	exact bool
	at    Point
}

// AheadOf returns the question for a point; not ok if the point is not in the function.
func AheadOf(f *Function, at Point) (Ahead, bool) {
	f.ensureSolved()
	i, ok := f.indexAt(at)
	return Ahead{f: f, start: i, exact: at.Exact, at: at}, ok
}

// AheadOfEntry returns the question for the function's first instruction.
func AheadOfEntry(f *Function) Ahead {
	f.ensureSolved()
	return Ahead{f: f, exact: true}
}

// Paths selects paths through a function.
type Paths struct {
	// Stops are the calls, by their index, behind which a path is not followed.
	Stops []bool
	// Tries are calls, by their index, that stop a path only where their result is not zero, or where it is.
	Tries []Guard

	shut    map[edge]bool // ways that are not taken
	taken   map[edge]bool // ways that are taken after a call in Tries has succeeded
	decided []bool        // calls that these ways are of, by their index
}

// decide finds the ways that are taken after a call in Tries has succeeded. A call whose result decides no branch is
// a stop.
func (p *Paths) decide(f *Function) {
	if len(p.Tries) == 0 {
		return
	}
	p.taken, p.decided = map[edge]bool{}, make([]bool, len(f.sites))
	stops := slices.Clone(p.Stops)
	for i, g := range p.Tries {
		if g == NoGuard {
			continue
		}
		d := &decisions{f: f, edges: map[edge]change{}}
		d.find(func(s CallSite) Guard {
			if s.Index == i {
				return g
			}
			return NoGuard
		})
		for way, c := range d.edges {
			if c.effect == Sets {
				p.taken[way], p.decided[i] = true, true
			}
		}
		stops[i] = stops[i] || !p.decided[i]
	}
	p.Stops, p.Tries = stops, nil
}

// Reach returns the calls that the function may make from the point on, by their index, and whether it may return,
// both on paths that meet no stop before. Handlers of exceptions are on no path: which calls they belong to is not
// known, and what they release was acquired before one of these.
func (a Ahead) Reach(p Paths) (sites []bool, returns bool) {
	f := a.f
	sites = make([]bool, len(f.sites))
	p.decide(f)
	if f.spend(len(f.insts)) != nil {
		return sites, true
	}
	seen := make([]bool, len(f.blocks))
	var work []int
	enter := func(b int) {
		if !seen[b] {
			seen[b] = true
			work = append(work, b)
		}
	}
	follow := func(b, from int) {
		blk := &f.blocks[b]
		for i := from; i < blk.last; i++ {
			s, ok := f.siteOf[i]
			if !ok {
				continue
			}
			sites[s] = true
			if p.Stops != nil && p.Stops[s] && !f.isBranch(i) {
				return
			}
		}
		returns = returns || f.isExit(blk.last-1)
		for _, n := range blk.succ {
			if way := (edge{b, n}); !f.never[way] && !p.shut[way] && !p.taken[way] {
				enter(n)
			}
		}
	}
	from := a.start
	if !a.exact {
		from++
	}
	follow(f.owner[a.start], from)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		follow(b, f.blocks[b].first)
	}
	return sites, returns
}

// TruthBefore returns whether a fact that is false when the function begins is true at the point, on paths that a
// branch
// in paths does not exclude.
func (a Ahead) TruthBefore(effects []Effect, p Paths) Truth {
	f := a.f
	p.decide(f)
	effects = slices.Clone(effects)
	for i, decided := range p.decided {
		if decided {
			effects[i] = NoEffect
		}
	}
	fs := facts{entry: No, effects: effects, edges: map[edge]change{}, normal: true}
	for way := range p.taken {
		fs.edges[way] = change{effect: Sets}
	}
	for way := range p.shut {
		fs.edges[way] = change{effect: NoReturn}
	}
	if f.spend(len(f.insts)) != nil {
		return Maybe
	}
	in, b := f.propagate(fs), f.owner[a.start]
	return f.transfer(in[b], f.blocks[b].first, a.start, effects).truth
}

// InCell reports whether an expression is what a cell of the function's stack holds, and not known to be made of
// anything else: the function has noted it there, or another one to which it has passed the address.
func InCell(f *Function, e *symbolic.Expr) bool {
	switch {
	case e == nil:
		return false
	case e.Kind == symbolic.KindLoad:
		return e.A.Kind == symbolic.KindStack
	case e.Kind != symbolic.KindUnknown || e.Val == 0:
		return false
	}
	return f.names[e.Val-1].reg == inCell
}

// Requiring returns paths that also take none of the ways which contradict a branch that every path to a call takes:
// one on the same condition that goes the other way.
func (p Paths) Requiring(f *Function, site int) Paths {
	f.ensureSolved()
	p.decide(f)
	i, ok := f.index[f.sites[site].PC]
	if !ok || f.blocks[f.owner[i]].in == nil {
		return p
	}
	out := p
	out.shut = map[edge]bool{}
	br := branchesOf(f)
	left := maxWitnesses
	for b := range f.blocks {
		if br.conds[b].Op == lift.CondUnknown || br.conds[b].A == nil {
			continue
		}
		for _, to := range f.blocks[b].succ {
			if left == 0 || f.spend(len(f.blocks)) != nil {
				return out
			}
			way := edge{b, to}
			against := br.closedBy(way)
			if len(against) == 0 {
				continue
			}
			left--
			if !entersWithout(f, f.owner[i], way) {
				for other := range against {
					out.shut[other] = true
				}
			}
		}
	}
	return out
}

// entersWithout reports whether a block is reached from the function's entry by other ways than one.
func entersWithout(f *Function, block int, not edge) bool {
	seen, work := make([]bool, len(f.blocks)), []int{0}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[b] {
			continue
		}
		if seen[b] = true; b == block {
			return true
		}
		for _, n := range f.blocks[b].succ {
			if (edge{b, n}) != not {
				work = append(work, n)
			}
		}
	}
	return f.blocks[block].unreached
}

// Value returns the value that an expression of a call will have when the function comes to the call next. It is not
// ok where the expression depends on something that is made between the point and the call. stays is set if the
// expression has the same value each time that the function comes to the call later.
func (a Ahead) Value(site CallSite, e *symbolic.Expr) (v uint64, stays, ok bool) {
	f := a.f
	to, isInst := f.index[site.PC]
	if !isInst || f.blocks[f.owner[a.start]].in == nil {
		return 0, false, false
	}
	if to == a.start && !a.exact { // the call is under way
		site.UnderWay = true
		v, _, ok = f.Value(site, e, a.at)
		return v, false, ok
	}
	if remakes(f, e, a.start, to, !a.exact) {
		return 0, false, false
	}
	q := &evaluation{f: f, at: a.at, from: a.start, now: a.start, current: true, sure: true}
	q.state = f.stateAt(a.start)
	v, ok = q.eval(e)
	return v, !remakes(f, e, to, to, false), ok
}

// remakes reports whether a part of e is made again on a way from one instruction to the next execution of another.
// made is set if the first of the two makes its own results on the way.
func remakes(f *Function, e *symbolic.Expr, from, to int, made bool) bool {
	if e == nil {
		return false
	}
	if e.Kind != symbolic.KindUnknown {
		return remakes(f, e.A, from, to, made) || remakes(f, e.B, from, to, made)
	}
	if e.Val == 0 {
		return true
	}
	name := f.names[e.Val-1]
	i, ok := f.index[name.pc]
	if !ok {
		return name.pc != 0
	}
	if i == from && !name.atJoin {
		return made
	}
	p := f.passageAhead(from, to)
	return (i == to || p.after.contains(i)) && (p.before.contains(i) || name.atJoin && i == to)
}

// passageAhead finds the instructions between one and the next execution of another.
func (f *Function) passageAhead(from, to int) *passage {
	if p, ok := f.memo.ahead[[2]int{from, to}]; ok {
		return p
	}
	if f.memo.ahead == nil {
		f.memo.ahead = map[[2]int]*passage{}
	}
	p := &passage{after: f.reachedFrom(from, to, false), before: f.reachedFrom(to, to, true)}
	f.memo.ahead[[2]int{from, to}] = p
	return p
}
