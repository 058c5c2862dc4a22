package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// function is a function of the program with cached facts about its code.
type function struct {
	entry   uint64
	flow    *flow.Function
	sites   []site // by index in the flow; nil before the first use
	points  map[place]*point
	locks   map[string]*familySites
	outline *outline
	plain   *plain
	entered []uint64 // places inside that other code jumps to
	apart   *plain   // the same for code that cannot name an OpenMP lock
	// pointers are the indexes of the calls through pointers; nil before the first use.
	pointers []int
}

// plain summarizes a function without following its values: it makes no direct call of a lock function.
type plain struct {
	ok       bool     // if false, the other fields are unset
	followed []uint64 // functions of the program that it calls
	passed   []uint64 // those that it may pass to its callees
	releases families // families of locks that its other calls may release
}

// plainOf summarizes f without following its values.
func (p *Program) plainOf(f *function) *plain {
	if f.plain != nil {
		return f.plain
	}
	f.plain = &plain{}
	o := p.outlineOf(f)
	if !o.isComplete() {
		return f.plain
	}
	out := plain{passed: o.functions}
	for _, s := range o.calls {
		switch s.kind {
		case calleeHarmless:
		case calleeOpaque:
			out.releases |= ofThreads
		case calleeFollowed:
			out.followed = append(out.followed, s.entry)
		default:
			return f.plain
		}
	}
	out.ok = true
	f.plain = &out
	return f.plain
}

// isWithout reports whether a function is plain, and some property is false for all functions that it calls, and
// another one for all that it may pass to its callees.
func (known *plain) isWithout(followed, passed func(entry uint64) bool) bool {
	return known.ok && !slices.ContainsFunc(known.followed, followed) && !slices.ContainsFunc(known.passed, passed)
}

// possibleReleases returns the families of locks that a plain function may release. The result is exact if it is
// empty, or if the function passes no function to its callees.
func (known *plain) possibleReleases(callee func(entry uint64) families) (out families, exact bool) {
	out = known.releases
	for _, entry := range known.followed {
		out |= callee(entry)
	}
	for _, entry := range known.passed {
		out |= callee(entry)
	}
	return out, out == 0 || len(known.passed) == 0
}

// isLockless reports whether f and its callees are known, without following values, to have no effect on locks.
func (p *Program) isLockless(f *function, callee func(entry uint64) effects) bool {
	has := func(entry uint64) bool {
		sum := callee(entry)
		return len(sum.list) > 0 || sum.unclean != 0
	}
	return p.plainOf(f).isWithout(has, has)
}

// place is the position of a frame: at an instruction if exact is set, otherwise after an unfinished call.
type place struct {
	pc    uint64
	exact bool
}

// site is a call site and its callee.
type site struct {
	flow.CallSite
	call      rtl.LockCall
	kind      calleeKind
	entry     uint64   // of the callee; 0 if unknown
	callbacks []uint64 // functions of the program passed to the callee
}

// calleeKind classifies callees by what they may do.
type calleeKind uint8

const (
	calleeUnknown  calleeKind = iota // may do anything
	calleeListed                     // has the effects listed by rtl.LockCallOf
	calleeFollowed                   // has the effects of its summary
	calleeOpaque                     // calls back only functions passed to it
	calleeHarmless                   // the same, and has no effect on locks of the program or of threads
	calleeLockLike                   // has unknown effects on locks of threads
)

// mayEnter reports whether the code of a function from entry on is analysed separately.
func (p *Program) mayEnter(f *function, entry uint64) bool {
	if !slices.Contains(f.entered, entry) && len(f.entered) < maxEntries {
		f.entered = append(f.entered, entry)
	}
	return slices.Contains(f.entered, entry)
}

// maxEntries bounds the places in one function at which it is entered by jumps from elsewhere. For further ones, the
// whole function is analysed.
const maxEntries = 32

// FlowAt returns the flow of the function around pc; nil if its code is unreadable.
func (p *Program) FlowAt(pc uint64) *flow.Function {
	f := p.functionAt(pc)
	if f == nil {
		return nil
	}
	return f.flow
}

// sitesOf lists the call sites of f with their callees.
func (p *Program) sitesOf(f *function) []site {
	if f.sites != nil {
		return f.sites
	}
	sites := f.flow.Sites()
	f.sites = make([]site, 0, len(sites))
	for _, s := range sites {
		f.sites = append(f.sites, p.site(s))
	}
	return f.sites
}

// site resolves the callee of a call site.
func (p *Program) site(s flow.CallSite) site {
	out := site{CallSite: s}
	if c, ok := rtl.LockCallOf(s.Name); ok {
		out.call, out.kind = c, calleeListed
		return out
	}
	for _, a := range s.Args {
		if addr, ok := a.Address(); ok && p.BeginsFunction(addr) {
			out.callbacks = append(out.callbacks, addr)
		}
	}
	out.entry = p.Entry(s)
	out.kind = p.calleeKind(s.Name, out.entry)
	if n, ok := rtl.RunsArgument(s.Name); ok && out.kind == calleeHarmless && !p.handsFunction(s, n) {
		out.kind = calleeUnknown
	}
	return out
}

// handsFunction reports whether an argument of a call is known to be a function of the program.
func (p *Program) handsFunction(s flow.CallSite, arg int) bool {
	if arg >= len(s.Args) {
		return false
	}
	addr, ok := s.Args[arg].Address()
	return ok && p.BeginsFunction(addr)
}

func (p *Program) calleeKind(name string, entry uint64) calleeKind {
	switch {
	case rtl.OpaqueCall(name):
		return calleeOpaque
	case rtl.SwitchesStack(name), rtl.RunsObject(name): // the code of a fiber, or of a thread
		return calleeUnknown
	case rtl.Instrumentation(name), rtl.InterpreterLockCall(name):
		return calleeHarmless
	case entry == 0 && name == "":
		return calleeUnknown
	case entry == 0 && !rtl.LockLike(name): // an undefined symbol is never called
		return calleeHarmless
	}
	switch p.cfg.Code.Class(entry) {
	case User:
		return calleeFollowed
	case Opaque:
		return calleeOpaque
	case Interpreter:
		return calleeUnknown
	case Unmapped:
		if entry != 0 {
			return calleeUnknown
		}
	}
	if rtl.LockLike(name) {
		return calleeLockLike
	}
	return calleeHarmless
}

// Entry returns the function that a call leads to, 0 if unknown. The call may go through a stub with another
// name.
func (p *Program) Entry(s flow.CallSite) uint64 {
	if s.Name == "" {
		return s.Entry
	}
	if s.Entry != 0 {
		if t, ok := p.cfg.Code.Resolve(s.Entry); ok && t.Name == s.Name {
			return s.Entry
		}
	}
	entry, known := p.entries[s.Name]
	if !known {
		entry, _ = p.cfg.Code.Lookup(s.Name)
		p.entries[s.Name] = entry
	}
	return entry
}

// BeginsFunction reports whether a function of the program starts at addr.
func (p *Program) BeginsFunction(addr uint64) bool {
	if p.cfg.Code.Class(addr) != User {
		return false
	}
	entry, ok := p.entryOf(addr)
	return ok && entry == addr
}

// calleesOf returns the functions of the program that the function at entry calls or passes to others. If it may pass
// on functions, its values are followed, which leaves out code that is never reached.
func (p *Program) calleesOf(entry uint64) []uint64 {
	f := p.codeFrom(entry)
	if f == nil {
		return nil
	}
	if o := p.outlineOf(f); o.isDirect() && len(o.functions) == 0 {
		return p.outlinedCallees(f)
	}
	var out []uint64
	for i := range p.sitesOf(f) {
		s := &f.sites[i]
		if s.kind == calleeFollowed {
			out = append(out, s.entry)
		}
		out = append(out, s.callbacks...)
	}
	return unique(out)
}

// possibleCalleesOf returns the functions that calleesOf returns, and perhaps others. It follows values only if single
// instructions do not show the calls.
func (p *Program) possibleCalleesOf(entry uint64) []uint64 {
	f := p.codeFrom(entry)
	if f == nil || !p.outlineOf(f).isDirect() {
		return p.calleesOf(entry)
	}
	return p.outlinedCallees(f)
}

// outlinedCallees returns the functions that the outline of f shows that it calls or may pass to others.
func (p *Program) outlinedCallees(f *function) []uint64 {
	o := p.outlineOf(f)
	var out []uint64
	for i := range o.calls {
		if o.calls[i].kind == calleeFollowed {
			out = append(out, o.calls[i].entry)
		}
	}
	return unique(append(out, o.functions...))
}

// unique returns the functions of a list in order, each once.
func unique(list []uint64) []uint64 {
	seen := make(map[uint64]bool, len(list))
	return slices.DeleteFunc(list, func(entry uint64) bool {
		again := seen[entry]
		seen[entry] = true
		return again
	})
}
