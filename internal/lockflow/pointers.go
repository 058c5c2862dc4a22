package lockflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// maxPointers bounds the calls through pointers that are resolved in one frame.
const maxPointers = 64

// pointerCalls returns the indexes of the calls of f that can be resolved only in a frame: calls through
// pointers in variables, and virtual calls.
func (p *Program) pointerCalls(f *function) []int {
	if f.pointers == nil {
		f.pointers = []int{}
		if p.outlineOf(f).isComplete() {
			return f.pointers
		}
		for i, s := range p.sitesOf(f) {
			if s.kind == calleeUnknown && s.To != nil && len(f.pointers) < maxPointers {
				f.pointers = append(f.pointers, i)
			}
		}
	}
	return f.pointers
}

// follow resolves the calls through pointers in c's function with the current values of its frame, and adds
// their effects on locks. The pointers may have had other values when the calls were made, so these calls keep
// their unknown effects.
func (c *candidate) follow(p *Program) {
	calls := p.pointerCalls(c.f)
	if len(calls) == 0 {
		return
	}
	underWay, isCall := c.f.flow.SiteAt(c.at)
	sites := *c.sites
	sites.effects, sites.site = slices.Clip(sites.effects), slices.Clip(sites.site)
	var through strings.Builder
	for _, i := range calls {
		call := c.f.sites[i].CallSite
		if isCall && i == underWay.Index {
			call = underWay
		}
		s, ok := p.pointsTo(c.f, call, c.at)
		if !ok {
			continue
		}
		if c.through == nil {
			c.through = map[int]site{}
		}
		c.through[i] = s
		fmt.Fprintf(&through, " %d:%x", i, s.Target.Entry)
		if g := p.codeFrom(s.entry); s.kind == calleeFollowed && g != nil && OfOpenMP(c.family) && isApart(p, g) {
			continue // it has no known effects
		}
		for _, e := range p.effectsOf(&s, effectsOn(p, c.family)).list {
			if e.family == c.family {
				sites.effects, sites.site = append(sites.effects, e), append(sites.site, i)
				sites.takes = sites.takes || e.does.MaySets()
			}
		}
	}
	c.sites, c.key = &sites, through.String()
}

// pointsTo returns the call with the callee that its pointer currently points to.
func (p *Program) pointsTo(f *function, call flow.CallSite, at flow.Point) (site, bool) {
	entry, _, ok := f.flow.Value(call, call.To, at)
	if !ok {
		return site{}, false
	}
	call.Entry, call.UnderWay = entry, false
	t, named := p.cfg.Code.Resolve(entry)
	if call.Name = t.Name; !named && !p.BeginsFunction(entry) {
		return site{}, false
	}
	return p.site(call), true
}

// siteAt returns the call of the frame with an index, with its callee if that is known.
func (c *candidate) siteAt(index int) *site {
	if s, ok := c.through[index]; ok {
		return &s
	}
	return &c.f.sites[index]
}

// nameCallees returns the calls with the callees resolved in the frame.
func (c *candidate) nameCallees(calls []flow.CallSite) []flow.CallSite {
	if len(c.through) == 0 {
		return calls
	}
	out := slices.Clone(calls)
	for i := range out {
		out[i] = c.siteAt(out[i].Index).CallSite
	}
	return out
}

// throughVariable returns the call s with the callee that its pointer leads to now, if it calls through a pointer in a
// variable. The result is part of summaries, which Retarget discards when the pointer has another value.
func (p *Program) throughVariable(s *site) site {
	if s.kind != calleeUnknown || s.Slot == 0 || s.Name != "" || s.Entry != 0 {
		return *s
	}
	entry, ok := p.AddressIn(s.Slot)
	if !ok {
		return *s
	}
	p.variables[s.Slot] = entry
	t, named := p.cfg.Code.Resolve(entry)
	if !named && !p.BeginsFunction(entry) {
		return *s
	}
	call := s.CallSite
	call.Entry, call.Name = entry, t.Name
	return p.site(call)
}

// haveChanged reports whether a pointer on which a summary depends has another value, or cannot be read.
func (p *Program) haveChanged() bool {
	for slot, entry := range p.variables {
		if now, ok := p.AddressIn(slot); !ok || now != entry {
			return true
		}
	}
	return false
}

// Callee returns the name of the function that frame i called through a pointer, by the pointer's current value.
func (p *Program) Callee(t *Thread, i int) (string, bool) {
	f := p.frameFunction(&t.Frames[i])
	if f == nil {
		return "", false
	}
	at := p.PointOf(t, i)
	s, ok := f.flow.SiteAt(at)
	if !ok || s.To == nil {
		return "", false
	}
	to, ok := p.pointsTo(f, s, at)
	return to.Name, ok && to.Name != ""
}
