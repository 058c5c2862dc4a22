package teams

import (
	"cmp"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// isLeft reports whether p, thread 0 of region number at of its chain, is no longer in the code of that region: the
// call that forked it is not on the stack, as after a longjmp. The regions that were forked last are those on the
// stack.
func (u *UserModel) isLeft(p *Thread, at int) bool {
	a := p.regionCache()
	if !a.leftRead {
		a.leftRead = true
		a.left = u.countLeft(p)
	}
	return at < a.forked && at >= a.forked-a.left
}

// countLeft returns the number of regions that p forked and whose forking calls are not on its stack. It returns 0 if
// the stack may not show them all.
func (u *UserModel) countLeft(p *Thread) int {
	st := p.Stack()
	own := u.regions.ownRegion(p, p.Chain)
	if own < 0 {
		own = len(p.Chain) - 1 // the outermost region has no fork
	}
	a := p.regionCache()
	a.forked = own
	if own < 1 || !st.Complete() || u.code.Symbols == nil || p.Runtime.APIOnly() {
		return 0
	}
	if m := p.Runtime.Identity().Module; m == nil || m.Main { // its functions may have no names
		return 0
	}
	if !u.executesRegion(p) {
		return 0
	}
	for _, h := range p.Chain[:own] {
		if v := u.regions.Get(p.Runtime, h); v.Err != nil || v.Info.League != 0 || h.Level == 0 {
			return 0
		}
	}
	calls, ok := u.countForks(st)
	if !ok || calls >= own {
		return 0
	}
	for i := range st.Frames { // regions that compilers let one thread execute without the runtime
		if st.Kinds[i] == stacks.KindUser {
			if _, _, serial := (forkCode{u.flows}).callBefore(st, i, rtl.ForkSerial, 0); serial {
				calls++
			}
		}
	}
	return max(own-calls, 0)
}

// executesRegion reports whether p executes the code of its innermost region, or waits in a call of that code. At the
// end of a region, and in tasks that threads execute there, the functions that forked regions may have no frames.
func (u *UserModel) executesRegion(p *Thread) bool {
	h, err := p.Runtime.CurrentTask(p.Handle)
	if err != nil {
		return false
	}
	if info, err := p.Runtime.Task(h); err != nil || info.Kind != picture.TaskImplicit {
		return false
	}
	st := p.Stack()
	top := st.RuntimeFrames()
	if top == 0 {
		return true
	}
	if top == len(st.Frames) || st.Kinds[top] != stacks.KindUser || u.code.CallsProgram(st.Frames[top].PC) {
		return false
	}
	name := u.code.CallTarget(st.Frames[top].PC)
	kind, _ := rtl.ForkCallOf(name)
	return name != "" && kind != rtl.ForkMakes
}

// countForks returns the number of calls on a stack that forked regions. It is not ok if the stack may not show all.
func (u *UserModel) countForks(st *stacks.Stack) (calls int, ok bool) {
	named := 0
	for i, f := range st.Frames {
		if f.How.Guessed() {
			return 0, false
		}
		if st.Kinds[i] == stacks.KindRuntime {
			name, _, _ := u.code.Symbols.Exported(f.LookupPC())
			if kind, _ := rtl.ForkCallOf(name); kind == rtl.ForkMakes || rtl.EndsRegion(name) {
				named++
			}
			continue
		}
		// The runtime's functions that end a region may have replaced the one that was called.
		if named == 0 && i > 0 && st.Kinds[i-1] == stacks.KindRuntime {
			name := ""
			if st.Kinds[i] != stacks.KindSystem { // the values of the C library's start of threads are not followed
				name = u.runtimeCall(st, i)
			}
			if kind, _ := rtl.ForkCallOf(name); kind == rtl.ForkMakes || name == "" {
				named = 1
			}
		}
		calls, named = calls+named, 0
	}
	return calls, true
}

// functionOf returns the function of a region and its place, as the runtime has them. A runtime that finds functions by
// the calls on the stack gives a region that was left the function of the region that was forked after it.
func (u *UserModel) functionOf(v *Region) (callbacks.Address, handles.SourceLocation) {
	p := u.regions.Primary(v)
	if p == nil {
		return v.Info.Function, v.Info.Source
	}
	at := p.RegionIndex(v.Handle)
	left := u.isLeft(p, at)
	shift := p.regionCache().left
	function := func(i int) callbacks.Address {
		if i < 0 || i >= len(p.Chain) {
			return callbacks.Address{}
		}
		return u.regions.Get(p.Runtime, p.Chain[i]).Info.Function
	}
	switch {
	case shift == 0:
	case left && function(at-shift).IsNull():
		return callbacks.Addr(u.bodyBeforeBarrier(v)), handles.SourceLocation{}
	case !left && function(at).IsNull() && u.isLeft(p, at+shift):
		return function(at + shift), handles.SourceLocation{}
	}
	return v.Info.Function, v.Info.Source
}

// bodyBeforeBarrier returns the function of a region that its workers execute, or have executed and wait at its end:
// the runtime's function with which a worker starts called it through a pointer just before it called the barrier. It
// returns 0 if no worker shows it, or if two differ.
func (u *UserModel) bodyBeforeBarrier(v *Region) uint64 {
	body := uint64(0)
	for i, n := range u.regions.membersByNumber(v) {
		if i == 0 || n == nil || n.LWP == 0 || len(n.Chain) == 0 || n.Chain[0] != v.Handle {
			continue
		}
		entry := cmp.Or(startFunction(u.code, n.Stack()), u.lastCalled(n.Stack()))
		if entry != 0 && body != 0 && entry != body {
			return 0
		}
		if body = cmp.Or(body, entry); i >= maxBodies {
			break
		}
	}
	return body
}

// lastCalled returns the function of a construct that the runtime's outermost function on a stack called through a
// pointer before the call in which it is now, with no call between them; 0 if it is unknown.
func (u *UserModel) lastCalled(st *stacks.Stack) uint64 {
	i := st.RuntimeFrames() - 1
	if i < 1 || st.OutermostUser() >= 0 || st.Frames[i].How.Guessed() {
		return 0
	}
	code := u.flows.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return 0
	}
	at := u.flows.PointIn(st, i)
	now, ok := code.SiteAt(at)
	if !ok {
		return 0
	}
	fact, by := code.Holds(at, func(s flow.CallSite) flow.Effect {
		switch {
		case s.To != nil && s.Name == "":
			return flow.Sets
		case s.PC == now.PC: // it is under way
			return flow.NoEffect
		}
		return flow.Clears
	})
	if fact != flow.Yes || len(by) != 1 {
		return 0
	}
	entry, sure, ok := code.Value(by[0], by[0].To, at)
	if !ok || !sure || !u.code.StartsFunction(entry) {
		return 0
	}
	name, _ := u.code.Symbols.Linkage(entry)
	if kind, _ := symbolize.Construct(name); kind == "" {
		return 0
	}
	return entry
}
