package flow

import "github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"

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

// Call is a call with a target that the instruction itself shows.
type Call struct {
	PC     uint64
	Target symbolic.Target
}

// reachAfter returns the instructions that may be executed after instruction now, including those of exception
// handlers.
func (g *graph) reachAfter(now int) *reached { return g.reachedFrom(now, -1, false, g.handlers()...) }

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
