package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// taken contains the calls by which a function came to a point, as far as they may take locks of one family.
type taken struct {
	known      bool  // if false, the other fields are unset
	before     bool  // a call before the point may take a lock
	unfinished *site // the unfinished call if its callee is known
}

// mayHaveTaken reports whether a call of f, by which frame i of t came to its point, may take a lock of a family. The
// calls after the point are not summarized: main and the functions below it have most of their calls still before them,
// and what these reach is most of a program. It returns true if the calls cannot be known.
func (p *Program) mayHaveTaken(t *Thread, i int, f *function, family string) bool {
	pt := f.pointAt(&t.Frames[i])
	k := pt.taken[family]
	if k == nil {
		k = p.takenBefore(f, &t.Frames[i], family)
		pt.taken[family] = k
	}
	if !k.known || k.before {
		return true
	}
	// A callee with a frame of its own is judged by that frame.
	return k.unfinished != nil && !p.isCalled(t, i, k.unfinished.entry) && p.mayTake(k.unfinished, family)
}

// takenBefore returns the calls of f by which a frame came to its point.
func (p *Program) takenBefore(f *function, fr *Frame, family string) *taken {
	passed, ok := f.flow.PassedBefore(flow.Point{PC: fr.PC, Exact: fr.Exact})
	if !ok {
		return &taken{}
	}
	out := &taken{known: true}
	out.before = slices.ContainsFunc(passed.Before, func(c flow.Call) bool {
		s := p.site(flow.CallSite{Target: c.Target})
		return p.mayTake(&s, family)
	})
	if passed.Unfinished.PC != 0 {
		s := p.site(flow.CallSite{Target: passed.Unfinished.Target})
		out.unfinished = &s
	}
	return out
}

// isCalled reports whether the frame that frame i of t has called is in the function at entry.
func (p *Program) isCalled(t *Thread, i int, entry uint64) bool {
	if i == 0 || !t.Frames[i-1].User {
		return false
	}
	f := p.functionAt(t.Frames[i-1].lookup())
	return f != nil && f.entry == entry
}

// mayTake reports whether the call at s may take a lock of a family.
func (p *Program) mayTake(s *site, family string) bool {
	if s.takes(p.takes.SummaryOf)&familySet(family) == 0 {
		return false
	}
	return slices.ContainsFunc(p.effectsOf(s, effectsOn(p, family)).list, func(e effect) bool {
		return e.family == family && e.does.MaySets()
	})
}

// takes returns the families of locks that the call at s may take, given those of its callees.
func (s *site) takes(callee func(entry uint64) families) families {
	switch s.kind {
	case calleeListed:
		if !s.call.Lends && listedEffect(s.call).MaySets() {
			return familySet(s.call.Family)
		}
	case calleeFollowed:
		return callee(s.entry)
	}
	return 0
}

// callsFunctions reports whether the function may itself call the functions that its code contains addresses of.
// Otherwise it only passes them to others, as the code of a parallel region: they run at an unknown time.
func (o *outline) callsFunctions() bool { return o.byRegister || len(o.byMemory) > 0 }

// takingCallees returns the functions of the program that the function at entry may call, without following values.
func takingCallees(p *Program, entry uint64) []uint64 {
	f := p.codeFrom(entry)
	if f == nil {
		return nil
	}
	o := p.outlineOf(f)
	out := o.followed()
	if o.callsFunctions() {
		out = append(out, o.functions...)
	}
	return out
}

// computeTakes returns the families of locks that a function may take, itself or in its callees, given those of its
// callees.
func computeTakes(p *Program, entry uint64, callee func(entry uint64) families) families {
	f := p.codeFrom(entry)
	if f == nil {
		return 0 // it has no known effect
	}
	o := p.outlineOf(f)
	if !o.known {
		return allFamilies
	}
	var out families
	for _, list := range [][]site{o.calls, o.named} {
		for i := range list {
			out |= list[i].takes(callee)
		}
	}
	if o.callsFunctions() {
		for _, entry := range o.functions {
			out |= callee(entry)
		}
	}
	return out
}
