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
	// PC is the next instruction if Exact is set, otherwise the address after the unfinished call.
	PC    uint64
	Exact bool
	// CFA is the value of the stack pointer before the function was called.
	CFA uint64
	// Registers are the known registers of the frame.
	Registers *callbacks.Registers
	// User is set for code of the program, not of a runtime or a system library.
	User bool
	// Numbered is set if Number is the number of the thread in the team whose region the frame executes.
	Numbered bool
	Number   int
	// Guess is set for a function without a frame that may have ended in a tail call at another place, or not at all.
	// The next frame may be another such place, and not the caller.
	Guess bool
}

// lookup returns an address within the current instruction of the frame.
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
	Whole  bool // Frames is complete, to the outermost frame
}

const (
	// maxFrames bounds the frames of one stack that are searched for held locks.
	maxFrames = 64
	// maxArgumentDepth bounds the callers that are followed to find the value of an argument that is passed on.
	maxArgumentDepth = 8
)

// PointOf returns the position of frame i of a stack in its function.
func (p *Program) PointOf(t *Thread, i int) flow.Point { return p.pointOf(t, i, maxArgumentDepth) }

func (p *Program) pointOf(t *Thread, i, depth int) flow.Point {
	f := &t.Frames[i]
	at := flow.Point{PC: f.PC, Exact: f.Exact, CFA: f.CFA, Registers: f.Registers}
	if depth > 0 && i+1 < len(t.Frames) && t.Frames[i+1].User && !f.Guess &&
		!t.Frames[i+1].Guess {
		at.Arg = func(n int) (uint64, bool) { return p.argument(t, i+1, n, depth-1) }
	}
	return at
}

// Argument returns integer argument n of the call in frame i. It follows values through the whole function and
// its callers.
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

// point is a position in a function, with cached facts about threads there.
type point struct {
	behind   map[string]bool    // by family: a call that takes a lock of it may precede
	taken    map[string]*taken  // by family: the calls before that may take a lock of it
	held     map[string]holding // by the effects of the calls on one lock
	branches [2]*flow.Witnesses // without and with variables in memory; nil before the first use
	ahead    map[int]*ahead     // by the number of the thread; anyNumber for all
}

// anyNumber stands for all numbers of a thread in its team.
const anyNumber = -1

// maxNumbers bounds the numbers of threads for which the code after one point is followed. Threads with other numbers
// count as those that may take both sides of a branch on the number.
const maxNumbers = 64

// ahead contains the facts about the code after a point.
type ahead struct {
	releases families   // families of locks that it may release
	asked    bool       // releases is set
	opened   [2]*opened // for a frame that called a function of the program, and for one that did not
}

// aheadBy returns the facts about the code after the point, for threads with a number.
func (pt *point) aheadBy(number int) *ahead {
	a := pt.ahead[number]
	if a == nil {
		if pt.ahead == nil {
			pt.ahead = map[int]*ahead{}
		}
		a = &ahead{}
		pt.ahead[number] = a
	}
	return a
}

// numberIn returns the number of a frame's thread in its team, if the code of f depends on it; else anyNumber. Code of
// a serialized region, in which each number is 0, may be part of a function.
func (f *function) numberIn(fr *Frame) int {
	dependent := func(name string) bool { _, ok := rtl.ResultByNumber(name, 0); return ok }
	if !fr.Numbered || fr.Number < 0 || fr.Number >= maxNumbers || !f.flow.MayCall(dependent) ||
		f.flow.MayCall(rtl.StartsSerialized) {
		return anyNumber
	}
	return fr.Number
}

// takenBy returns p without the branches that a thread with a number does not take.
func (f *function) takenBy(number int, p flow.Paths) flow.Paths {
	if number == anyNumber {
		return p
	}
	return p.Returning(f.flow, func(s flow.CallSite) (uint64, bool) {
		return rtl.ResultByNumber(s.Name, uint64(number))
	})
}

// pointAt returns the position of a frame in f.
func (f *function) pointAt(fr *Frame) *point {
	at := place{fr.PC, fr.Exact}
	pt := f.points[at]
	if pt == nil {
		pt = &point{behind: map[string]bool{}, taken: map[string]*taken{}, held: map[string]holding{}}
		f.points[at] = pt
	}
	return pt
}

// MayRelease reports whether a thread may reach a call that releases a lock of a family, or wakes a thread that
// waits for it. It returns true if this cannot be excluded: if a call leads to unknown code, or if the stack is
// incomplete.
func (p *Program) MayRelease(t *Thread, family string) bool {
	if !t.Whole {
		return true
	}
	set := familySet(family)
	// On most stacks of large programs, single instructions of one frame already show that it may.
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

// MayReturn reports whether a thread may return from all functions of the program on its stack. It returns true if this
// cannot be excluded.
func (p *Program) MayReturn(t *Thread) bool {
	return !t.Whole || !slices.ContainsFunc(t.Frames, func(fr Frame) bool {
		f := p.functionAt(fr.lookup())
		if !fr.User || f == nil {
			return false
		}
		from, ok := flow.AheadOf(f.flow, flow.Point{PC: fr.PC, Exact: fr.Exact})
		if !ok {
			return false
		}
		_, returns := from.Reach(flow.Paths{})
		return !returns
	})
}

// releasesFrom returns the families of locks that a frame may release before it returns, not counting the frames
// that it has called.
func (p *Program) releasesFrom(fr *Frame) families {
	switch p.classAt(fr.lookup()) {
	case Opaque:
		return ofThreads
	case Interpreter:
		return allFamilies
	}
	f := p.functionAt(fr.lookup())
	if f == nil {
		return allFamilies
	}
	out := p.releasesBy(f, fr, anyNumber)
	if out == 0 {
		return 0
	}
	if number := f.numberIn(fr); number != anyNumber {
		out = p.releasesBy(f, fr, number)
	}
	return out
}

// releasesBy returns the families of locks that a frame in f may release before it returns, in a thread with a number.
func (p *Program) releasesBy(f *function, fr *Frame, number int) families {
	pt := f.pointAt(fr).aheadBy(number)
	if pt.asked {
		return pt.releases
	}
	pt.asked = true
	if known := p.plainOf(f); known.ok {
		if may, _ := known.possibleReleases(p.releases.SummaryOf); may == 0 {
			return 0
		}
	}
	at := flow.Point{PC: fr.PC, Exact: fr.Exact}
	if p.callsByMemoryFrom(fr) {
		pt.releases = allFamilies
		return pt.releases
	}
	sites := p.sitesOf(f)
	if s, ok := f.flow.SiteAt(at); ok { // it may be doing so now
		switch c := sites[s.Index]; c.kind {
		case calleeListed:
			pt.releases |= listedReleases(c.call)
		case calleeLockLike:
			pt.releases |= ofThreads
		}
	}
	untaken := f.untaken(at, number)
	for _, s := range f.flow.SitesAfter(at) {
		if untaken == nil || !untaken[s.Index] {
			pt.releases |= releasesOf(&sites[s.Index], p.releases.SummaryOf)
		}
	}
	return pt.releases
}

// untaken returns the calls after a point, by index, that only threads with other numbers reach; nil for anyNumber.
func (f *function) untaken(at flow.Point, number int) []bool {
	from, ok := flow.AheadOf(f.flow, at)
	if number == anyNumber || !ok {
		return nil
	}
	all, _ := from.Reach(flow.Paths{})
	out, _ := from.Reach(f.takenBy(number, flow.Paths{}))
	for i := range out {
		out[i] = all[i] && !out[i]
	}
	return out
}

// callsByMemoryFrom reports whether a frame may reach a call through a pointer in memory before it returns.
func (p *Program) callsByMemoryFrom(fr *Frame) bool {
	switch p.classAt(fr.lookup()) {
	case Opaque:
		return false
	case Interpreter:
		return true
	}
	f := p.functionAt(fr.lookup())
	return f != nil && f.flow.CallsByMemoryAfter(flow.Point{PC: fr.PC, Exact: fr.Exact})
}

// NamesLocks reports whether a function on a thread's stack may come to a call on locks of a family, without calls
// through pointers that are unknown.
func (p *Program) NamesLocks(t *Thread, family string) bool {
	return slices.ContainsFunc(t.Frames, func(fr Frame) bool {
		if !fr.User || p.isUnfollowed(fr.lookup()) {
			return false
		}
		f := p.functionAt(fr.lookup())
		return f == nil || p.reaches.SummaryOf(f.entry).locks&familySet(family) != 0
	})
}

// HandlersUse reports whether a function on a thread's stack, or one that it calls, sets a handler of a signal that
// comes to a call on locks of a family.
func (p *Program) HandlersUse(t *Thread, family string) bool {
	return slices.ContainsFunc(t.Frames, func(fr Frame) bool {
		f := p.frameFunction(&fr)
		return f != nil && p.reaches.SummaryOf(f.entry).handled&familySet(family) != 0
	})
}

// FunctionMayRelease reports whether the function that starts at entry may release a lock of a family.
func (p *Program) FunctionMayRelease(entry uint64, family string) bool {
	return p.releases.SummaryOf(entry)&familySet(family) != 0
}

// maxEventCallees bounds the functions that are searched for the creation of events.
const maxEventCallees = 256

// EventCalls returns the return addresses of the calls that create events of detached tasks, in the first function on a
// thread's stack that has such calls; empty if none has.
func (p *Program) EventCalls(t *Thread) []uint64 {
	for i := range t.Frames {
		if calls := p.eventCalls(p.frameFunction(&t.Frames[i])); len(calls) > 0 {
			return calls
		}
	}
	return nil
}

// FunctionEventCalls returns the same calls of the function that starts at entry, or of one that it calls. It follows
// direct calls only.
func (p *Program) FunctionEventCalls(entry uint64) []uint64 {
	todo, seen := []uint64{entry}, map[uint64]bool{entry: true}
	for len(todo) > 0 {
		f := p.userFunction(todo[0])
		todo = todo[1:]
		if f == nil {
			continue
		}
		if calls := p.eventCalls(f); len(calls) > 0 {
			return calls
		}
		for _, s := range p.sitesOf(f) {
			if s.entry != 0 && !seen[s.entry] && len(seen) < maxEventCallees {
				seen[s.entry] = true
				todo = append(todo, s.entry)
			}
		}
	}
	return nil
}

// userFunction returns the function of the program around pc; nil if it is another's, or its code is unreadable.
func (p *Program) userFunction(pc uint64) *function {
	if p.classAt(pc) != User {
		return nil
	}
	return p.functionAt(pc)
}

// frameFunction returns the function of the program that a frame is in, nil for other code.
func (p *Program) frameFunction(fr *Frame) *function {
	if !fr.User {
		return nil
	}
	return p.userFunction(fr.lookup())
}

func (p *Program) eventCalls(f *function) (calls []uint64) {
	if f == nil {
		return nil
	}
	for _, s := range p.sitesOf(f) {
		if rtl.MakesEvent(s.Name) {
			calls = append(calls, s.Return)
		}
	}
	return calls
}

// classAt returns the class of the code at pc.
func (p *Program) classAt(pc uint64) Class { return p.cfg.Code.Class(pc) }

// isUnfollowed reports whether the code at pc is not followed, whatever class has its callees.
func (p *Program) isUnfollowed(pc uint64) bool {
	c := p.classAt(pc)
	return c == Opaque || c == Interpreter
}

// EnteredWith returns integer argument n of the call that entered the function of frame i. It uses the registers
// and the stack of the frame, its callers, and the function that it passed the argument to.
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

// agreeing is the number of arguments that must agree between a calling frame and the next frame to prove that
// the latter is the callee: after a tail call, it is another function.
const agreeing = 2

// handsOn reports whether frame i-1 is in the function that frame i called, by the arguments known in both.
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

// registerArgs is the number of integer arguments in registers on x86-64.
const registerArgs = 6
