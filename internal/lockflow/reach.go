package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Most functions of a program have no effect on locks, nor do their callees. Looking at their instructions one
// by one proves that. Following their values would take tens of times as long.

// outline contains the facts about a function that single instructions show, without following values.
type outline struct {
	known      bool     // if false, the other fields are unset
	calls      []site   // calls with a callee in the instruction, each once
	functions  []uint64 // addresses of functions of the program that it may pass to other functions
	named      []site   // other functions with addresses in memory that it may read
	byMemory   []uint64 // calls through pointers in memory
	byRegister bool     // it calls, or jumps to, the address in a register
	indirect   bool     // has an unresolved indirect jump: facts may not hold on every path
}

// outlineOf returns the outline of f.
func (p *Program) outlineOf(f *function) *outline {
	if f.outline != nil {
		return f.outline
	}
	out := &outline{indirect: f.flow.Indirect}
	f.outline = out
	o, ok := f.flow.Outline()
	if !ok {
		return out
	}
	out.known, out.byMemory, out.byRegister = true, o.ByMemory, o.ByRegister
	for _, t := range o.Calls {
		out.calls = append(out.calls, p.site(flow.CallSite{Target: t}))
	}
	for _, n := range o.Numbers {
		if p.BeginsFunction(n) {
			out.functions = append(out.functions, n)
		}
		if !o.ByRegister {
			continue
		}
		if t, ok := p.cfg.Code.Resolve(n); ok { // a register may be loaded from there
			t.Slot = n
			out.named = append(out.named, p.site(flow.CallSite{Target: t}))
		}
	}
	return out
}

// isComplete reports whether single instructions show the callee of each call. They do not show that of a call through
// a pointer in a variable.
func (o *outline) isComplete() bool {
	unknown := func(s site) bool { return s.kind == calleeUnknown && s.Slot != 0 }
	return o.known && !o.indirect && !o.byRegister && len(o.byMemory) == 0 && !slices.ContainsFunc(o.calls, unknown)
}

// namesAll reports whether single instructions show the callee of each call, and no function is passed on: the calls
// are those of Sites, apart from recursive ones.
func (o *outline) namesAll() bool {
	return o.known && !o.byRegister && len(o.byMemory) == 0 && len(o.functions) == 0
}

// callsUnknown reports whether single instructions show that f calls a function that its values do not show.
func (p *Program) callsUnknown(f *function) bool {
	o := p.outlineOf(f)
	return len(o.byMemory) > 0 || o.byRegister && f.flow.CallsLoaded()
}

// callsOf returns the calls of f with their callees. It follows the values of f only if single instructions do not
// show all callees. The calls have arguments only then.
func (p *Program) callsOf(f *function) []site {
	if o := p.outlineOf(f); o.namesAll() {
		return o.calls
	}
	return p.sitesOf(f)
}

// isDirect reports whether calls contains all calls with a callee that can be known.
func (o *outline) isDirect() bool {
	return o.known && (!o.byRegister || len(o.functions) == 0 && len(o.named) == 0)
}

// reach summarizes the possible effects of a function and its callees.
type reach struct {
	locks  families // families for which it may call a function with a known effect
	may    families // families on which it may have an unknown effect
	surely families // families on which it has an unknown effect, whatever its values are
	// handled are families that functions use whose addresses it has where it sets handlers of signals.
	handled families
}

// settles reports whether r is a complete answer for a family: no function has a known effect on a lock of it, and
// following values adds no fact.
func (r reach) settles(family families) bool {
	return r.locks&family == 0 && (r.may^r.surely)&family == 0
}

// mayReach returns the functions that the reach of the function at entry depends on.
func mayReach(p *Program, entry uint64) []uint64 {
	f := p.codeFrom(entry)
	if f == nil {
		return nil
	}
	o := p.outlineOf(f)
	return append(o.followed(), o.functions...)
}

// followed returns the functions of the program that the calls in the outline lead to.
func (o *outline) followed() []uint64 {
	var out []uint64
	for _, list := range [][]site{o.calls, o.named} {
		for i := range list {
			if list[i].kind == calleeFollowed {
				out = append(out, list[i].entry)
			}
		}
	}
	return out
}

// computeReach computes the reach of a function, given the reach of its possible callees.
func computeReach(p *Program, entry uint64, callee func(entry uint64) reach) reach {
	f := p.codeFrom(entry)
	if f == nil {
		return reach{may: allFamilies, surely: allFamilies}
	}
	o := p.outlineOf(f)
	if !o.known {
		return reach{locks: allFamilies, may: allFamilies}
	}
	var out reach
	sets := false
	for i := range o.calls {
		out = out.union(reachOf(&o.calls[i], callee))
		sets = sets || rtl.SetsHandler(o.calls[i].Name)
	}
	for i := range o.named {
		r := reachOf(&o.named[i], callee)
		out.locks, out.may = out.locks|r.locks, out.may|r.may
	}
	for _, entry := range o.functions {
		r := callee(entry)
		out.locks, out.may = out.locks|r.locks, out.may|r.may|r.locks
		if sets {
			out.handled |= r.locks
		}
	}
	if o.indirect || len(o.byMemory) > 0 {
		out.may, out.surely = allFamilies, allFamilies
	}
	if o.byRegister {
		out.may = allFamilies
		if o.isDirect() || f.flow.CallsLoaded() {
			out.surely = allFamilies
		}
	}
	return out
}

// union returns the reach of a function with the effects of both.
func (r reach) union(o reach) reach {
	return reach{r.locks | o.locks, r.may | o.may, r.surely | o.surely, r.handled | o.handled}
}

// reachOf returns the reach of the call at s.
func reachOf(s *site, callee func(entry uint64) reach) reach {
	switch s.kind {
	case calleeUnknown:
		if _, ok := rtl.RunsArgument(s.Name); ok && s.Args == nil { // values may show the function
			return reach{may: allFamilies}
		}
		return reach{may: allFamilies, surely: allFamilies}
	case calleeListed:
		if s.call.Lends || s.call.Family == rtl.FamilyStatic { // a function ends the initializations that it starts
			return reach{}
		}
		return reach{locks: familySet(s.call.Family)}
	case calleeLockLike:
		return reach{may: ofThreads, surely: ofThreads}
	case calleeFollowed:
		return callee(s.entry)
	}
	return reach{}
}
