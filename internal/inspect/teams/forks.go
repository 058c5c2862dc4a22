package teams

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Forks finds the clauses, settings and limits that decided on the team sizes of regions.
type Forks struct {
	regions *RegionTable
	code    *stacks.Code
	flows   forkCode
	model   *UserModel
}

// forkOf describes the fork of a region. It is not ok for one of level 0.
func (ff *Forks) forkOf(v *Region) (picture.Fork, bool) {
	if v.Err != nil || v.Handle.Level == 0 || v.parent.IsZero() {
		return picture.Fork{}, false
	}
	parent := ff.regions.Get(v.Runtime, v.parent)
	f := picture.Fork{Region: RegionID(v.Handle), ActiveLevels: parent.Info.ActiveLevel}
	ff.forkSettings(v, &f)
	ff.forkClauses(v, &f)
	return f, true
}

// forkSettings reads the control variables of the task that encountered v.
func (ff *Forks) forkSettings(v *Region, f *picture.Fork) {
	task, err := v.Runtime.TaskInParallel(v.parent, max(0, v.Info.PrimaryNum))
	if err != nil {
		return
	}
	read := func(name string) (*int, string) {
		val, ok := readSetting(v.Runtime, name, task)
		if n, err := strconv.Atoi(firstElement(val.Text)); ok && err == nil && n >= 0 {
			return &n, val.Text
		}
		return nil, val.Text
	}
	f.NThreads, _ = read("nthreads-var")
	f.MaxActiveLevels, _ = read("max-active-levels-var")
	f.ThreadLimit, _ = read("thread-limit-var")
	f.NumProcs, _ = read("num-procs-var")
	_, dynamic := read("dyn-var")
	_, nest := read("nest-var")
	f.Dynamic, f.NestOff = dynamic == "true", nest == "false"
}

// firstElement returns the first element of a list.
func firstElement(text string) string {
	text, _, _ = strings.Cut(text, ",")
	return strings.TrimSpace(text)
}

// readSetting reads a control variable of a task, or of the program.
func readSetting(rt *Runtime, name string, task handles.Task) (handles.ICVValue, bool) {
	for i, d := range rt.ICVs() {
		if d.Name != name {
			continue
		}
		s := handles.Subject{Scope: d.Scope}
		switch d.Scope {
		case handles.ScopeTask, handles.ScopeImplicitTask:
			s.Task = task
		case handles.ScopeGlobal, handles.ScopeAddressSpace:
		default:
			return handles.ICVValue{}, false
		}
		v, err := rt.ICV(i+1, s)
		return v, err == nil
	}
	return handles.ICVValue{}, false
}

// forkClauses finds the clauses of the construct in the code that forked v.
func (ff *Forks) forkClauses(v *Region, f *picture.Fork) {
	p := ff.regions.Primary(v)
	if p == nil {
		return
	}
	st := p.Stack()
	if at, ok := ff.model.forkPoint(p, v); ok && at < len(st.Frames) && st.Kinds[at] == stacks.KindUser {
		fr := *ff.code.InnermostFrame(st.Frames[at], stacks.KindUser)
		f.Frame = &fr
		n, known, found := ff.flows.sizeArgument(st, at)
		f.MaybeIf = found
		if !found {
			n, known, found = ff.flows.callBefore(st, at, rtl.ForkAsks, 2)
		}
		if !found {
			n, known, found, f.MaybeIf = ff.flows.sizeBeforeTailCall(st, at)
		}
		if size := int(int32(n)); known && size != 0 {
			f.Clause, f.ClauseValue = true, &size
		} else if !known {
			f.Clause = found
		}
		return
	}
	ff.findFalseIf(p, v, f)
}

// findFalseIf finds out whether one thread executes v because its if clause was false: code for that calls the
// outlined function itself. It matches regions and frames only if there are as many of the one as of the other.
func (ff *Forks) findFalseIf(p *Thread, v *Region, f *picture.Fork) {
	st := p.Stack()
	var calls []int
	for i := range st.Frames {
		if st.Kinds[i] == stacks.KindUser {
			if _, _, ok := ff.flows.callBefore(st, i, rtl.ForkSerial, 0); ok {
				calls = append(calls, i)
			}
		}
	}
	var serial []handles.Parallel
	for _, h := range p.Chain {
		r := ff.regions.Get(p.Runtime, h)
		if _, forked := ff.model.forkPoint(p, r); r.Info.Serialized && !forked {
			serial = append(serial, h)
		}
	}
	n := slices.Index(serial, v.Handle)
	if n < 0 || len(serial) != len(calls) {
		return
	}
	fr := *ff.code.InnermostFrame(st.Frames[calls[n]], stacks.KindUser)
	f.Frame, f.IfFalse = &fr, true
}

// Facts describes the forks of all regions.
func (ff *Forks) Facts() []picture.Fork {
	var out []picture.Fork
	for _, v := range ff.regions.All() {
		if f, ok := ff.forkOf(v); ok {
			out = append(out, f)
		}
	}
	return out
}

// NewForks returns a finder of the settings of forks.
func NewForks(regions *RegionTable, code *stacks.Code, fl *stacks.Flow, model *UserModel) *Forks {
	return &Forks{regions, code, forkCode{fl}, model}
}

// forkCode analyses code that forks regions.
type forkCode struct{ *stacks.Flow }

// sizeArgument returns the team size that the call by which frame i forked a region requests by an argument.
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

// callBefore finds a call that precedes the position of frame i on all paths and is not undone since. It returns
// one of its arguments.
func (f forkCode) callBefore(st *stacks.Stack, i int, kind rtl.ForkCall, arg int) (v uint64, known, found bool) {
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

// sizeBeforeTailCall returns the team size that was requested by a function without a frame: frame i called it,
// or passed it to the runtime as the function of a teams construct, and its last call was the fork. orIf is set if a
// size of 1 may also stand for an if clause.
func (f forkCode) sizeBeforeTailCall(st *stacks.Stack, i int) (v uint64, known, found, orIf bool) {
	code := f.FunctionAt(st.Frames[i].LookupPC())
	if code == nil {
		return 0, false, false, false
	}
	at := f.PointIn(st, i)
	call, ok := code.SiteAt(at)
	if !ok {
		return 0, false, false, false
	}
	entry := f.Program.Entry(call)
	arg, league := rtl.LeagueFunction(call.Name)
	if league && arg < len(call.Args) {
		entry, _, _ = code.Value(call, call.Args[arg], at)
	}
	e, orIf, isFork := f.sizeOfLastFork(entry, &league, maxForkCalls)
	switch {
	case e == nil:
		return 0, false, league && !isFork, false
	case league: // the arguments of the function are the runtime's
		v, known = e.Number()
	case e.OfArgs():
		if e = e.WithArgs(call.Args); e != nil {
			v, _, known = code.Value(call, e, at)
		}
	}
	return v, known, true, orIf
}

// maxForkCalls bounds the functions that fork a region together: one for a construct around another one.
const maxForkCalls = 4

// sizeOfLastFork returns the team size that a function requests, or the function of a teams construct that it executes
// by its last call. It sets league in the second case. It returns nil if none is requested; isFork reports whether its
// last call is known to fork the region.
func (f forkCode) sizeOfLastFork(entry uint64, league *bool, most int) (e *symbolic.Expr, orIf, isFork bool) {
	if most == 0 || !f.Program.BeginsFunction(entry) {
		return nil, false, false
	}
	callee := f.FunctionAt(entry)
	if callee == nil {
		return nil, false, false
	}
	for _, s := range callee.Sites() {
		if k, _ := rtl.ForkCallOf(s.Name); k != rtl.ForkMakes || s.Return != 0 {
			continue
		}
		if arg, teams := rtl.LeagueFunction(s.Name); teams {
			*league = true
			if arg >= len(s.Args) {
				return nil, false, false
			}
			next, _ := s.Args[arg].Address()
			return f.sizeOfLastFork(next, league, most-1)
		}
		e, orIf = requestedSize(callee, s)
		return e, orIf, true
	}
	return nil, false, false
}

// forkEffect returns the effect of calls on the fact "a call of this kind precedes and is not undone". A requested
// team size holds for the next region only. The call that returns to now may be the fork of that region.
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

// requestedSize returns the team size that the fork at s requests, by its own argument or by a call before it; nil
// without a request.
func requestedSize(code *flow.Function, s flow.CallSite) (e *symbolic.Expr, orIf bool) {
	if arg, has := rtl.ForkSize(s.Name); has && arg < len(s.Args) {
		return s.Args[arg], true
	}
	fact, by := code.Holds(flow.Point{PC: s.PC, Exact: true}, forkEffect(rtl.ForkAsks, 0))
	if fact != flow.Yes || len(by) != 1 || len(by[0].Args) < 3 {
		return nil, false
	}
	return by[0].Args[2], false
}
