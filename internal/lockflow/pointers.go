package lockflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// maxPointers bounds the calls through pointers that are followed in one frame.
const maxPointers = 64

// pointerCalls returns the calls of f, by their index, whose callee only a frame can tell: through
// pointers in variables, and virtual ones.
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

// follow finds what the calls through pointers of c's function lead to in its frame, by the
// values that they have there, and what they do with locks. The pointers may have been others when
// the calls were made, so they stay calls that may do more than is known.
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
		if g := p.functionAt(s.entry); s.kind == calleeFollowed && g != nil && OfOpenMP(c.family) && isApart(p, g) {
			continue // it does nothing that is known
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

// pointsTo returns the call of a frame with the function that its pointer points to.
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

// siteAt returns the call of the frame at an index, with its callee as far as that is known.
func (c *candidate) siteAt(index int) *site {
	if s, ok := c.through[index]; ok {
		return &s
	}
	return &c.f.sites[index]
}

// nameCallees returns the calls with the callees that the frame tells.
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
