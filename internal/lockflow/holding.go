package lockflow

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// familySites is what the calls of a function do with locks of one family.
type familySites struct {
	effects []effect // of all calls
	site    []int    // index of the call of each effect
	unclean []bool   // by index of call: it may do more
	takes   bool     // one of them may take a lock
}

// familySites is what the calls of f do with locks of a family.
func (p *Program) familySites(f *function, family string) *familySites {
	if s := f.locks[family]; s != nil {
		return s
	}
	if p.isLockless(f, effectsOn(p, family)) {
		f.locks[family] = &familySites{}
		return f.locks[family]
	}
	sites := p.sitesOf(f)
	out := &familySites{unclean: make([]bool, len(sites))}
	for i := range sites {
		sum := p.effectsOf(&sites[i], effectsOn(p, family))
		out.unclean[i] = sum.unclean&familySet(family) != 0
		for _, e := range sum.list {
			if e.family != family {
				continue
			}
			out.effects = append(out.effects, e)
			out.site = append(out.site, i)
			out.takes = out.takes || e.does.MaySets()
		}
	}
	f.locks[family] = out
	return out
}

// newCandidate returns frame i of t if it may hold a lock of a family, else nil.
func (p *Program) newCandidate(t *Thread, i int, family string) *candidate {
	fr := &t.Frames[i]
	if p.classAt(fr.lookup()) == Opaque {
		return nil
	}
	f := p.functionAt(fr.lookup())
	if f == nil {
		return nil
	}
	if OfOpenMP(family) && isApart(p, f) && !p.takesByPointer(t, i, family, f) {
		return nil
	}
	sites := p.familySites(f, family)
	if len(p.pointerCalls(f)) > 0 {
		if c := p.frameOf(t, i, family, f); c.sites.takes {
			return c
		}
		return nil
	}
	if !sites.takes {
		return nil
	}
	if pt := f.pointAt(fr); pt.mayFollowAcquisition(f, fr, family, sites) {
		return p.frameOf(t, i, family, f)
	}
	return nil
}

// frameOf is frame i of t, in function f, and what the calls of f do with locks of a family.
func (p *Program) frameOf(t *Thread, i int, family string, f *function) *candidate {
	c := &candidate{
		thread: t, frame: i, family: family, f: f,
		sites: p.familySites(f, family), point: f.pointAt(&t.Frames[i]), at: p.PointOf(t, i),
	}
	c.follow(p)
	underWay, isCall := f.flow.SiteAt(c.at)
	for k, e := range c.sites.effects {
		s := f.sites[c.sites.site[k]].CallSite
		c.locks = append(c.locks, c.valueOf(s, e))
		if isCall && s.Index == underWay.Index {
			s.UnderWay = true
			if len(c.now) == 0 {
				c.first = k
			}
			c.now = append(c.now, c.valueOf(s, e))
		}
	}
	if len(c.now) > 0 && c.siteAt(underWay.Index).kind == calleeFollowed {
		c.callee = p.calleeFrame(c, c.siteAt(underWay.Index).entry)
	}
	return c
}

// takesByPointer reports whether frame i of t, in function f, has a call through a pointer that may take a lock of a
// family, by what the pointers point to.
func (p *Program) takesByPointer(t *Thread, i int, family string, f *function) bool {
	if len(p.pointerCalls(f)) == 0 {
		return false
	}
	c := &candidate{
		thread: t, frame: i, family: family, f: f, sites: &familySites{}, point: f.pointAt(&t.Frames[i]),
		at: p.PointOf(t, i),
	}
	c.follow(p)
	return c.sites.takes
}

// calleeFrame returns the frame that the call under way in c has; nil if there is none of the
// function at entry.
func (p *Program) calleeFrame(c *candidate, entry uint64) *candidate {
	if c.frame == 0 || !c.thread.Frames[c.frame-1].User {
		return nil
	}
	f := p.functionAt(c.thread.Frames[c.frame-1].lookup())
	if f == nil || f.entry != entry {
		return nil
	}
	return p.frameOf(c.thread, c.frame-1, c.family, f)
}

// mayFollowAcquisition reports whether a call that takes a lock of a family may have been made before
// a function comes to a point.
func (pt *point) mayFollowAcquisition(f *function, fr *Frame, family string, sites *familySites) bool {
	may, ok := pt.behind[family]
	if !ok {
		does := make([]flow.Effect, len(f.sites))
		for k, e := range sites.effects {
			if e.does.MaySets() {
				does[sites.site[k]] = flow.Unsure
			}
		}
		under := flow.NoEffect
		at := flow.Point{PC: fr.PC, Exact: fr.Exact}
		if s, is := f.flow.SiteAt(at); is && slices.Contains(sites.unsureSites(), s.Index) {
			under = flow.Unsure
		}
		truth, _ := f.flow.HoldsBy(at, does, under)
		may = truth != flow.No && truth != flow.Unreached
		pt.behind[family] = may
	}
	return may
}

// unsureSites lists the calls that may or may not take a lock.
func (s *familySites) unsureSites() []int {
	var out []int
	for k, e := range s.effects {
		if e.does == flow.Unsure || e.does == flow.MaySet {
			out = append(out, s.site[k])
		}
	}
	return out
}

// valueOf returns the address of the lock of an effect of the call at s.
func (c *candidate) valueOf(s flow.CallSite, e effect) value {
	if e.single {
		return value{single: true}
	}
	if e.lock == nil {
		return value{}
	}
	v, sure, known := c.f.flow.Value(s, e.lock, c.at)
	return value{address: v, sure: sure, known: known}
}

// holding is what the code shows of one lock at a point.
type holding struct {
	certainty Certainty
	taken     []flow.CallSite
	ok        bool
}

// holds reports whether the frame has a lock. First, calls that may do more than is known are
// taken for doing so.
func (c *candidate) holds(lock Lock) (Holder, bool) {
	does, unsure := c.match(c.locks, 0, lock)
	now, alsoUnsure := c.match(c.now, c.first, lock)
	under := c.effectUnderWay(now, lock)
	key := string(does) + "/" + string('0'+rune(under)) + c.key
	if unsure || alsoUnsure {
		key += "?"
	}
	h, ok := c.point.held[lock.Family+" "+key]
	if !ok {
		h = c.solve(does, under, unsure || alsoUnsure, "")
		c.point.held[lock.Family+" "+key] = h
	}
	if h.ok && h.certainty == Possible {
		h = c.holdingOnPaths(does, under, unsure || alsoUnsure, lock.Family+" "+key, h)
	}
	return Holder{Thread: c.thread, Frame: c.frame, Certainty: h.certainty, Taken: c.nameCallees(h.taken)}, h.ok
}

// holdingOnPaths is what the frame shows of a lock that it has on some paths, by the ways that it is known to
// have taken; h is what is known without these.
func (c *candidate) holdingOnPaths(does []byte, under flow.Effect, unsure bool, key string, h holding) holding {
	if c.point.branches == nil {
		c.point.branches = flow.WitnessesOf(c.f.flow, c.at)
	}
	ways := c.point.branches.Ways(c.at)
	if strings.Trim(ways, "?") == "" {
		return h
	}
	key += " " + ways
	out, ok := c.point.held[key]
	if !ok {
		out = c.solve(does, under, unsure, ways)
		c.point.held[key] = out
	}
	return out
}

// effectUnderWay is what the call under way has done to a lock that was held when it was made; now is
// what its effects do to it. A function that has not returned has come as far as its own frame.
func (c *candidate) effectUnderWay(now []byte, lock Lock) flow.Effect {
	under := flow.NoEffect
	for _, e := range now {
		under = under.Join(flow.Effect(e - '0'))
	}
	if c.callee == nil || under == flow.NoEffect {
		return under
	}
	switch c.callee.stillHolds(lock) {
	case flow.Yes:
		return flow.NoEffect
	case flow.No:
		return flow.Clears
	}
	return flow.Unsure
}

// stillHolds is whether a lock that was held when the function of the frame was called is held
// where the frame is.
func (c *candidate) stillHolds(lock Lock) flow.Truth {
	does, unsure := c.match(c.locks, 0, lock)
	now, alsoUnsure := c.match(c.now, c.first, lock)
	effects, under := c.effects(does, false), c.effectUnderWay(now, lock)
	if unsure || alsoUnsure { // they may be on another lock: then they do nothing to this one
		for i := range effects {
			effects[i] = effects[i].Perhaps()
		}
		under = under.Perhaps()
	}
	return c.f.flow.StillHolds(c.at, effects, under)
}

// match is what effects, of which the first is given by its index, do to one lock, as one byte
// each, where locks are the addresses of theirs. unsure is set if an address that is the
// lock's was read from memory that may have changed.
func (c *candidate) match(locks []value, first int, lock Lock) (does []byte, unsure bool) {
	does = make([]byte, len(locks))
	for i, v := range locks {
		e := flow.NoEffect
		switch {
		case v.single != (lock.Address == 0):
		case !v.single && !v.known:
			e = c.sites.effects[first+i].does.Perhaps()
		case v.address == lock.Address:
			e = c.sites.effects[first+i].does
			unsure = unsure || !v.single && !v.sure
		}
		does[i] = '0' + byte(e)
	}
	return does, unsure
}

// solve finds what holds at the point, given what each effect, and the call under way, does to
// the lock.
func (c *candidate) solve(does []byte, under flow.Effect, unsure bool, ways string) holding {
	fact, by := c.truth(does, under, true, ways)
	h := holding{certainty: Certain, taken: by, ok: true}
	if fact != flow.Yes || unsure || c.f.flow.Indirect {
		fact, h.taken = c.truth(does, under, false, ways)
		h.certainty = Likely
	}
	switch fact {
	case flow.Maybe:
		h.certainty = Possible
	case flow.Yes:
	default:
		return holding{}
	}
	return h
}

// truth is whether the lock is held at the point. The strict look takes calls that may do more
// than is known for doing so. ways are those that the frame is known to have taken, if there are some.
func (c *candidate) truth(
	does []byte, under flow.Effect, strict bool, ways string,
) (flow.Truth, []flow.CallSite) {
	if s, ok := c.f.flow.SiteAt(c.at); ok && strict && c.sites.unclean[s.Index] {
		under = under.Join(flow.Unsure)
	}
	if ways != "" {
		return c.point.branches.HoldsAlong(c.at, c.effects(does, strict), under, ways)
	}
	return c.f.flow.HoldsBy(c.at, c.effects(does, strict), under)
}

// effects is what each call of the function does to a lock.
func (c *candidate) effects(does []byte, strict bool) []flow.Effect {
	out := make([]flow.Effect, len(c.f.sites))
	if strict {
		for i, unclean := range c.sites.unclean {
			if unclean {
				out[i] = flow.Unsure
			}
		}
	}
	for k, e := range does {
		i := c.sites.site[k]
		out[i] = out[i].Join(flow.Effect(e - '0'))
	}
	return out
}
