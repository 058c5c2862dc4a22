package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Returning returns p without the edges that the function never takes if some calls return the values that result
// has for them.
func (p Paths) Returning(f *Function, result func(CallSite) (uint64, bool)) Paths {
	f.ensureSolved()
	p.decide(f)
	out := p
	out.shut = map[edge]bool{}
	for way := range p.shut {
		out.shut[way] = true
	}
	returned := map[uint64][]*symbolic.Expr{}
	for _, s := range f.sites {
		v, ok := result(s)
		if !ok || s.Return == 0 {
			continue
		}
		if i, ok := f.instAt(s.PC); ok && f.left[i] != nil {
			returned[v] = append(returned[v], &f.left[i][f.x.ABI.Result])
		}
	}
	d := &decisions{f: f}
	for v, exprs := range returned {
		for _, e := range slices.Concat(exprs, d.joinResults(exprs)) {
			for b := range f.blocks {
				if way, ok := f.untaken(b, e, v); ok {
					out.shut[way] = true
				}
			}
		}
	}
	return out
}

// untaken returns the edge that the branch at the end of block b does not take if e has the value v.
func (f *Function) untaken(b int, e *symbolic.Expr, v uint64) (edge, bool) {
	blk := &f.blocks[b]
	if len(blk.succ) != 2 || blk.succ[0] == blk.succ[1] || blk.in == nil {
		return edge{}, false
	}
	c, ok := conditionAt(f, blk.last-1)
	if !ok || !c.A.Contains(e) && !c.B.Contains(e) {
		return edge{}, false
	}
	k := symbolic.Constant(v)
	taken, ok := symbolic.Cond{Op: c.Op, A: c.A.Substitute(e, k), B: c.B.Substitute(e, k)}.Decided()
	if !ok {
		return edge{}, false
	}
	if taken { // the first successor is the target of the branch
		return edge{b, blk.succ[1]}, true
	}
	return edge{b, blk.succ[0]}, true
}

// Partings returns the addresses of the branches after the point that decide whether the function makes a call next:
// one side leads to the call, and the other one to a stop of p or to the end of the function, but not to the call.
func (a Ahead) Partings(p Paths, site int) []uint64 {
	f := a.f
	p.decide(f)
	if f.spend(len(f.insts)) != nil {
		return nil
	}
	target, _ := f.instAt(f.sites[site].PC)
	stopIn := func(b, from int) int { // the first stop or the call; -1 for neither
		for i := from; i < f.blocks[b].last; i++ {
			if s, ok := f.siteOf[i]; ok && (i == target || p.Stops != nil && p.Stops[s] && !f.isBranch(i)) {
				return i
			}
		}
		return -1
	}
	closed := func(way edge) bool { return f.never[way] || p.shut[way] || p.taken[way] }
	first := f.owner[a.start]
	from := a.start
	if !a.exact {
		from++
	}
	seen := make([]bool, len(f.blocks))
	passed := map[int]bool{} // blocks whose end is reached
	var work []int
	follow := func(b, from int) {
		if stopIn(b, from) >= 0 {
			return
		}
		passed[b] = true
		for _, n := range f.blocks[b].succ {
			if !closed(edge{b, n}) && !seen[n] {
				seen[n] = true
				work = append(work, n)
			}
		}
	}
	follow(first, from)
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		follow(b, f.blocks[b].first)
	}
	toCall, toOther, stops := make([]bool, len(f.blocks)), make([]bool, len(f.blocks)), make([]bool, len(f.blocks))
	for b := range f.blocks {
		i := stopIn(b, f.blocks[b].first)
		stops[b] = i >= 0
		switch {
		case i == target:
			toCall[b] = true
		case stops[b], f.isExit(f.blocks[b].last - 1):
			toOther[b] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for b := range f.blocks {
			if stops[b] {
				continue
			}
			for _, n := range f.blocks[b].succ {
				if closed(edge{b, n}) {
					continue
				}
				if toCall[n] && !toCall[b] || toOther[n] && !toOther[b] {
					toCall[b], toOther[b] = toCall[b] || toCall[n], toOther[b] || toOther[n]
					changed = true
				}
			}
		}
	}
	var out []uint64
	for b := range f.blocks {
		if !passed[b] || len(f.blocks[b].succ) != 2 {
			continue
		}
		x, y := f.blocks[b].succ[0], f.blocks[b].succ[1]
		if closed(edge{b, x}) || closed(edge{b, y}) {
			continue
		}
		if toCall[x] && !toCall[y] && toOther[y] || toCall[y] && !toCall[x] && toOther[x] {
			out = append(out, f.insts[f.blocks[b].last-1].pc)
		}
	}
	return out
}
