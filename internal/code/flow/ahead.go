package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Ahead answers questions about the code that a function executes after a point.
type Ahead struct {
	f *Function
	// start is the first instruction of the walk. A call there is unfinished and not counted, unless exact is
	// set.
	start int
	exact bool
	at    Point
}

// AheadOf returns the Ahead of a point; not ok if the point is outside the function.
func AheadOf(f *Function, at Point) (Ahead, bool) {
	f.ensureSolved()
	i, ok := f.indexAt(at)
	return Ahead{f: f, start: i, exact: at.Exact, at: at}, ok
}

// AheadOfEntry returns the Ahead of the function's first instruction.
func AheadOfEntry(f *Function) Ahead {
	f.ensureSolved()
	return Ahead{f: f, exact: true}
}

// Paths selects paths through a function.
type Paths struct {
	// Stops marks the calls, by index, at which a path ends.
	Stops []bool
	// Tries marks the calls, by index, that end a path only for zero or only for nonzero results.
	Tries []Guard

	shut    map[edge]bool // closed edges
	taken   map[edge]bool // edges taken after a call in Tries succeeded
	decided []bool        // calls that these edges depend on, by index
}

// decide finds the edges that are taken after a call in Tries succeeded. A call without a branch on its result
// becomes a stop.
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

// Reach returns the calls, by index, that the function may make after the point, and whether it may return, both
// on paths without a stop. Exception handlers are not followed: the calls that they belong to are unknown, and
// any lock that they release was acquired before such a call.
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

// TruthBefore returns whether a fact that is false at the entry is true at the point, on paths that the branches
// in p do not exclude.
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

// InCell reports whether an expression is the content of a cell of the function's stack, of otherwise unknown
// origin: the function stored it there, or another function to which it passed the address.
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

// Requiring returns p without the edges that contradict a branch that every path to a call takes: edges of other
// branches on the same condition with the opposite outcome.
func (p Paths) Requiring(f *Function, site int) Paths {
	f.ensureSolved()
	p.decide(f)
	i, ok := f.instAt(f.sites[site].PC)
	if !ok || f.blocks[f.owner[i]].in == nil {
		return p
	}
	out := p
	out.shut = map[edge]bool{}
	for way := range p.shut {
		out.shut[way] = true
	}
	br := branchesOf(f)
	left := maxWitnesses
	for b := range f.blocks {
		if br.conds[b].Op == lift.CondUnknown || br.conds[b].A == nil {
			continue
		}
		for _, to := range f.blocks[b].succ {
			way := edge{b, to}
			against := br.closedBy(way)
			if len(against) == 0 {
				continue
			}
			if left == 0 || f.spend(len(f.blocks)) != nil {
				return out
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

// entersWithout reports whether a block can be reached from the entry without one edge.
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

// Value returns the value that an expression of a call will have when the function next reaches the call. It
// fails if the expression depends on a value computed between the point and the call. stays is set if the
// expression has the same value at each later execution of the call.
func (a Ahead) Value(site CallSite, e *symbolic.Expr) (v uint64, stays, ok bool) {
	f := a.f
	to, isInst := f.instAt(site.PC)
	if !isInst || f.blocks[f.owner[a.start]].in == nil {
		return 0, false, false
	}
	if to == a.start && !a.exact { // the call is unfinished
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

// remakes reports whether a part of e is computed again on a path from one instruction to the next execution of
// another. made is set if the results of the first instruction count as well.
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
	i, ok := f.instAt(name.pc)
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
