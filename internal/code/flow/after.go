package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// SitesAfter returns the calls that the function may still make after a point, without the unfinished one. It
// includes calls of exception handlers, and all calls of a function that calls setjmp.
func (f *Function) SitesAfter(at Point) []CallSite {
	f.ensureSolved()
	now, ok := f.indexAt(at)
	if !ok || f.returnsTwice {
		return f.sites
	}
	seen := f.reachAfter(now)
	var out []CallSite
	for i := range f.insts {
		if s, call := f.siteOf[i]; call && (seen.contains(i) || at.Exact && i == now) {
			out = append(out, f.sites[s])
		}
	}
	return out
}

// CalledBefore returns the calls by which the function may have come to a point. Only the targets that the instructions
// themselves show are known.
func (f *Function) CalledBefore(at Point) []Call {
	_ = f.ensureDecoded()
	now, ok := f.indexAt(at)
	if !ok {
		return nil
	}
	seen := f.reachedFrom(now, -1, true)
	var out []Call
	f.DirectCalls(func(pc uint64, t symbolic.Target) {
		if i, ok := f.instAt(pc); ok && seen.contains(i) {
			out = append(out, Call{pc, t})
		}
	})
	return out
}

// Passed contains the calls by which a function came to a point.
type Passed struct {
	Before     []Call // the calls that it may have made before
	Unfinished Call   // the call at the point; its PC is 0 if there is none
}

// PassedBefore returns the calls by which the function came to a point. It does not follow values, and is not ok for
// a function with jumps to unknown targets, if an exception handler is on a path to the point, and after a recursive
// call. It is not ok either after a call whose target the instruction itself does not show: that may be any function
// whose address was loaded before, as with -fno-plt.
func (f *Function) PassedBefore(at Point) (out Passed, ok bool) {
	if f.ensureDecoded() != nil || f.Indirect || f.spend(len(f.insts)) != nil {
		return Passed{}, false
	}
	now, ok := f.indexAt(at)
	if !ok {
		return Passed{}, false
	}
	seen := f.reachedFrom(now, -1, true)
	if slices.ContainsFunc(f.handlers(), func(b int) bool { return seen.whole[b] || b == f.owner[now] }) {
		return Passed{}, false
	}
	calls := func(u lift.Uop) bool { return u.Code == lift.UopCall }
	for i := range f.insts {
		before, unfinished := seen.contains(i), i == now && !at.Exact
		if !before && !unfinished || !slices.ContainsFunc(f.insts[i].Uops, calls) {
			continue
		}
		t, leads := f.branchTarget(i)
		if !leads || f.isInside(t.Entry) {
			return Passed{}, false
		}
		if t.Name = f.x.Stub(t); t.Name == "" && t.Entry == 0 {
			return Passed{}, false
		}
		c := Call{f.insts[i].pc, t}
		if before {
			out.Before = append(out.Before, c)
		}
		if unfinished {
			out.Unfinished = c
		}
	}
	return out, true
}

// Call is a call with a target that the instruction itself shows.
type Call struct {
	PC     uint64
	Target symbolic.Target
}

// reachAfter returns the instructions that may be executed after instruction now, including those of the exception
// handlers that a call on the way enters, or the unfinished one. A handler that no call of the function enters counts,
// too: a call in another part of the function may do so.
func (f *Function) reachAfter(now int) *reached {
	enters := f.padBlocks()
	besides := slices.DeleteFunc(f.handlers(), func(b int) bool {
		return slices.ContainsFunc(enters, func(e entry) bool { return e.block == b })
	})
	for {
		seen := f.reachedFrom(now, -1, false, besides...)
		known := len(besides)
		for _, e := range enters {
			if !seen.whole[e.block] && (e.call == now || seen.contains(e.call)) {
				besides = append(besides, e.block)
			}
		}
		if len(besides) == known {
			return seen
		}
	}
}

// entry is a block that an exception out of a call enters.
type entry struct{ call, block int }

// padBlocks returns the blocks of the function that exceptions enter, by the calls that throw them.
func (f *Function) padBlocks() (out []entry) {
	if f.pad == nil || !f.hasUnreached() {
		return nil
	}
	for i := range f.insts {
		if !slices.ContainsFunc(f.insts[i].Uops, isCall) {
			continue
		}
		if n, inside := f.instAt(f.pad(f.insts[i].pc)); inside {
			out = append(out, entry{i, f.owner[n]})
		}
	}
	return out
}

// handlers returns the blocks without a known predecessor.
func (g *graph) handlers() []int {
	var out []int
	for b := range g.blocks {
		if g.blocks[b].unreached {
			out = append(out, b)
		}
	}
	return out
}
