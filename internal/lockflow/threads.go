package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Frame is one frame of a thread's stack.
type Frame struct {
	// PC is the next instruction if Exact is set, else the address behind the call that has
	// not returned.
	PC    uint64
	Exact bool
	// CFA is the value of the stack pointer before the function was called.
	CFA uint64
	// Registers are those that are known in the frame.
	Registers *callbacks.Registers
	// User is set for code of the program: no runtime's and no system library's.
	User bool
}

// lookup returns an address in the instruction that the frame is at.
func (f *Frame) lookup() uint64 {
	if f.Exact {
		return f.PC
	}
	return f.PC - 1
}

// Thread is a thread's stack, the innermost frame first.
type Thread struct {
	ID     int
	Frames []Frame
	Whole  bool // Frames are all, to the outermost
}

const (
	// maxFrames bounds the frames of one stack that are looked at for what they hold.
	maxFrames = 64
	// maxArgumentDepth bounds how many callers are asked for the value of an argument that
	// is handed on.
	maxArgumentDepth = 8
)

// PointOf is where frame i of a stack is in its function.
func (p *Program) PointOf(t *Thread, i int) flow.Point { return p.pointOf(t, i, maxArgumentDepth) }

func (p *Program) pointOf(t *Thread, i, depth int) flow.Point {
	f := &t.Frames[i]
	at := flow.Point{PC: f.PC, Exact: f.Exact, CFA: f.CFA, Registers: f.Registers}
	if depth > 0 && i+1 < len(t.Frames) && t.Frames[i+1].User {
		at.Arg = func(n int) (uint64, bool) { return p.argument(t, i+1, n, depth-1) }
	}
	return at
}

// Argument is integer argument n of the call that frame i makes, found by following values
// through the whole function and its callers.
func (p *Program) Argument(t *Thread, i, n int) (uint64, bool) {
	return p.argument(t, i, n, maxArgumentDepth)
}

func (p *Program) argument(t *Thread, i, n, depth int) (uint64, bool) {
	f := p.FlowAt(t.Frames[i].lookup())
	if f == nil {
		return 0, false
	}
	at := p.pointOf(t, i, depth)
	s, ok := f.SiteAt(at)
	if !ok || n >= len(s.Args) {
		return 0, false
	}
	v, _, ok := f.Value(s, s.Args[n], at)
	return v, ok
}

// point is a place in a function, and what its code shows of threads that are there.
type point struct {
	releases families           // of which what comes may give something back
	asked    bool               // for releases
	behind   map[string]bool    // by family: a call that takes a lock of it may be behind
	held     map[string]holding // by what the calls of one lock do
	branches *flow.Witnesses    // nil before they are asked for
	opened   [2]*opened         // of a frame that called a function of the program, and of one that did not
}

// pointAt is where a frame is in f.
func (f *function) pointAt(fr *Frame) *point {
	at := place{fr.PC, fr.Exact}
	pt := f.points[at]
	if pt == nil {
		pt = &point{behind: map[string]bool{}, held: map[string]holding{}}
		f.points[at] = pt
	}
	return pt
}

// MayRelease reports whether a thread may come to a call that gives back something of a
// family, or wakes one who waits for it, from where its frames are. It may if that cannot be
// told: where a call leads to code that is not known, or where the stack is not whole.
func (p *Program) MayRelease(t *Thread, family string) bool {
	if !t.Whole {
		return true
	}
	set := familySet(family)
	// Most stacks of large programs have a frame of which the instructions alone show that it may.
	if slices.ContainsFunc(t.Frames, func(fr Frame) bool { return fr.User && p.callsByMemoryFrom(&fr) }) {
		return true
	}
	for i := range t.Frames {
		if t.Frames[i].User && p.releasesFrom(&t.Frames[i])&set != 0 {
			return true
		}
	}
	return false
}

// releasesFrom returns the families of which a frame may give something back before it returns,
// not counting the frames that it has called.
func (p *Program) releasesFrom(fr *Frame) families {
	if p.classAt(fr.lookup()) == Opaque {
		return ofThreads
	}
	f := p.functionAt(fr.lookup())
	if f == nil {
		return allFamilies
	}
	pt := f.pointAt(fr)
	if pt.asked {
		return pt.releases
	}
	pt.asked = true
	if known := p.plainOf(f); known.ok && known.possibleReleases(p.releases.SummaryOf) == 0 {
		return 0
	}
	at := flow.Point{PC: fr.PC, Exact: fr.Exact}
	if p.callsByMemoryFrom(fr) {
		pt.releases = allFamilies
		return pt.releases
	}
	sites := p.sitesOf(f)
	if s, ok := f.flow.SiteAt(at); ok { // it may be just doing so
		switch c := sites[s.Index]; c.kind {
		case calleeListed:
			pt.releases |= listedReleases(c.call)
		case calleeLockLike:
			pt.releases |= ofThreads
		}
	}
	for _, s := range f.flow.SitesAfter(at) {
		pt.releases |= releasesOf(&sites[s.Index], p.releases.SummaryOf)
	}
	return pt.releases
}

// callsByMemoryFrom reports whether a frame may come to a call through a pointer in memory before it returns.
func (p *Program) callsByMemoryFrom(fr *Frame) bool {
	if p.classAt(fr.lookup()) == Opaque {
		return false
	}
	f := p.functionAt(fr.lookup())
	return f != nil && f.flow.CallsByMemoryAfter(flow.Point{PC: fr.PC, Exact: fr.Exact})
}

// FunctionMayRelease reports whether the function that begins at entry may give back something
// of a family.
func (p *Program) FunctionMayRelease(entry uint64, family string) bool {
	return p.releases.SummaryOf(entry)&familySet(family) != 0
}

// MakesEvents reports whether a function on a thread's stack makes events of detached tasks.
func (p *Program) MakesEvents(t *Thread) bool {
	return slices.ContainsFunc(t.Frames, func(fr Frame) bool {
		if !fr.User || p.classAt(fr.lookup()) == Opaque {
			return false
		}
		f := p.functionAt(fr.lookup())
		return f != nil && slices.ContainsFunc(p.sitesOf(f), func(s site) bool { return rtl.MakesEvent(s.Name) })
	})
}

// classAt returns the class of the code at pc, asked for once.
func (p *Program) classAt(pc uint64) Class {
	c, ok := p.classes[pc]
	if !ok {
		c = p.cfg.Code.Class(pc)
		p.classes[pc] = c
	}
	return c
}

// EnteredWith is integer argument n that the function of frame i was called with, as far as
// the frame still has it in a register or on its stack, or its callers tell, or the function
// that it handed it on to has it.
func (p *Program) EnteredWith(t *Thread, i, n int) (uint64, bool) { return p.enteredWith(t, i, n, 1) }

func (p *Program) enteredWith(t *Thread, i, n, depth int) (uint64, bool) {
	f := p.FlowAt(t.Frames[i].lookup())
	if f == nil {
		return 0, false
	}
	at := p.pointOf(t, i, maxArgumentDepth)
	s, ok := f.SiteAt(at)
	if !ok {
		return 0, false
	}
	arg := symbolic.Leaf(symbolic.KindArg, uint64(n))
	forms := []*symbolic.Expr{arg, symbolic.Extend(arg, 4, false)}
	for _, e := range forms {
		if v, _, ok := f.Value(s, e, at); ok {
			return v, true
		}
	}
	if i == 0 || depth == 0 || !p.handsOn(t, i, s, at, depth) {
		return 0, false
	}
	for k, e := range s.Args {
		if e.Equal(forms[0]) || e.Equal(forms[1]) {
			if v, ok := p.enteredWith(t, i-1, k, depth-1); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// agreeing is how many arguments of a call have to be the same in the frame that calls and
// in the one that was called, before the latter is believed to be that of the call: a tail
// call may have put another function in its place.
const agreeing = 2

// handsOn reports whether the frame below frame i is that of the function which frame i
// called, by the arguments that both know.
func (p *Program) handsOn(t *Thread, i int, s flow.CallSite, at flow.Point, depth int) bool {
	f, agree := p.FlowAt(t.Frames[i].lookup()), 0
	for k, e := range s.Args[:min(len(s.Args), registerArgs)] {
		mine, _, ok := f.Value(s, e, at)
		if !ok {
			continue
		}
		theirs, ok := p.enteredWith(t, i-1, k, 0)
		switch {
		case ok && uint32(theirs) != uint32(mine):
			return false
		case ok:
			agree++
		}
	}
	return agree >= agreeing
}

// registerArgs is how many arguments x86-64 has in registers.
const registerArgs = 6
