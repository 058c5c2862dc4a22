package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A construct such as critical may contain no barrier. Compilers refuse one in the same function. So such a
// barrier is in a function that was called from within the construct; it may be inlined.

// Bounds on the code that is searched for misplaced barriers.
const (
	maxCalled    = 256 // functions that a region's function calls; written programs have fewer
	maxMisplaced = 8   // listed calls
)

// codePlace is a position in code: an instruction, or the return address of a call.
type codePlace struct {
	pc    uint64
	exact bool
}

// constructs finds barriers in constructs that may contain no barrier.
type constructs struct {
	code  *stacks.Code
	flows *stacks.Flow
	known map[codePlace]*picture.Construct
	leads map[uint64]*picture.Frame // the barrier that a function leads to, by its entry
}

func newConstructs(code *stacks.Code, fl *stacks.Flow) *constructs {
	return &constructs{code, fl, map[codePlace]*picture.Construct{}, map[uint64]*picture.Frame{}}
}

// constructAround returns the construct from which n called the function that waits at a barrier, or nil.
func (c *constructs) constructAround(st *stacks.Stack) *picture.Construct {
	for i := st.RuntimeFrames(); i < len(st.Frames) && st.Kinds[i] != stacks.KindRuntime; i++ {
		if st.Kinds[i] != stacks.KindUser {
			continue
		}
		f := st.Frames[i]
		at := codePlace{f.PC, f.Exact}
		out, known := c.known[at]
		if !known {
			out = c.constructAtPlace(c.flows.FunctionAt(f.LookupPC()), flow.Point{PC: f.PC, Exact: f.Exact}, f.Module)
			c.known[at] = out
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// constructAtPlace returns the construct that contains the current call at a place of a function.
func (c *constructs) constructAtPlace(code *flow.Function, at flow.Point, mod *callbacks.Module) *picture.Construct {
	if code == nil || !code.MayCall(inConstruct) {
		return nil
	}
	s, ok := code.SiteAt(at)
	if !ok {
		return nil
	}
	return c.constructAtSite(code, s, mod)
}

// constructAtSite returns the construct that contains a call.
func (c *constructs) constructAtSite(code *flow.Function, s flow.CallSite, mod *callbacks.Module) *picture.Construct {
	all := rtl.Constructs()
	for i := range all {
		k := &all[i]
		begun, ok := c.constructStart(code, s, k)
		if !ok || !c.isInside(s, begun, mod) || c.isCopied(code, s, k, mod) {
			continue
		}
		out := &picture.Construct{Name: k.Name, Uncertain: k.Own}
		calls, begins := c.siteFrames(s, mod), c.siteFrames(begun, mod)
		if rtl.HasLine(begun.Name) {
			out.Frame = &begins[0]
		}
		out.Call = &calls[max(0, len(calls)-len(begins))]
		return out
	}
	return nil
}

// inConstruct reports whether a function starts, ends or tests a construct that may contain no barrier.
func inConstruct(name string) bool {
	return slices.ContainsFunc(rtl.Constructs(),
		func(k rtl.Construct) bool { return k.Role(name) != rtl.ConstructNone })
}

// constructStart returns the call that started the construct in which the call at s is on all paths.
func (c *constructs) constructStart(code *flow.Function, s flow.CallSite, k *rtl.Construct) (flow.CallSite, bool) {
	effect := func(s flow.CallSite) flow.Effect {
		switch k.Role(s.Name) {
		case rtl.ConstructBegins:
			return flow.Sets
		case rtl.ConstructEnds:
			return flow.Clears
		}
		return flow.NoEffect
	}
	guard := func(s flow.CallSite) flow.Guard {
		switch {
		case k.Role(s.Name) != rtl.ConstructAsks:
			return flow.NoGuard
		case k.Zero:
			return flow.IfZero
		}
		return flow.IfNonzero
	}
	truth, by := code.HoldsGuarded(flow.Point{PC: s.PC, Exact: true}, effect, guard)
	if truth != flow.Yes || len(by) == 0 {
		return flow.CallSite{}, false
	}
	return by[0], true
}

// isInside reports whether the call at s is not the construct's own barrier. A call of the runtime is inside if
// its function is inlined into the function that started the construct.
func (c *constructs) isInside(s, begun flow.CallSite, mod *callbacks.Module) bool {
	if !rtl.OfConstruct(s.Name) {
		return true
	}
	inner, outer := c.siteFrames(s, mod), c.siteFrames(begun, mod)
	from := len(inner) - len(outer)
	if from <= 0 {
		return false
	}
	return slices.EqualFunc(inner[from:], outer, func(a, b picture.Frame) bool { return a.Function == b.Function })
}

// isCopied reports whether a call in a construct may be a copy of a call after the construct: compilers duplicate
// a call if that saves a jump.
func (c *constructs) isCopied(code *flow.Function, s flow.CallSite, k *rtl.Construct, mod *callbacks.Module) bool {
	own := c.siteFrames(s, mod)
	for _, o := range code.Sites() {
		if o.Index == s.Index || o.Name != s.Name || o.Entry != s.Entry {
			continue
		}
		other := c.siteFrames(o, mod)
		same := len(own) == 0 || len(other) == 0 || own[0].Line == 0 ||
			slices.EqualFunc(own, other, func(a, b picture.Frame) bool { return a.Line == b.Line && a.File == b.File })
		if _, in := c.constructStart(code, o, k); same && !in {
			return true
		}
	}
	return false
}

// siteFrames returns the place of a call in the source.
func (c *constructs) siteFrames(s flow.CallSite, mod *callbacks.Module) []picture.Frame {
	f := unwind.Frame{PC: s.PC, Exact: true, Module: mod}
	if s.Return != 0 {
		f = unwind.Frame{PC: s.Return, Module: mod}
	}
	return c.code.Frames(f, stacks.KindUser)
}

// misplacedIn lists the calls that lead to a barrier from within a construct that may contain no barrier. It
// searches the code of a region, and the functions that it calls.
func (c *constructs) misplacedIn(entry uint64) []picture.Misplaced {
	var out []picture.Misplaced
	for _, f := range c.reachableFunctions(entry) {
		code := c.flows.FunctionAt(f)
		if code == nil || !code.MayCall(inConstruct) {
			continue
		}
		mod := c.code.ModuleOf(f)
		for _, s := range code.Sites() {
			barrier := c.barrierOf(s, mod)
			if barrier == nil {
				continue
			}
			if in := c.constructAtSite(code, s, mod); in != nil && len(out) < maxMisplaced {
				out = append(out, picture.Misplaced{Construct: *in, Frame: barrier})
			}
		}
	}
	return out
}

// barrierOf returns the barrier that a call leads to, nil if it is unknown.
func (c *constructs) barrierOf(s flow.CallSite, mod *callbacks.Module) *picture.Frame {
	if rtl.OfBarrier(s.Name) {
		return &c.siteFrames(s, mod)[0]
	}
	entry := c.calleeEntry(s)
	out, known := c.leads[entry]
	if !known {
		out = c.firstBarrier(entry)
		c.leads[entry] = out
	}
	return out
}

// firstBarrier returns a barrier in the function at entry, or in a function that it calls.
func (c *constructs) firstBarrier(entry uint64) *picture.Frame {
	for _, f := range c.reachableFunctions(entry) {
		code := c.flows.FunctionAt(f)
		if code == nil || !code.MayCall(rtl.OfBarrier) {
			continue
		}
		for _, s := range code.Sites() {
			if rtl.OfBarrier(s.Name) {
				return &c.siteFrames(s, c.code.ModuleOf(f))[0]
			}
		}
	}
	return nil
}

// calleeEntry returns the program's function that a call leads to, 0 if it is another function.
func (c *constructs) calleeEntry(s flow.CallSite) uint64 {
	entry := c.flows.Program.Entry(s)
	if entry == 0 || !c.flows.Program.BeginsFunction(entry) {
		return 0
	}
	return entry
}

// reachableFunctions returns the function at entry, and the program's functions that it calls.
func (c *constructs) reachableFunctions(entry uint64) []uint64 {
	if entry == 0 {
		return nil
	}
	out := []uint64{entry}
	for i := 0; i < len(out) && len(out) < maxCalled; i++ {
		code := c.flows.FunctionAt(out[i])
		if code == nil {
			continue
		}
		for _, s := range code.Sites() {
			if e := c.calleeEntry(s); e != 0 && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// addMisplaced adds the misplaced barriers to the barriers that threads wait at.
func (g *gatherer) addMisplaced() {
	barriers := map[picture.ID]*picture.Barrier{}
	for i := range g.facts.Barriers {
		barriers[g.facts.Barriers[i].ID] = &g.facts.Barriers[i]
	}
	first, differ := map[picture.ID]int{}, map[picture.ID][2]int{} // numbers of waits
	for i := range g.facts.Waits {
		w := &g.facts.Waits[i]
		b := barriers[w.Barrier]
		if b == nil || w.Address == nil {
			continue
		}
		if !w.EndOfRegion {
			g.waitsWithin(g.waits[i], b)
		}
		o, known := first[w.Region]
		f := &g.facts.Waits[o]
		switch {
		case !known:
			first[w.Region] = i
		case f.EndOfRegion != w.EndOfRegion, *f.Address != *w.Address, g.atTwoPlaces(b, o, i):
			differ[w.Region] = [2]int{o, i}
		}
	}
	for _, r := range g.pic.Regions {
		d, ok := differ[r.ID]
		if !ok || r.Function == nil || r.Function.Address == nil {
			continue
		}
		entry := uint64(*r.Function.Address)
		found := g.from.constructs.shiftCauses(entry, g.shiftedThread(d[0]), g.shiftedThread(d[1]))
		if len(found) == 0 && !g.anyAtExplicit(d) { // else the place of that barrier may be the mistake
			found = slices.DeleteFunc(g.from.constructs.misplacedIn(entry), func(m picture.Misplaced) bool {
				return g.isAwaited(d, m.Frame)
			})
		}
		b := barriers[g.facts.Waits[d[1]].Barrier]
		b.Misplaced = append(b.Misplaced, found...)
	}
}

// atTwoPlaces reports whether two threads have arrived at one barrier of the runtime, b, at different lines of the
// program.
func (g *gatherer) atTwoPlaces(b *picture.Barrier, i, j int) bool {
	place := func(i int) (file string, line int, ok bool) {
		t := g.threadOf(i)
		if t == nil || t.State == nil || !slices.Contains(b.Arrived, t.LWP) || g.facts.Waits[i].Barrier != b.ID ||
			t.State.Name != picture.StateBarrierExplicit {
			return "", 0, false
		}
		k := picture.InnermostUser(t.UserStack)
		if k < 0 {
			return "", 0, false
		}
		return t.UserStack[k].File, t.UserStack[k].Line, t.UserStack[k].Line != 0
	}
	file, line, ok := place(i)
	other, at, too := place(j)
	return ok && too && (file != other || line != at)
}

// shiftedThread returns the thread of wait i.
func (g *gatherer) shiftedThread(i int) shifted {
	out := shifted{anyThreadNumber, g.waits[i].n.Stack(), &g.facts.Waits[i]}
	if t := g.threadOf(i); t != nil && t.ThreadNum != nil {
		out.number = *t.ThreadNum
	}
	return out
}

// anyAtExplicit reports whether one of two waits is at an explicit barrier.
func (g *gatherer) anyAtExplicit(waits [2]int) bool {
	return slices.ContainsFunc(waits[:], func(i int) bool {
		t := g.threadOf(i)
		return t != nil && t.State != nil && t.State.Name == picture.StateBarrierExplicit
	})
}

// isAwaited reports whether one of two threads waits at a barrier: its place does not show which call led to it.
func (g *gatherer) isAwaited(waits [2]int, barrier *picture.Frame) bool {
	return barrier != nil && barrier.Line != 0 && slices.ContainsFunc(waits[:], func(i int) bool {
		t := g.threadOf(i)
		if t == nil {
			return false
		}
		j := picture.InnermostUser(t.UserStack)
		return j >= 0 && t.UserStack[j].File == barrier.File && t.UserStack[j].Line == barrier.Line
	})
}

// threadOf returns the thread of wait i, nil if the picture lacks it.
func (g *gatherer) threadOf(i int) *picture.Thread {
	j := slices.IndexFunc(g.pic.Threads, func(t picture.Thread) bool { return t.LWP == g.facts.Waits[i].Thread })
	if j < 0 {
		return nil
	}
	return &g.pic.Threads[j]
}

// waitsWithin adds the construct that a thread waits in to its barrier.
func (g *gatherer) waitsWithin(w wait, b *picture.Barrier) {
	if in := g.from.constructs.constructAround(w.n.Stack()); in != nil {
		b.Misplaced = append(b.Misplaced, picture.Misplaced{Thread: w.Thread, Construct: *in})
	}
}
