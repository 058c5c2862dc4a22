package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Guard selects the results of a call for which the function enters the code guarded by the call.
type Guard uint8

// The guards.
const (
	NoGuard Guard = iota
	IfNonzero
	IfZero
)

// otherResults returns examples of the results other than 0: 1 where it stands for all of them, and several if the
// result is a number, of which the code may compare another one than 0.
func (g Guard) otherResults() []uint64 {
	if g == IfNonzero {
		return []uint64{1}
	}
	return []uint64{1, 2, 3}
}

// edge is an edge from one block to another.
type edge struct{ from, to int }

// change is the effect of an edge on a fact.
type change struct {
	effect Effect
	site   int
}

// HoldsGuarded is Holds with the branches on the results of some calls taken into account: the fact is true
// after the side taken for the guarding results, and false after the other side.
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

// tried moves the effects of calls with a guard to the edges that are taken for the guarding results, as effect
// success. A call keeps its effect if no branch in its block compares its result.
func (f *Function) tried(effects []Effect, guards []Guard, success Effect) ([]Effect, map[edge]change) {
	edges := map[edge]change{}
	if len(guards) == 0 {
		return effects, edges
	}
	f.ensureSolved()
	d := &decisions{f: f, edges: edges}
	d.find(func(s CallSite) Guard { return guards[s.Index] })
	effects = slices.Clone(effects)
	for e, c := range edges {
		at, _ := f.instAt(f.sites[c.site].PC)
		if f.owner[at] != e.from || c.effect != Sets {
			delete(edges, e)
			continue
		}
		effects[c.site] = NoEffect
		edges[e] = change{success, c.site}
	}
	return effects, edges
}

// decisions finds the edges that depend on the results of calls.
type decisions struct {
	f     *Function
	edges map[edge]change
}

// find adds the edges that depend on calls with a guard.
func (d *decisions) find(guard func(CallSite) Guard) {
	f := d.f
	var results []*symbolic.Expr
	kind, site := NoGuard, 0
	for i, s := range f.sites {
		g := guard(s)
		if g == NoGuard || s.Return == 0 {
			continue
		}
		at, ok := f.instAt(s.PC)
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

// joinResults returns the values of the result register at joins where each path has one of some results in it.
func (d *decisions) joinResults(results []*symbolic.Expr) []*symbolic.Expr {
	f := d.f
	if len(results) == 0 {
		return nil
	}
	r, of := f.x.ABI.Result, len(results)
	from := make([][]*symbolic.Expr, len(f.blocks)) // values in the register at the end of each predecessor
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

// decide adds the edges of the branch at the end of block b if it depends on the result of a call.
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
	zero, ok := takes(0)
	alone := ok // no other result takes the side of 0
	for _, v := range g.otherResults() {
		other, decided := takes(v)
		ok, alone = ok && decided, alone && other != zero
	}
	if !ok {
		return
	}
	// The first successor is the target of the branch.
	with, without := edge{b, blk.succ[0]}, edge{b, blk.succ[1]} // the edge taken for 0, and the other
	if !zero {
		with, without = without, with
	}
	ofZero, ofOthers := Sets, Clears
	if g == IfNonzero {
		ofZero, ofOthers = Clears, Sets
	}
	d.edges[without] = change{ofOthers, site}
	if alone {
		d.edges[with] = change{ofZero, site}
	}
}

// conditionAt returns the condition of the branch at instruction i.
func conditionAt(f *Function, i int) (symbolic.Cond, bool) {
	return branchCondition(f, f.stateAt(i).Fork(), i)
}

// branchCondition returns the condition of the branch at instruction i, given the state before it.
func branchCondition(f *Function, s *symbolic.State, i int) (symbolic.Cond, bool) {
	for k := range f.insts[i].Uops {
		u := &f.insts[i].Uops[k]
		switch {
		case u.Code == lift.UopBranch:
			c := s.BranchCond(u)
			return c, c.Op != lift.CondUnknown
		case !u.Leaves():
			s.Apply(u)
		}
	}
	return symbolic.Cond{}, false
}

// noteDecidedBranch records the edge that the branch at the end of block b never takes, given the state before
// it: the branch compares constants, such as the result of a function that returns one. Unoptimized C++
// libraries call such a function before each lock call to find out whether there are threads.
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
	// The first successor is the target of the branch.
	f.never[edge{b, blk.succ[map[bool]int{true: 1, false: 0}[taken]]}] = true
}
