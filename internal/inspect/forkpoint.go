package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// forkPoint returns the index of the frame of p's stack that forked region v. It
// is that of a frame which is not user code if the fork was the last call of an
// outlined function that the runtime had called itself.
//
// The regions of p are matched with its stack from the outside in: an active
// region's outlined function is the outermost function of a run of user frames
// whose caller is the runtime. A serialized region may have no such frame, and a
// region whose function tail-called the fork has none either.
func (u *userModel) forkPoint(p *native, v *regionView) (int, bool) {
	st := p.Stack()
	at := p.indexOf(v.h)
	if at < 0 {
		return 0, false
	}
	if v.info.Function.IsNull() {
		return u.forkByCount(p, at)
	}
	first := len(p.chain) - 1
	if own := u.regions.ownRegion(p, p.chain); own > at {
		first = own - 1
	}
	// A fork further in is found where the function of v itself tail-called the fork of
	// that region.
	f, next, ok := forkOf(u.matchForks(p, first), at, len(st.Frames)-1)
	switch {
	case ok:
		return f.caller, true
	case at > 0:
		return 0, false
	}
	return u.lastFork(st, next)
}

// forkByCount returns the index of the frame of p's stack that forked the region at
// index at of p's chain, of which no function is known, as while its team is being
// formed: if p has as many calls on its stack that execute a region as it has regions
// of its own, they are those.
func (u *userModel) forkByCount(p *native, at int) (int, bool) {
	own := u.regions.ownRegion(p, p.chain)
	if own < 0 {
		own = len(p.chain) - 1 // the one around all is forked by none
	}
	st := p.Stack()
	calls := u.forkCalls(p)
	if len(calls) == own+1 && calls[0] == st.RuntimeFrames() { // it forms one more team, or takes one apart
		calls = calls[1:]
	}
	if at >= own || len(calls) != own {
		return 0, false
	}
	return calls[at], true
}

// lastFork is the frame of a call that forked a region whose outlined function has
// no frame: it has returned, and the thread waits at the region's end, or it ended
// in a tail call. Only frames up to number last are looked at.
func (u *userModel) lastFork(st *stacks.Stack, last int) (int, bool) {
	top := st.RuntimeFrames()
	for i := max(top, 1); i <= last; i++ {
		if st.Kinds[i] != stacks.KindUser || st.Kinds[i-1] != stacks.KindRuntime {
			continue
		}
		name := u.code.CallTarget(st.Frames[i].PC)
		if kind, _ := rtl.ForkCallOf(name); kind == rtl.ForkMakes || name == "" && i == top {
			return i, true
		}
	}
	return 0, false
}

// findFork looks, from frame number from inwards, for a frame of the function at
// entry that was called by a runtime. It returns the frame's number and that of
// the frame which called the runtime.
func (u *userModel) findFork(st *stacks.Stack, from int, entry uint64) (outlined, caller int, ok bool) {
	for i := from; i >= 0; i-- {
		called := i+1 < len(st.Kinds) && st.Kinds[i] == stacks.KindUser && st.Kinds[i+1] == stacks.KindRuntime
		if !called || u.code.FunctionEntry(st.Frames[i]) != entry {
			continue
		}
		caller = i + 1
		for caller < len(st.Kinds) && st.Kinds[caller] == stacks.KindRuntime {
			caller++
		}
		return i, caller, true
	}
	return 0, 0, false
}
