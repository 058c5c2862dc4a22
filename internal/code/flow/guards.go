package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Guard says with which results of a call a function goes on to what the call guards.
type Guard uint8

// The guards.
const (
	NoGuard Guard = iota
	IfNonzero
	IfZero
)

// edge is a way from one block to another.
type edge struct{ from, to int }

// change is what a way through a function does to a fact.
type change struct {
	effect Effect
	site   int
}

// HoldsGuarded is Holds where the branches on the results of some calls decide as well:
// the fact is true behind the side that is taken for the results that guard it, and false
// behind the other.
func (f *Function) HoldsGuarded(
	at Point, effect func(CallSite) Effect, guard func(CallSite) Guard,
) (Truth, []CallSite) {
	effects, now := f.effects(effect), NoEffect
	if s, ok := f.SiteAt(at); ok {
		now = effect(s)
	}
	d := &decisions{f: f, edges: map[edge]change{}}
	d.find(guard)
	return f.holds(at, facts{entry: No, effects: effects, edges: d.edges}, now)
}

// decisions finds the ways through a function on which the results of calls decide.
type decisions struct {
	f     *Function
	edges map[edge]change
}

// find finds them for the calls that guard something.
func (d *decisions) find(guard func(CallSite) Guard) {
	f := d.f
	var results []*symbolic.Expr
	kind, site := NoGuard, 0
	for i, s := range f.sites {
		g := guard(s)
		if g == NoGuard || s.Return == 0 {
			continue
		}
		at, ok := f.index[s.PC]
		if !ok || f.left[at] == nil {
			continue
		}
		result := &f.left[at][f.x.ABI.Result]
		results, kind, site = append(results, result), g, i
		for b := range f.blocks {
			d.decide(b, result, g, i)
		}
	}
	for _, joined := range d.joinResults(results) {
		for b := range f.blocks {
			d.decide(b, joined, kind, site)
		}
	}
}

// joinResults returns the values of the result register where paths join that are, on each of them,
// one of some results.
func (d *decisions) joinResults(results []*symbolic.Expr) []*symbolic.Expr {
	f := d.f
	if len(results) == 0 {
		return nil
	}
	r, of := f.x.ABI.Result, len(results)
	from := make([][]*symbolic.Expr, len(f.blocks)) // what leads to a block has in the register
	for b := range f.blocks {
		if f.blocks[b].in == nil || f.blocks[b].last == f.blocks[b].first {
			continue
		}
		last := f.blocks[b].last - 1
		s := f.stateAt(last).Fork()
		f.execute(s, last)
		for _, n := range f.blocks[b].succ {
			from[n] = append(from[n], s.Regs[r])
		}
	}
	known := func(e *symbolic.Expr) bool { return slices.ContainsFunc(results, e.Equal) }
	for changed := true; changed; {
		changed = false
		for n := range f.blocks {
			in := f.blocks[n].in
			if in == nil || len(from[n]) == 0 || in.Regs[r].Kind != symbolic.KindUnknown || known(in.Regs[r]) {
				continue
			}
			if !slices.ContainsFunc(from[n], func(e *symbolic.Expr) bool { return !known(e) }) {
				results, changed = append(results, in.Regs[r]), true
			}
		}
	}
	return results[of:]
}

// decide adds what the branch at the end of block b, if it is one on the result of a call,
// does.
func (d *decisions) decide(b int, result *symbolic.Expr, g Guard, site int) {
	blk := &d.f.blocks[b]
	if len(blk.succ) != 2 || blk.succ[0] == blk.succ[1] || blk.in == nil {
		return
	}
	c, ok := conditionAt(d.f, blk.last-1)
	if !ok || !c.A.Contains(result) && !c.B.Contains(result) {
		return
	}
	takes := func(v uint64) (taken, ok bool) {
		k := symbolic.Constant(v)
		return symbolic.Cond{Op: c.Op, A: c.A.Substitute(result, k), B: c.B.Substitute(result, k)}.Decided()
	}
	zero, ok0 := takes(0)
	one, ok1 := takes(1)
	if !ok0 || !ok1 {
		return
	}
	// The first successor is where the branch leads that is taken.
	with, without := edge{b, blk.succ[0]}, edge{b, blk.succ[1]} // the way that 0 takes, and the other
	if !zero {
		with, without = without, with
	}
	ofZero, ofOthers := Sets, Clears
	if g == IfNonzero {
		ofZero, ofOthers = Clears, Sets
	}
	d.edges[without] = change{ofOthers, site}
	if zero != one {
		d.edges[with] = change{ofZero, site}
	}
}

// conditionAt returns that of the branch that instruction i is.
func conditionAt(f *Function, i int) (symbolic.Cond, bool) {
	return branchCondition(f, f.stateAt(i).Fork(), i)
}

// branchCondition returns that of the branch that instruction i is, where s is known before it.
func branchCondition(f *Function, s *symbolic.State, i int) (symbolic.Cond, bool) {
	for k := range f.insts[i].Uops {
		u := &f.insts[i].Uops[k]
		switch {
		case u.Code == lift.UopBranch:
			c := s.Cond(u.CC)
			return c, c.Op != lift.CondUnknown
		case !u.Leaves():
			s.Apply(u)
		}
	}
	return symbolic.Cond{}, false
}

// noteDecidedBranch notes which way the branch at the end of block b never takes, where s is known before it: what
// it compares are constants, as the result of a function that returns one (unoptimized, C++ libraries ask
// such a function whether there are threads before each call for a lock).
func noteDecidedBranch(f *Function, s *symbolic.State, b int) {
	blk := &f.blocks[b]
	if len(blk.succ) != 2 || blk.succ[0] == blk.succ[1] {
		return
	}
	c, ok := branchCondition(f, s.Fork(), blk.last-1)
	if !ok {
		return
	}
	taken, ok := c.Decided()
	if !ok {
		return
	}
	if f.never == nil {
		f.never = map[edge]bool{}
	}
	// The first successor is where the branch leads that is taken.
	f.never[edge{b, blk.succ[map[bool]int{true: 1, false: 0}[taken]]}] = true
}
