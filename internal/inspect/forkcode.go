package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// forkCode reads from code what a fork asks for.
type forkCode struct{ *stacks.Flow }

// sizeArgument is the number of threads that the call by which frame i forked a
// region asks for, if that is an argument of the call.
func (f forkCode) sizeArgument(st *stacks.Stack, i int) (v uint64, known, found bool) {
	code := f.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return 0, false, false
	}
	at := f.PointIn(st, i)
	call, ok := code.SiteAt(at)
	arg, has := rtl.ForkSize(call.Name)
	if !ok || !has || arg >= len(call.Args) {
		return 0, false, false
	}
	v, _, known = code.Value(call, call.Args[arg], at)
	return v, known, true
}

// between looks for a call that is behind the frame, and not undone since, and
// gives one of its arguments.
func (f forkCode) between(st *stacks.Stack, i int, kind rtl.ForkCall, arg int) (v uint64, known, found bool) {
	code := f.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return 0, false, false
	}
	at := f.PointIn(st, i)
	fact, by := code.Holds(at, forkEffect(kind, at.PC))
	if fact != flow.Yes || len(by) == 0 || arg >= len(by[0].Args) {
		return 0, false, false
	}
	v, _, known = code.Value(by[0], by[0].Args[arg], at)
	return v, known && len(by) == 1, true
}

// beforeTail looks for the number of threads that was asked for by a function
// that has no frame: frame i called it, and its last call was the fork. orIf tells
// that 1 may also stand for an if clause.
func (f forkCode) beforeTail(st *stacks.Stack, i int) (v uint64, known, found, orIf bool) {
	code := f.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return 0, false, false, false
	}
	at := f.PointIn(st, i)
	call, ok := code.SiteAt(at)
	entry := f.Program.Entry(call)
	if !ok || !f.Program.BeginsFunction(entry) {
		return 0, false, false, false
	}
	callee := f.FunctionAt(entry)
	if callee == nil {
		return 0, false, false, false
	}
	for _, s := range callee.Sites() {
		if k, _ := rtl.ForkCallOf(s.Name); k != rtl.ForkMakes || s.Return != 0 {
			continue
		}
		e, orIf := askedBy(callee, s)
		if e == nil {
			return 0, false, false, false
		}
		if e.OfArgs() {
			if e = e.With(call.Args); e != nil {
				v, _, known = code.Value(call, e, at)
			}
		}
		return v, known, true, orIf
	}
	return 0, false, false, false
}

// forkEffect is what calls do to "a call of this kind is behind, and not undone".
// A number of threads that was asked for counts for the next region only, which
// may be the one whose call returns to now.
func forkEffect(kind rtl.ForkCall, now uint64) func(flow.CallSite) flow.Effect {
	return func(s flow.CallSite) flow.Effect {
		k, undo := rtl.ForkCallOf(s.Name)
		switch {
		case k == kind && !undo:
			return flow.Sets
		case k == kind, k == rtl.ForkMakes && kind == rtl.ForkAsks && s.Return != 0 && s.Return != now:
			return flow.Clears
		}
		return flow.NoEffect
	}
}

// askedBy is the number of threads that the fork at s asks for, by an argument of
// its own or by a call before it; nil if there is none.
func askedBy(code *flow.Function, s flow.CallSite) (e *symbolic.Expr, orIf bool) {
	if arg, has := rtl.ForkSize(s.Name); has && arg < len(s.Args) {
		return s.Args[arg], true
	}
	fact, by := code.Holds(flow.Point{PC: s.PC, Exact: true}, forkEffect(rtl.ForkAsks, 0))
	if fact != flow.Yes || len(by) != 1 || len(by[0].Args) < 3 {
		return nil, false
	}
	return by[0].Args[2], false
}
