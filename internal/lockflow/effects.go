package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// effect is the effect of a call on one lock.
type effect struct {
	family string
	does   flow.Effect
	lock   *symbolic.Expr // the lock's variable; nil if unknown
	single bool           // there is only one such lock, as for the unnamed critical section
	// acquires is set for a function that acquires the lock before it releases it: if the caller already holds
	// the lock, the call does not return.
	acquires bool
	// alone is set if the lock must be free for the call to take it: if the caller holds it for reading, the
	// call does not return.
	alone bool
}

// first returns the first effect of the call.
func (e effect) first() flow.Effect {
	if e.acquires {
		return flow.Sets
	}
	return e.does
}

// effects is the summary of a function: its effects on locks from its entry to its return, in terms of its
// arguments.
type effects struct {
	list    []effect
	unclean families // families of locks on which the function may have further, unknown effects
}

// maxLocks bounds the locks of one family that are followed in one function.
const maxLocks = 16

func (e effects) equal(o effects) bool {
	return e.unclean == o.unclean && slices.EqualFunc(e.list, o.list, func(a, b effect) bool {
		return a.does == b.does && a.acquires == b.acquires && a.alone == b.alone && a.isSame(b)
	})
}

// isSame reports whether two effects are on the same lock. All unknown locks of a family count as one.
func (e effect) isSame(o effect) bool {
	switch {
	case e.family != o.family || e.single != o.single:
		return false
	case e.lock == nil || o.lock == nil:
		return e.lock == o.lock
	}
	return e.lock.Equal(o.lock)
}

// effectsOf returns the effects of the call at s.
func (p *Program) effectsOf(s *site, callee func(entry uint64) effects) effects {
	switch s.kind {
	case calleeUnknown:
		return effects{unclean: allFamilies}
	case calleeListed:
		return listedEffects(s)
	case calleeLockLike:
		return effects{unclean: ofThreads}
	}
	var out effects
	for _, c := range s.callbacks { // called at an unknown time, any number of times
		sum := callee(c)
		out.unclean |= sum.unclean
		for _, e := range sum.list {
			out.unclean |= familySet(e.family)
		}
	}
	if s.kind != calleeFollowed {
		return out
	}
	sum := callee(s.entry)
	out.unclean |= sum.unclean
	for _, e := range sum.list {
		if e.lock != nil {
			e.lock = e.lock.WithArgs(s.Args)
		}
		out.list = append(out.list, e)
	}
	return out
}

// listedEffects returns the effects of a call by the tables of rtl.
func listedEffects(s *site) effects {
	if s.call.Lends {
		return effects{}
	}
	e := effect{family: s.call.Family, does: listedEffect(s.call), single: s.call.Arg < 0, alone: s.call.Alone}
	if s.call.Arg >= 0 && s.call.Arg < len(s.Args) {
		e.lock = s.Args[s.call.Arg]
	}
	return effects{list: []effect{e}}
}

// listedEffect returns what a call of a lock function does with its lock.
func listedEffect(c rtl.LockCall) flow.Effect {
	switch {
	case c.Try:
		return flow.MaySet
	case c.Set:
		return flow.Sets
	case c.Unset:
		return flow.Clears
	}
	return flow.Unsure
}

// effectsOn returns the summaries of effects on locks of a family. Each family has its own: most functions that use
// locks of some family use none of the family that is asked for, and their values are not followed then.
func effectsOn(p *Program, family string) func(entry uint64) effects {
	set := familySet(family)
	s := p.effects[set]
	if s == nil {
		s = &flow.Summaries[effects]{
			Callees: func(entry uint64) []uint64 { return effectCallees(p, entry, set) },
			Compute: func(entry uint64, callee func(entry uint64) effects) effects {
				return computeEffects(p, entry, set, callee)
			},
			Equal: effects.equal, Unknown: effects{unclean: allFamilies}, Largest: maxCircle,
		}
		p.effects[set] = s
	}
	return s.SummaryOf
}

// computeEffects summarizes the effects of a function on locks of a family, given the summaries of its callees.
func computeEffects(p *Program, entry uint64, family families, callee func(entry uint64) effects) effects {
	f := p.codeFrom(entry)
	if f == nil || family&ofOpenMP == 0 || !isApart(p, f) {
		return p.computeEffects(f, family, callee)
	}
	known := apartOf(p, f)
	if !known.ok {
		return effects{unclean: ofOpenMP}
	}
	var out effects
	for _, entry := range known.followed {
		out.unclean |= callee(entry).unclean
	}
	return out
}

// computeEffects summarizes the effects of f, which may be nil, on the locks of a family, given the summaries of its
// callees.
func (p *Program) computeEffects(f *function, family families, callee func(entry uint64) effects) effects {
	if f == nil {
		return effects{unclean: allFamilies}
	}
	if p.isLockless(f, callee) {
		return effects{}
	}
	if r := p.reaches.SummaryOf(f.entry); r.settles(family) {
		return effects{unclean: r.surely & family}
	}
	var out effects
	if f.flow.Indirect {
		out.unclean = allFamilies
	}
	sites := p.sitesOf(f)
	bySite := make([][]effect, len(sites))
	var locks []effect // each lock once
	for i := range sites {
		sum := p.effectsOf(&sites[i], callee)
		out.unclean |= sum.unclean
		bySite[i] = sum.list
		for _, e := range sum.list {
			if familySet(e.family) == family && !slices.ContainsFunc(locks, e.isSame) {
				locks = append(locks, e)
			}
		}
	}
	for _, l := range tooMany(&locks) {
		out.unclean |= familySet(l)
		out.list = append(out.list, effect{family: l, does: flow.Unsure})
	}
	for _, l := range locks {
		if l.family == rtl.FamilyStatic {
			continue // a function ends the initializations that it starts
		}
		l.does, l.acquires = net(f.flow, bySite, l, triesOf(sites))
		l.alone = l.alone && !shares(bySite, l)
		if l.does == flow.NoEffect {
			continue
		}
		if l.lock != nil && !l.lock.OfArgs() {
			l.lock = nil
		}
		out.list = append(out.list, l)
	}
	return out
}

// tooMany removes the locks of families with more than maxLocks locks, and returns these families.
func tooMany(locks *[]effect) []string {
	count := map[string]int{}
	for _, l := range *locks {
		count[l.family]++
	}
	var out []string
	for _, name := range familyNames {
		if count[name] > maxLocks {
			out = append(out, name)
		}
	}
	*locks = slices.DeleteFunc(*locks, func(l effect) bool { return count[l.family] > maxLocks })
	return out
}

// net returns the effect of a function on one lock from its entry to its return. The bool reports whether the
// function acquires the lock before it may release it.
func net(f *flow.Function, bySite [][]effect, lock effect, tries []flow.Guard) (flow.Effect, bool) {
	does, first := make([]flow.Effect, len(bySite)), make([]flow.Effect, len(bySite))
	for i, list := range bySite {
		if k := slices.IndexFunc(list, lock.isSame); k >= 0 {
			does[i], first[i] = list[k].does, list[k].first()
		}
	}
	return netOf(f, does, tries), flow.FirstSets(f, first)
}

// triesOf returns the results of the calls that try to acquire a lock, by index, for which they have acquired it; nil
// if no call tries.
func triesOf(sites []site) []flow.Guard {
	var out []flow.Guard
	for i := range sites {
		if s := &sites[i]; s.kind == calleeListed && s.call.Try {
			if out == nil {
				out = make([]flow.Guard, len(sites))
			}
			out[i] = successOf(s.call)
		}
	}
	return out
}

// successOf returns the results of a call that tries to acquire a lock for which it has acquired it.
func successOf(c rtl.LockCall) flow.Guard {
	if OfOpenMP(c.Family) {
		return flow.IfNonzero
	}
	return flow.IfZero
}

// shares reports whether one of the calls takes the lock without requiring that it is free.
func shares(bySite [][]effect, lock effect) bool {
	return slices.ContainsFunc(bySite, func(list []effect) bool {
		return slices.ContainsFunc(list, func(e effect) bool { return e.isSame(lock) && e.does.MaySets() && !e.alone })
	})
}

// netOf returns the overall effect of a function on a lock, given the effects of its calls and the results of those
// that try to acquire it. If the lock is already taken, no try succeeds.
func netOf(f *flow.Function, does []flow.Effect, tries []flow.Guard) flow.Effect {
	guards := make([]flow.Guard, len(tries))
	for i := range tries {
		if does[i] == flow.MaySet { // and not a try of another lock
			guards[i] = tries[i]
		}
	}
	atReturn := func(entry flow.Truth, success flow.Effect) flow.Truth {
		return f.AtReturn(entry, does, guards, success)
	}
	taken := atReturn(flow.No, flow.Sets)
	for i, e := range does { // if the lock is already taken, a call that takes it does not return
		if e == flow.Sets {
			does[i] = flow.NoReturn
		}
	}
	given := atReturn(flow.Yes, flow.NoReturn)
	switch {
	case taken == flow.Yes:
		return flow.Sets
	case taken == flow.Maybe && (given == flow.Yes || given == flow.Unreached):
		return flow.MaySet
	case taken == flow.Maybe:
		return flow.Unsure
	case given == flow.Maybe:
		return flow.MayClear
	case given == flow.No:
		return flow.Clears
	}
	return flow.NoEffect
}

// computeReleases returns the families of locks that a function may release, given those of its callees.
func (p *Program) computeReleases(entry uint64, callee func(entry uint64) families) families {
	f := p.codeFrom(entry)
	if f == nil {
		return allFamilies
	}
	if known := p.plainOf(f); known.ok {
		if out, exact := known.possibleReleases(callee); exact {
			return out
		}
	}
	if p.callsUnknown(f) {
		return allFamilies
	}
	var out families
	calls := p.callsOf(f)
	for i := range calls {
		out |= releasesOf(&calls[i], callee)
	}
	return out
}

// releasesOf returns the families of locks that the call at s may release.
func releasesOf(s *site, callee func(entry uint64) families) families {
	var out families
	switch s.kind {
	case calleeUnknown:
		return allFamilies
	case calleeListed:
		return listedReleases(s.call)
	case calleeLockLike, calleeOpaque:
		out = ofThreads
	case calleeFollowed:
		out = callee(s.entry)
	}
	for _, c := range s.callbacks {
		out |= callee(c)
	}
	return out
}

func listedReleases(c rtl.LockCall) families {
	if c.Unset || c.Lends {
		return familySet(c.Family)
	}
	return 0
}
