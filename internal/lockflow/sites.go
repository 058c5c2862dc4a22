package lockflow

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// function is a function of the program, and what its code told.
type function struct {
	entry   uint64
	flow    *flow.Function
	sites   []site // by their index in the flow; nil until they are asked for
	points  map[place]*point
	locks   map[string]*familySites
	outline *outline
	plain   *plain
	apart   *plain // the same of code that can name no lock of OpenMP
	// pointers are the calls through pointers, by their index; nil before they are looked for.
	pointers []int
}

// plain is what is known of a function without following its values: that it calls nothing
// that has to do with locks by itself, or hands functions on.
type plain struct {
	ok       bool     // else nothing is known
	followed []uint64 // functions of the program that it calls
	releases families // of which its other calls may give something back
}

// plainOf is what is known of f without following its values.
func (p *Program) plainOf(f *function) *plain {
	if f.plain != nil {
		return f.plain
	}
	f.plain = &plain{}
	o := p.outlineOf(f)
	if !o.isComplete() || len(o.functions) > 0 {
		return f.plain
	}
	var out plain
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

// possibleReleases returns the families of which a plain function may give something back.
func (known *plain) possibleReleases(callee func(entry uint64) families) families {
	out := known.releases
	for _, entry := range known.followed {
		out |= callee(entry)
	}
	return out
}

// isLockless reports whether neither f nor what it calls does anything with locks, as far as
// that is known without following values.
func (p *Program) isLockless(f *function, callee func(entry uint64) effects) bool {
	known := p.plainOf(f)
	return known.ok && !slices.ContainsFunc(known.followed, func(entry uint64) bool {
		sum := callee(entry)
		return len(sum.list) > 0 || sum.unclean != 0
	})
}

// place is where a function is: at an instruction, or behind a call.
type place struct {
	pc    uint64
	exact bool
}

// site is a call site and what it leads to.
type site struct {
	flow.CallSite
	call      rtl.LockCall
	kind      calleeKind
	entry     uint64   // of the callee; 0 if it is not known
	callbacks []uint64 // functions of the program that the callee is handed
}

// calleeKind says what is known of a callee.
type calleeKind uint8

const (
	calleeUnknown  calleeKind = iota // it may do anything
	calleeListed                     // it does what rtl.LockCallOf says
	calleeFollowed                   // it does what its summary says
	calleeOpaque                     // it calls back only what it is handed
	calleeHarmless                   // the same, and no lock of the program or thread depends on it
	calleeLockLike                   // it does something with locks of threads, but what is not known
)

// functionAt returns the function around pc; nil if its code cannot be read.
func (p *Program) functionAt(pc uint64) *function {
	if f, ok := p.around[pc]; ok {
		return f
	}
	low, high, ok := p.cfg.Code.Bounds(pc)
	if !ok {
		p.around[pc] = nil
		return nil
	}
	f, known := p.functions[low]
	if !known {
		g, err := flow.New(p.flowConfig(), low, high)
		switch {
		case err == nil:
			f = &function{entry: low, flow: g, points: map[place]*point{}, locks: map[string]*familySites{}}
		case errors.Is(err, flow.ErrSpent):
			p.cut++
		}
		p.functions[low] = f
	}
	p.around[pc] = f
	return f
}

// FlowAt returns the flow of the function around pc; nil if its code cannot be read.
func (p *Program) FlowAt(pc uint64) *flow.Function {
	f := p.functionAt(pc)
	if f == nil {
		return nil
	}
	return f.flow
}

// sitesOf lists the call sites of f with what they lead to.
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

// site finds what a call site leads to.
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
	case rtl.Instrumentation(name):
		return calleeHarmless
	case entry == 0 && name == "":
		return calleeUnknown
	case entry == 0 && !rtl.LockLike(name): // a symbol that nobody defines is never called
		return calleeHarmless
	}
	switch p.cfg.Code.Class(entry) {
	case User:
		return calleeFollowed
	case Opaque:
		return calleeOpaque
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

// Entry returns the function that a call leads to, 0 if that is not known. A call may go through
// a stub, of which the name is not.
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

// BeginsFunction reports whether a function of the program begins at addr.
func (p *Program) BeginsFunction(addr uint64) bool {
	if p.cfg.Code.Class(addr) != User {
		return false
	}
	low, _, ok := p.cfg.Code.Bounds(addr)
	return ok && low == addr
}

// calleesOf returns the functions of the program that the one at entry calls, or hands to others.
func (p *Program) calleesOf(entry uint64) []uint64 {
	f := p.functionAt(entry)
	if f == nil {
		return nil
	}
	var out []uint64
	seen := map[uint64]bool{}
	add := func(entry uint64) {
		if !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	if o := p.outlineOf(f); o.isDirect() && len(o.functions) == 0 {
		for i := range o.calls {
			if o.calls[i].kind == calleeFollowed {
				add(o.calls[i].entry)
			}
		}
		return out
	}
	for i := range p.sitesOf(f) {
		s := &f.sites[i]
		if s.kind == calleeFollowed {
			add(s.entry)
		}
		for _, c := range s.callbacks {
			add(c)
		}
	}
	return out
}
