package inspect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Most locks of OpenMP runtimes do not say who has them. The stacks do: a thread
// has a lock if one of its frames is between the call that took it and the call
// that gives it back. Whether it is follows from the code of the frame's function:
// on all ways from its begin to where the frame is now, the lock was taken, and
// on none given back since.

// Holder is a thread that has a lock, or may have it, as its code shows.
type Holder struct {
	LWP       int
	Certainty string // certain, likely or possible
	Taken     *Frame // where it took the lock, if that is one place
	Evidence  string
}

// Bounds on the search for holders.
const (
	// maxHolderFrames bounds the frames of one stack that are looked at.
	maxHolderFrames = 64
	// maxArgDepth bounds how many callers are asked for the value of an
	// argument that is handed on.
	maxArgDepth = 8
)

// holders finds the threads that have the lock that w waits for, the best first.
func (in *Inspector) holders(w Wait, l Lock) []Holder {
	family, ok := lockFamily(w, l)
	if !ok || !w.known() {
		return nil
	}
	var out []Holder
	for _, n := range in.sorted() {
		if n.lwp == 0 || n.info.Role == rtl.RoleIdle {
			continue
		}
		if h, ok := in.holds(n, family, w.Variable); ok {
			out = append(out, h)
		}
	}
	rank := map[string]int{Certain: 0, Likely: 1, Possible: 2}
	slices.SortStableFunc(out, func(a, b Holder) int { return cmp.Compare(rank[a.Certainty], rank[b.Certainty]) })
	return out
}

// known tells whether the code that takes what w waits for can be told from the
// code that takes others of its kind: by the program's variable, or as there is
// only one.
func (w Wait) known() bool { return w.Variable != 0 || w.only() }

// only tells whether there is only one of what w waits for: the unnamed critical
// section, or that of atomic constructs.
func (w Wait) only() bool {
	c, ok := rtl.LockCallOf(w.Call)
	return ok && c.Arg < 0
}

// lockFamily tells which calls take and give back what w waits for.
func lockFamily(w Wait, l Lock) (string, bool) {
	switch {
	case w.reduction:
		return rtl.FamilyReduction, true
	case w.Kind == WaitCritical:
		return rtl.FamilyCritical, true
	case w.Kind == WaitMutex:
		return rtl.FamilyMutex, true
	case w.Kind == WaitAtomic:
		return rtl.FamilyAtomic, true
	case w.Kind != WaitLock && w.Kind != WaitNestLock:
		return "", false
	case l.Nested:
		return rtl.FamilyNest, true
	}
	return rtl.FamilyLock, true
}

// holds tells whether the frames of n show that it has the lock whose variable is
// at addr; 0 is the lock that there is only one of.
func (in *Inspector) holds(n *native, family string, addr uint64) (Holder, bool) {
	st := in.stackOf(n)
	best := Holder{}
	for i := range min(len(st.frames), maxHolderFrames) {
		if st.kinds[i] != kindUser {
			continue
		}
		h, ok := in.frameHolds(st, i, family, addr)
		if !ok || best.LWP != 0 && h.Certainty == Possible {
			continue
		}
		h.LWP = n.lwp
		if best = h; h.Certainty == Certain {
			break
		}
	}
	return best, best.LWP != 0
}

// frameHolds asks one frame. The strict look takes calls of functions that may
// give the lock back for doing so.
func (in *Inspector) frameHolds(st *stack, i int, family string, addr uint64) (Holder, bool) {
	f := st.frames[i]
	flow := in.flowAt(f.LookupPC())
	if flow == nil || !in.takes(flow, family) {
		return Holder{}, false
	}
	look := lockLook{in: in, flow: flow, at: in.point(st, i), family: family, addr: addr}
	look.strict = true
	fact, by := flow.Holds(look.at, look.effect)
	h := Holder{Certainty: Certain}
	if fact != accesspath.FactYes || look.unsure || flow.Indirect {
		look.strict = false
		fact, by = flow.Holds(look.at, look.effect)
		h.Certainty = Likely
	}
	switch fact {
	case accesspath.FactPerhaps:
		h.Certainty = Possible
	case accesspath.FactYes:
	default:
		return Holder{}, false
	}
	taken := in.takenAt(by, f.Module)
	if taken != nil {
		h.Taken = &taken[0]
	}
	call := "its call"
	if len(by) > 0 {
		call = in.siteName(by[0])
	}
	h.Evidence = holderEvidence(h, call, taken, in.frames(f, kindUser))
	return h, true
}

// takenAt is the place in the source of the calls that took a lock; nil if they are
// not all there. One call in the source may be several in the code.
func (in *Inspector) takenAt(by []accesspath.Site, mod *callbacks.Module) (at []Frame) {
	for _, s := range by {
		if s.Return == 0 {
			return nil
		}
		fs := in.frames(unwind.Frame{PC: s.Return, Module: mod}, kindUser)
		if at != nil && (fs[0].Line == 0 || fs[0].Line != at[0].Line || fs[0].File != at[0].File || fs[0].Function != at[0].Function) {
			return nil
		}
		if at == nil {
			at = fs
		}
	}
	return at
}

// siteName is what people call the function that a call leads to.
func (in *Inspector) siteName(s accesspath.Site) string {
	if entry := in.siteEntry(s); entry != 0 && in.cfg.Symbolizer != nil {
		if f, err := in.cfg.Symbolizer.Function(entry); err == nil && f.Low == entry && f.Function != "" {
			return f.Function
		}
	}
	return cmp.Or(s.Name, "a call")
}

// holderEvidence says where a thread took a lock, and where it is; both are the
// functions that are inlined there, the innermost first.
func holderEvidence(h Holder, call string, taken, now []Frame) string {
	from, to := common(taken, now)
	where := cmp.Or(to.Function, to.PC.String())
	switch {
	case h.Certainty == Possible:
		return fmt.Sprintf("%s in %s may have taken it, on some ways through the code", call, where)
	case from.Line == 0 || to.Line == 0:
		return fmt.Sprintf("took it by %s in %s, not given back on any way from there to %v", call, where, to.PC)
	}
	until := fmt.Sprintf("line %d", to.Line)
	if to.File != from.File {
		until = fmt.Sprintf("%s:%d", filepath.Base(to.File), to.Line)
	}
	return fmt.Sprintf("took it by %s in %s at %s:%d, not given back on any way from there to %s", call, where, filepath.Base(from.File), from.Line, until)
}

// common is the innermost function that two places in the code of one function are
// both in, as the frames of either place; both lists have the innermost first.
func common(a, b []Frame) (inA, inB Frame) {
	inB = b[len(b)-1]
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if x.Function != y.Function {
			break
		}
		inA, inB = x, y
		if x.File != y.File || x.Line != y.Line { // what is inlined here is not the same
			break
		}
	}
	return inA, inB
}

// lockLook asks what the calls of one frame's function do with one lock.
type lockLook struct {
	in     *Inspector
	flow   *accesspath.Flow
	at     accesspath.Point
	family string
	addr   uint64
	strict bool
	unsure bool // an argument was read from memory that may have changed
}

// effect is what the call at s does to "this frame has the lock".
func (l *lockLook) effect(s accesspath.Site) accesspath.Effect {
	sum := l.in.siteEffects(s, l.family, maxCallDepth)
	out := accesspath.EffectNone
	if l.strict && !sum.clean {
		out = accesspath.EffectUnsure
	}
	for _, e := range sum.effects {
		if got, mine := l.applies(s, e); mine && got > out {
			out = got
		}
	}
	return out
}

// applies tells whether e, an effect of the call at s, is on this lock.
func (l *lockLook) applies(s accesspath.Site, e lockEffect) (accesspath.Effect, bool) {
	if e.one {
		return e.effect, l.addr == 0
	}
	if l.addr == 0 {
		return accesspath.EffectNone, false
	}
	if e.lock == nil {
		return accesspath.EffectUnsure, true
	}
	v, sure, known := l.flow.Value(s, e.lock, l.at)
	switch {
	case !known:
		return accesspath.EffectUnsure, true
	case v != l.addr:
		return accesspath.EffectNone, false
	}
	l.unsure = l.unsure || !sure
	return e.effect, true
}

// takes tells whether the function calls something that takes a lock of a family.
func (in *Inspector) takes(flow *accesspath.Flow, family string) bool {
	return slices.ContainsFunc(flow.Sites(), func(s accesspath.Site) bool {
		return slices.ContainsFunc(in.siteEffects(s, family, maxCallDepth).effects, func(e lockEffect) bool {
			return e.effect != accesspath.EffectClear
		})
	})
}

// siteEntry is the function that a call leads to, 0 if that is not known. A call
// may go through a stub, which the name is not of.
func (in *Inspector) siteEntry(s accesspath.Site) uint64 {
	sym := in.cfg.Symbolizer
	if s.Name == "" || sym == nil || s.Entry != 0 && entryName(sym, s.Entry) == s.Name {
		return s.Entry
	}
	a, _ := sym.Lookup(s.Name, "")
	return a
}

func (in *Inspector) moduleOf(pc uint64) *callbacks.Module {
	if in.cfg.Symbolizer == nil {
		return nil
	}
	return in.cfg.Symbolizer.Module(pc)
}

// flowAt is what is known of the function around pc; nil if its code cannot be
// read.
func (in *Inspector) flowAt(pc uint64) *accesspath.Flow {
	if in.cfg.Unwinder == nil {
		return nil
	}
	low, high, ok := in.cfg.Unwinder.FunctionBounds(pc)
	if !ok {
		return nil
	}
	if f, ok := in.flows[low]; ok {
		return f
	}
	f, err := accesspath.NewFlow(accesspath.Config{Arch: in.cfg.Target.Arch(), Mem: in.cfg.Target, Resolve: in.resolve}, low, high)
	if err != nil {
		f = nil
	}
	in.flows[low] = f
	return f
}

// resolve names the function that starts at addr, or that the pointer at addr
// leads to.
func (in *Inspector) resolve(addr uint64) (accesspath.Target, bool) {
	sym := in.cfg.Symbolizer
	if sym == nil {
		return accesspath.Target{}, false
	}
	if name, ok := sym.SlotSymbol(addr); ok {
		return accesspath.Target{Name: name}, true
	}
	name := entryName(sym, addr)
	return accesspath.Target{Name: name}, name != ""
}

// point is where frame i of a stack is in its function.
func (in *Inspector) point(st *stack, i int) accesspath.Point {
	return in.pointFrom(st, i, maxArgDepth)
}

func (in *Inspector) pointFrom(st *stack, i, depth int) accesspath.Point {
	f := st.frames[i]
	p := accesspath.Point{PC: f.PC, Exact: f.Exact, CFA: f.CFA, Registers: f.Registers}
	if depth > 0 && i+1 < len(st.frames) && st.kinds[i+1] == kindUser {
		p.Arg = func(n int) (uint64, bool) { return in.argumentFrom(st, i+1, n, depth-1) }
	}
	return p
}

// flowArgument is integer argument n of the call that frame i makes, found by
// following values through the whole function and its callers.
func (in *Inspector) flowArgument(st *stack, i, n int) (uint64, bool) {
	return in.argumentFrom(st, i, n, maxArgDepth)
}

func (in *Inspector) argumentFrom(st *stack, i, n, depth int) (uint64, bool) {
	flow := in.flowAt(st.frames[i].LookupPC())
	if flow == nil {
		return 0, false
	}
	at := in.pointFrom(st, i, depth)
	site, ok := flow.SiteAt(at)
	if !ok || n >= len(site.Args) {
		return 0, false
	}
	v, _, ok := flow.Value(site, site.Args[n], at)
	return v, ok
}
