package inspect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// Unknown is a number that could not be read.
const Unknown = -1

// Fork is what decided on the size of a parallel region. Numbers are Unknown
// where they could not be read.
type Fork struct {
	Region   ID
	Clause   int    // the region's num_threads clause; 0 if it has none, Unknown if its value is not known
	IfFalse  bool   // its if clause was false
	OrIf     bool   // a Clause of 1 may also be an if clause that was false
	At       *Frame // the call that forked it
	Active   int    // active regions around it
	NThreads int    // nthreads-var of the task that encountered it
	MaxLevel int    // max-active-levels-var
	Limit    int    // thread-limit-var
	Procs    int    // num-procs-var: processors that the program may use
	Dynamic  bool   // dyn-var
	NestOff  bool   // nest-var, which runtimes of before OpenMP 5.0 have, is false
}

// Fork tells what decided on the size of a region; not ok for one of level 0.
func (in *Inspector) Fork(id ID) (Fork, bool) {
	i := slices.IndexFunc(in.regions.all(), func(v *regionView) bool { return regionID(v.h) == id })
	if i < 0 {
		return Fork{}, false
	}
	v := in.regions.all()[i]
	if v.err != nil || v.h.Level == 0 || v.parent.IsZero() {
		return Fork{}, false
	}
	parent := in.regions.get(v.rt, v.parent)
	f := Fork{Region: id, Active: parent.info.ActiveLevel, NThreads: Unknown, MaxLevel: Unknown, Limit: Unknown, Procs: Unknown}
	in.forkSettings(v, &f)
	in.forkClauses(v, &f)
	return f, true
}

// forkSettings reads the control variables of the task that encountered v.
func (in *Inspector) forkSettings(v *regionView, f *Fork) {
	task, err := v.rt.TaskInParallel(v.parent, max(0, v.info.PrimaryNum))
	if err != nil {
		return
	}
	read := func(name string, to *int) string {
		val, ok := readSetting(v.rt, name, task)
		if n, err := strconv.Atoi(firstOf(val.Text)); ok && err == nil {
			*to = n
		}
		return val.Text
	}
	read("nthreads-var", &f.NThreads)
	read("max-active-levels-var", &f.MaxLevel)
	read("thread-limit-var", &f.Limit)
	read("num-procs-var", &f.Procs)
	var none int
	f.Dynamic = read("dyn-var", &none) == "true"
	f.NestOff = read("nest-var", &none) == "false"
}

// Setting is the value of a control variable in the first region that has one.
func (in *Inspector) Setting(name string) (string, bool) {
	for _, v := range in.regions.all() {
		task, err := v.rt.TaskInParallel(v.h, 0)
		if err != nil {
			continue
		}
		if val, ok := readSetting(v.rt, name, task); ok {
			return val.Text, true
		}
	}
	return "", false
}

// firstOf is the first element of a list.
func firstOf(text string) string {
	text, _, _ = strings.Cut(text, ",")
	return strings.TrimSpace(text)
}

// readSetting reads a control variable as task has it, or the program.
func readSetting(rt *runtimeView, name string, task handles.Task) (rtl.ICVValue, bool) {
	for i, d := range rt.ICVs() {
		if d.Name != name {
			continue
		}
		s := rtl.Subject{Scope: d.Scope}
		switch d.Scope {
		case rtl.ScopeTask, rtl.ScopeImplicitTask:
			s.Task = task
		case rtl.ScopeGlobal, rtl.ScopeAddressSpace:
		default:
			return rtl.ICVValue{}, false
		}
		v, err := rt.ICV(i+1, s)
		return v, err == nil
	}
	return rtl.ICVValue{}, false
}

// forkClauses finds the clauses of the construct in the code that forked v.
func (in *Inspector) forkClauses(v *regionView, f *Fork) {
	p := in.regions.primary(v)
	if p == nil {
		return
	}
	st := in.stackOf(p)
	if at, ok := in.forkPoint(p, v); ok && at < len(st.frames) && st.kinds[at] == kindUser {
		fr := in.frames(st.frames[at], kindUser)[0]
		f.At = &fr
		n, known, found := in.sizeArgument(st, at)
		f.OrIf = found
		if !found {
			n, known, found = in.between(st, at, rtl.ForkAsks, 2)
		}
		if !found {
			n, known, found, f.OrIf = in.beforeTail(st, at)
		}
		switch {
		case known:
			f.Clause = int(int32(n))
		case found:
			f.Clause = Unknown
		}
		return
	}
	in.serializedByIf(p, v, f)
}

// sizeArgument is the number of threads that the call by which frame i forked a
// region asks for, if that is an argument of the call.
func (in *Inspector) sizeArgument(st *stack, i int) (v uint64, known, found bool) {
	flow := in.flowAt(st.frames[i].LookupPC())
	if flow == nil {
		return 0, false, false
	}
	at := in.point(st, i)
	call, ok := flow.SiteAt(at)
	arg, has := rtl.ForkSize(call.Name)
	if !ok || !has || arg >= len(call.Args) {
		return 0, false, false
	}
	v, _, known = flow.Value(call, call.Args[arg], at)
	return v, known, true
}

// between looks for a call that is behind the frame, and not undone since, and
// gives one of its arguments.
func (in *Inspector) between(st *stack, i int, kind rtl.ForkCall, arg int) (v uint64, known, found bool) {
	flow := in.flowAt(st.frames[i].LookupPC())
	if flow == nil {
		return 0, false, false
	}
	at := in.point(st, i)
	fact, by := flow.Holds(at, forkEffect(kind, at.PC))
	if fact != accesspath.FactYes || len(by) == 0 || arg >= len(by[0].Args) {
		return 0, false, false
	}
	v, _, known = flow.Value(by[0], by[0].Args[arg], at)
	return v, known && len(by) == 1, true
}

// forkEffect is what calls do to "a call of this kind is behind, and not undone".
// A number of threads that was asked for counts for the next region only, which
// may be the one whose call returns to now.
func forkEffect(kind rtl.ForkCall, now uint64) func(accesspath.Site) accesspath.Effect {
	return func(s accesspath.Site) accesspath.Effect {
		k, undo := rtl.ForkCallOf(s.Name)
		switch {
		case k == kind && !undo:
			return accesspath.EffectSet
		case k == kind, k == rtl.ForkMakes && kind == rtl.ForkAsks && s.Return != 0 && s.Return != now:
			return accesspath.EffectClear
		}
		return accesspath.EffectNone
	}
}

// beforeTail looks for the number of threads that was asked for by a function
// that has no frame: frame i called it, and its last call was the fork. orIf tells
// that 1 may also stand for an if clause.
func (in *Inspector) beforeTail(st *stack, i int) (v uint64, known, found, orIf bool) {
	flow := in.flowAt(st.frames[i].LookupPC())
	if flow == nil {
		return 0, false, false, false
	}
	at := in.point(st, i)
	call, ok := flow.SiteAt(at)
	entry := in.siteEntry(call)
	if !ok || !in.beginsFunction(entry) {
		return 0, false, false, false
	}
	callee := in.flowAt(entry)
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
				v, _, known = flow.Value(call, e, at)
			}
		}
		return v, known, true, orIf
	}
	return 0, false, false, false
}

// askedBy is the number of threads that the fork at s asks for, by an argument of
// its own or by a call before it; nil if there is none.
func askedBy(flow *accesspath.Flow, s accesspath.Site) (e *accesspath.Expr, orIf bool) {
	if arg, has := rtl.ForkSize(s.Name); has && arg < len(s.Args) {
		return s.Args[arg], true
	}
	fact, by := flow.Holds(accesspath.Point{PC: s.PC, Exact: true}, forkEffect(rtl.ForkAsks, 0))
	if fact != accesspath.FactYes || len(by) != 1 || len(by[0].Args) < 3 {
		return nil, false
	}
	return by[0].Args[2], false
}

// serializedByIf tells whether v is executed by one thread since its if clause
// was false: code for that calls the outlined function itself. Regions and frames
// are matched only if there are as many of the one as of the other.
func (in *Inspector) serializedByIf(p *native, v *regionView, f *Fork) {
	st := in.stackOf(p)
	var calls []int
	for i := range st.frames {
		if st.kinds[i] == kindUser {
			if _, _, ok := in.between(st, i, rtl.ForkSerial, 0); ok {
				calls = append(calls, i)
			}
		}
	}
	var serial []handles.Parallel
	for _, h := range p.chain {
		r := in.regions.get(p.rt, h)
		if _, forked := in.forkPoint(p, r); r.info.Serialized && !forked {
			serial = append(serial, h)
		}
	}
	n := slices.Index(serial, v.h)
	if n < 0 || len(serial) != len(calls) {
		return
	}
	fr := in.frames(st.frames[calls[n]], kindUser)[0]
	f.At, f.IfFalse = &fr, true
}

// maxEnviron bounds the program's environment, which Linux limits to a quarter of
// the stack's size.
const (
	maxEnvironVars  = 1 << 16
	maxEnvironValue = 4096
)

// Environment looks up a variable of the program's environment as it is now; known
// tells whether the environment could be read.
func (in *Inspector) Environment(name string) (value string, set, known bool) {
	if in.cfg.Symbolizer == nil {
		return "", false, false
	}
	addr, ok := in.cfg.Symbolizer.Lookup("environ", "libc.so.6")
	if !ok {
		if addr, ok = in.cfg.Symbolizer.Lookup("environ", ""); !ok {
			return "", false, false
		}
	}
	array, ok := in.pointer(addr)
	for i := uint64(0); ok && i < maxEnvironVars; i++ {
		var p uint64
		if p, ok = in.pointer(array + 8*i); !ok || p == 0 {
			return "", false, ok
		}
		text := in.cstring(p, len(name)+1+maxEnvironValue)
		if v, found := strings.CutPrefix(text, name+"="); found {
			return v, true, true
		}
	}
	return "", false, false
}

// pointer reads an address.
func (in *Inspector) pointer(addr uint64) (uint64, bool) {
	var b [8]byte
	if in.cfg.Target.ReadMemory(callbacks.At(addr), b[:]) != nil {
		return 0, false
	}
	return callbacks.Word(b[:]), true
}

// cstring reads up to limit bytes of a string; what can be read counts.
func (in *Inspector) cstring(addr uint64, limit int) string {
	var out []byte
	for len(out) < limit {
		chunk := make([]byte, min(256-int(addr&255), limit-len(out)))
		if in.cfg.Target.ReadMemory(callbacks.At(addr), chunk) != nil {
			break
		}
		if end := slices.Index(chunk, 0); end >= 0 {
			return string(append(out, chunk[:end]...))
		}
		out = append(out, chunk...)
		addr += uint64(len(chunk))
	}
	return string(out)
}
