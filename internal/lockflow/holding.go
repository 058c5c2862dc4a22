package lockflow

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// familySites lists the effects of a function's calls on locks of one family.
type familySites struct {
	effects []effect // of all calls
	site    []int    // index of the call of each effect
	unclean []bool   // by index of call: it may have further effects
	takes   bool     // one of them may take a lock
}

// familySites returns the effects of the calls of f on locks of a family.
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

// newCandidate returns frame i of t if it may hold a lock of a family, otherwise nil.
func (p *Program) newCandidate(t *Thread, i int, family string) *candidate {
	fr := &t.Frames[i]
	if p.isUnfollowed(fr.lookup()) {
		return nil
	}
	f := p.functionAt(fr.lookup())
	if f == nil {
		return nil
	}
	if !p.mayHaveTaken(t, i, f, family) {
		return nil
	}
	takes := !(OfOpenMP(family) && isApart(p, f)) && p.takes.SummaryOf(f.entry)&familySet(family) != 0
	if !takes && !p.takesByPointer(t, i, family, f) {
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

// frameOf returns frame i of t, which is in f, with the effects of the calls of f on locks of a family.
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

// takesByPointer reports whether frame i of t, which is in f, has a call through a pointer that may take a lock
// of a family. The pointers are resolved with their current values.
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

// calleeFrame returns the frame of the unfinished call in c; nil if that frame is not in the function at entry.
func (p *Program) calleeFrame(c *candidate, entry uint64) *candidate {
	if !p.isCalled(c.thread, c.frame, entry) {
		return nil
	}
	return p.frameOf(c.thread, c.frame-1, c.family, p.functionAt(entry))
}

// mayFollowAcquisition reports whether a call that takes a lock of a family may precede the point in f.
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
		truth, _ := f.flow.HoldsBy(at, does, nil, under)
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

// valueOf returns the address of the lock that effect e of the call at s is on.
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

// holding is the state of one lock at a point, according to the code.
type holding struct {
	certainty Certainty
	taken     []flow.CallSite
	ok        bool
}

// question asks for the state of one lock at a point of a function.
type question struct {
	does   []byte       // the effects of the calls on it, as digits
	tries  []flow.Guard // the results of its tries to acquire it, by index of the call, with which it has; or nil
	under  flow.Effect  // of the unfinished call, up to now
	unsure bool         // a matching address was read from memory that may have changed
}

// key identifies a question among those on the same point and family.
func (q *question) key() string {
	key := append(slices.Clone(q.does), '/', '0'+byte(q.under))
	for _, g := range q.tries {
		key = append(key, '0'+byte(g))
	}
	if q.unsure {
		key = append(key, '?')
	}
	return string(key)
}

// triesOf returns, by index, the results with which the calls that try to acquire a lock have done so; nil if there is
// no such call. does are the effects of the calls on it, as digits.
func (c *candidate) triesOf(does []byte, lock Lock) []flow.Guard {
	var out []flow.Guard
	for k, e := range does {
		s := c.siteAt(c.sites.site[k])
		if v := c.locks[k]; flow.Effect(e-'0') != flow.MaySet || s.kind != calleeListed || !s.call.Try ||
			!v.single && (!v.known || v.address != lock.Address) {
			continue
		}
		if out == nil {
			out = make([]flow.Guard, len(c.f.sites))
		}
		out[s.Index] = successOf(s.call)
	}
	return out
}

// holds reports whether the frame holds a lock. At first, it assumes that calls with unknown effects have them.
func (c *candidate) holds(lock Lock) (Holder, bool) {
	does, unsure := c.match(c.locks, 0, lock)
	now, alsoUnsure := c.match(c.now, c.first, lock)
	q := question{does: does, under: c.effectUnderWay(now, lock), unsure: unsure || alsoUnsure}
	q.tries = c.triesOf(does, lock)
	key := lock.Family + " " + q.key() + c.key
	h, ok := c.point.held[key]
	if !ok {
		h = c.solve(q, nil, "")
		c.point.held[key] = h
	}
	presumed := false
	if h.ok && h.certainty == Possible {
		h = c.holdingOnPaths(q, key, h, false)
	}
	if h.ok && h.certainty == Possible {
		if now := c.holdingOnPaths(q, key, h, true); now.ok && now.certainty != Possible {
			presumed, h.taken = true, now.taken
		}
	}
	if c.thread.Frames[c.frame].Guess {
		h.certainty = Possible
	}
	released, onReturn := false, false
	if h.ok && h.certainty == Possible {
		open := c.unpaired(h.taken)
		if released = len(open) == 0; !released {
			h.taken = open
		}
		like := func(before *flow.Point) []flow.CallSite {
			return slices.DeleteFunc(slices.Clone(h.taken), func(s flow.CallSite) bool { return c.endsLike(s, before) })
		}
		if open := like(&c.at); len(open) > 0 {
			h.taken = open
		}
		onReturn = len(h.taken) > 0 && len(like(nil)) == 0
	}
	return Holder{Thread: c.thread, Frame: c.frame, Certainty: h.certainty, Taken: c.nameCallees(h.taken),
		Released: released, Presumed: presumed && !released, ReleasedOnReturn: onReturn}, h.ok
}

// endsLike reports whether each path from a call that may have taken a lock releases it before the point, or if that is
// nil, before a return of the function. The address of the released lock is computed in the same way, or neither
// address can be followed: it may be another lock, if memory has changed between.
func (c *candidate) endsLike(taken flow.CallSite, before *flow.Point) bool {
	k := slices.Index(c.sites.site, taken.Index)
	if k < 0 {
		return false
	}
	lock, does := c.sites.effects[k], make([]flow.Effect, len(c.f.sites))
	exact := slices.ContainsFunc(c.sites.effects, func(e effect) bool { return e.isSame(lock) && e.does.MayClears() })
	for i, e := range c.sites.effects {
		if e.isSame(lock) || e.looksLike(lock) && !exact {
			does[c.sites.site[i]] = does[c.sites.site[i]].Join(e.does)
		}
	}
	return c.f.flow.EndsInnermost(taken, does, before)
}

// unpaired removes from calls that may have taken a lock those that are always followed by a release of the same lock
// before the point.
func (c *candidate) unpaired(taken []flow.CallSite) []flow.CallSite {
	paired := func(s flow.CallSite) bool {
		for k, e := range c.sites.effects {
			if c.sites.site[k] == s.Index &&
				(e.lock == nil || !c.f.flow.EndsBefore(s, e.lock, c.releasesLike(e), c.at)) {
				return false
			}
		}
		return true
	}
	return slices.DeleteFunc(slices.Clone(taken), paired)
}

// releasesLike returns the calls that release a known lock of the kind of an effect.
func (c *candidate) releasesLike(e effect) []flow.End {
	var out []flow.End
	for k, r := range c.sites.effects {
		if r.does == flow.Clears && r.lock != nil && e.family == r.family && e.single == r.single {
			out = append(out, flow.End{Site: c.sites.site[k], Value: r.lock})
		}
	}
	return out
}

// holdingOnPaths refines h, the state of a lock that is held on some paths only. It uses the branches that the
// frame is known to have taken; with memory, also those that it has taken if variables in memory have not changed
// since.
func (c *candidate) holdingOnPaths(q question, key string, h holding, memory bool) holding {
	i, prefix := 0, " "
	if memory {
		i, prefix = 1, " m"
	}
	if c.point.branches[i] == nil {
		c.point.branches[i] = flow.WitnessesOf(c.f.flow, c.at, memory)
	}
	branches := c.point.branches[i]
	ways := branches.Ways(c.at)
	if strings.Trim(ways, "?") == "" {
		return h
	}
	key += prefix + ways
	out, ok := c.point.held[key]
	if !ok {
		out = c.solve(q, branches, ways)
		c.point.held[key] = out
	}
	return out
}

// effectUnderWay returns the effect of the unfinished call, up to now, on a lock that was held when the call was
// made. The digits in now are the effects of the complete call. The frame of the callee shows how far the call
// has come.
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

// stillHolds returns whether a lock that was held when the frame's function was called is still held at the
// frame's point.
func (c *candidate) stillHolds(lock Lock) flow.Truth {
	does, unsure := c.match(c.locks, 0, lock)
	now, alsoUnsure := c.match(c.now, c.first, lock)
	effects, under := c.effects(does, false), c.effectUnderWay(now, lock)
	if unsure || alsoUnsure { // they may be on another lock, without effect on this one
		for i := range effects {
			effects[i] = effects[i].Perhaps()
		}
		under = under.Perhaps()
	}
	return c.f.flow.StillHolds(c.at, effects, under)
}

// match returns the effect on one lock of each effect from index first on, as a digit. locks are the addresses
// of their locks. unsure is set if a matching address was read from memory that may have changed.
func (c *candidate) match(locks []value, first int, lock Lock) (does []byte, unsure bool) {
	does = make([]byte, len(locks))
	for i, v := range locks {
		e := flow.NoEffect
		switch {
		case v.single != (lock.Address == 0):
		case !v.single && (!v.known || lock.Address == AnyAddress):
			e = c.sites.effects[first+i].does.Perhaps()
		case v.address == lock.Address:
			e = c.sites.effects[first+i].does
			unsure = unsure || !v.single && !v.sure
		}
		does[i] = '0' + byte(e)
	}
	return does, unsure
}

// solve finds the state of the lock at the point. ways are the outcomes of branches that the frame has taken; without
// any, branches is nil.
func (c *candidate) solve(q question, branches *flow.Witnesses, ways string) holding {
	fact, by := c.truth(q, true, branches, ways)
	h := holding{certainty: Certain, taken: by, ok: true}
	if fact != flow.Yes || q.unsure || c.f.flow.Indirect {
		fact, h.taken = c.truth(q, false, branches, ways)
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

// truth returns whether the lock is held at the point. If strict is set, calls with unknown effects are assumed
// to have them.
func (c *candidate) truth(
	q question, strict bool, branches *flow.Witnesses, ways string,
) (flow.Truth, []flow.CallSite) {
	under := q.under
	if s, ok := c.f.flow.SiteAt(c.at); ok && strict && c.sites.unclean[s.Index] {
		under = under.Join(flow.Unsure)
	}
	if branches != nil {
		return branches.HoldsAlong(c.at, c.effects(q.does, strict), q.tries, under, ways)
	}
	return c.f.flow.HoldsBy(c.at, c.effects(q.does, strict), q.tries, under)
}

// effects returns the effect of each call of the function on the lock.
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
