package lockflow

import "github.com/ompd-inspect/ompd-inspect/internal/code/flow"

// Most functions of a program have nothing to do with locks, and neither have the functions that they call. That is
// found by their instructions one by one, and their values are never followed: that takes tens of times as long.

// outline is what the instructions of a function tell one by one.
type outline struct {
	known      bool     // else nothing is
	calls      []site   // whose callees the instructions tell, each once
	functions  []uint64 // functions of the program whose addresses it may hand to others
	named      []site   // of other functions whose addresses are in memory that it may read
	byMemory   []uint64 // calls through pointers in memory
	byRegister bool     // it calls, or jumps to, what a register has
	indirect   bool     // what holds in it may not hold on every path
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
		if t, ok := p.cfg.Code.Resolve(n); ok { // what a register has may be from there
			t.Slot = n
			out.named = append(out.named, p.site(flow.CallSite{Target: t}))
		}
	}
	return out
}

// isComplete reports whether the instructions tell what each call leads to.
func (o *outline) isComplete() bool {
	return o.known && !o.indirect && !o.byRegister && len(o.byMemory) == 0
}

// isDirect reports whether all calls are known whose callees are.
func (o *outline) isDirect() bool {
	return o.known && (!o.byRegister || len(o.functions) == 0 && len(o.named) == 0)
}

// reach is what a function, and those that it may call, may come to.
type reach struct {
	locks  families // of which it may call functions that do something with locks
	may    families // of which it may do something that is not known
	surely families // of which it does something that is not known, whatever values are in it
}

// settles reports whether that is all that there is to know of a group of families: no function does something known
// with a lock of them.
func (r reach) settles(group families) bool { return r.locks&group == 0 && (r.may^r.surely)&group == 0 }

// mayReach returns the functions on which it depends what the one at entry may come to.
func mayReach(p *Program, entry uint64) []uint64 {
	f := p.functionAt(entry)
	if f == nil {
		return nil
	}
	o := p.outlineOf(f)
	out := append([]uint64(nil), o.functions...)
	for _, list := range [][]site{o.calls, o.named} {
		for i := range list {
			if list[i].kind == calleeFollowed {
				out = append(out, list[i].entry)
			}
		}
	}
	return out
}

// computeReach finds what a function may come to, given the same of those that it may call.
func computeReach(p *Program, entry uint64, callee func(entry uint64) reach) reach {
	f := p.functionAt(entry)
	if f == nil {
		return reach{may: allFamilies, surely: allFamilies}
	}
	o := p.outlineOf(f)
	if !o.known {
		return reach{locks: allFamilies, may: allFamilies}
	}
	var out reach
	for i := range o.calls {
		out = out.union(reachOf(&o.calls[i], callee))
	}
	for i := range o.named {
		r := reachOf(&o.named[i], callee)
		out.locks, out.may = out.locks|r.locks, out.may|r.may
	}
	for _, entry := range o.functions {
		r := callee(entry)
		out.locks, out.may = out.locks|r.locks, out.may|r.may|r.locks
	}
	if o.indirect || len(o.byMemory) > 0 {
		out.may, out.surely = allFamilies, allFamilies
	}
	if o.byRegister {
		out.may = allFamilies
		if o.isDirect() {
			out.surely = allFamilies
		}
	}
	return out
}

// union returns what a function may come to that does both.
func (r reach) union(o reach) reach {
	return reach{r.locks | o.locks, r.may | o.may, r.surely | o.surely}
}

// reachOf is what the call at s may come to.
func reachOf(s *site, callee func(entry uint64) reach) reach {
	switch s.kind {
	case calleeUnknown:
		return reach{may: allFamilies, surely: allFamilies}
	case calleeListed:
		if s.call.Lends {
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
