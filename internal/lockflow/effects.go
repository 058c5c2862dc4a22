package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// effect is what a call does with one lock.
type effect struct {
	family string
	does   flow.Effect
	lock   *symbolic.Expr // the lock's variable; nil if it is not known which
	single bool           // there is only one such lock, as that of the unnamed critical section
	// acquires is set where a function that releases the lock has acquired it before: who calls
	// it with the lock does not come back.
	acquires bool
	// alone is set where what it takes is free of all others then: who has it for reading, and
	// takes it in this way, does not come back.
	alone bool
}

// first is what the call does first.
func (e effect) first() flow.Effect {
	if e.acquires {
		return flow.Sets
	}
	return e.does
}

// effects is the summary of a function: what it does with locks between its entry and its
// return, in terms of its arguments.
type effects struct {
	list    []effect
	unclean families // of which it may do more, which is not known
}

// maxLocks bounds the locks of one family that one function is followed for.
const maxLocks = 16

func (e effects) equal(o effects) bool {
	return e.unclean == o.unclean && slices.EqualFunc(e.list, o.list, func(a, b effect) bool {
		return a.does == b.does && a.acquires == b.acquires && a.alone == b.alone && a.isSame(b)
	})
}

// isSame reports whether two effects are on one lock, as far as can be told. Those of locks
// that are not known are taken for one.
func (e effect) isSame(o effect) bool {
	switch {
	case e.family != o.family || e.single != o.single:
		return false
	case e.lock == nil || o.lock == nil:
		return e.lock == o.lock
	}
	return e.lock.Equal(o.lock)
}

// effectsOf is what the call at s does.
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
	for _, c := range s.callbacks { // when it is called, and how often, is not known
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

// listedEffects is what the tables say of a call.
func listedEffects(s *site) effects {
	e := effect{family: s.call.Family, does: flow.Unsure, single: s.call.Arg < 0, alone: s.call.Alone}
	switch {
	case s.call.Lends:
		return effects{}
	case s.call.Try:
		e.does = flow.MaySet
	case s.call.Set:
		e.does = flow.Sets
	case s.call.Unset:
		e.does = flow.Clears
	}
	if s.call.Arg >= 0 && s.call.Arg < len(s.Args) {
		e.lock = s.Args[s.call.Arg]
	}
	return effects{list: []effect{e}}
}

// effectsOn is what a function does with locks of the group of families that has one.
func effectsOn(p *Program, family string) func(entry uint64) effects {
	if OfOpenMP(family) {
		return p.openmp.SummaryOf
	}
	return p.others.SummaryOf
}

// computeOpenMP summarizes what a function does with locks of OpenMP.
func computeOpenMP(p *Program, entry uint64, callee func(entry uint64) effects) effects {
	f := p.functionAt(entry)
	if f == nil || !isApart(p, f) {
		return p.computeEffects(f, ofOpenMP, callee)
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

// computeEffects summarizes what a function, which may be nil, does with locks of a group of families, given the
// summaries of those that it calls.
func (p *Program) computeEffects(f *function, group families, callee func(entry uint64) effects) effects {
	if f == nil {
		return effects{unclean: allFamilies}
	}
	if p.isLockless(f, callee) {
		return effects{}
	}
	if r := p.reaches.SummaryOf(f.entry); r.settles(group) {
		return effects{unclean: r.surely & group}
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
			if familySet(e.family)&group != 0 && !slices.ContainsFunc(locks, e.isSame) {
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
			continue // a function ends the initializations that it begins
		}
		l.does, l.acquires = net(f.flow, bySite, l)
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

// tooMany takes away the locks of families of which there are more than maxLocks, and
// returns these families.
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

// net is what a function does to one lock between its entry and its return, and whether it
// acquires the lock before it may release it.
func net(f *flow.Function, bySite [][]effect, lock effect) (flow.Effect, bool) {
	does, first := make([]flow.Effect, len(bySite)), make([]flow.Effect, len(bySite))
	for i, list := range bySite {
		if k := slices.IndexFunc(list, lock.isSame); k >= 0 {
			does[i], first[i] = list[k].does, list[k].first()
		}
	}
	return netOf(f, does), flow.FirstSets(f, first)
}

// shares reports whether a call of a function takes a lock, and not alone.
func shares(bySite [][]effect, lock effect) bool {
	return slices.ContainsFunc(bySite, func(list []effect) bool {
		return slices.ContainsFunc(list, func(e effect) bool { return e.isSame(lock) && e.does.MaySets() && !e.alone })
	})
}

// netOf is what a function does to a lock in all, by the effects of its calls.
func netOf(f *flow.Function, does []flow.Effect) flow.Effect {
	taken := f.AtReturnBy(flow.No, does)
	for i, e := range does { // if the lock is taken before, a call that takes it does not return
		if e == flow.Sets {
			does[i] = flow.NoReturn
		}
	}
	given := f.AtReturnBy(flow.Yes, does)
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

// computeReleases returns the families of which a function may give something back, given those of
// the functions that it calls.
func (p *Program) computeReleases(entry uint64, callee func(entry uint64) families) families {
	f := p.functionAt(entry)
	if f == nil {
		return allFamilies
	}
	if known := p.plainOf(f); known.ok {
		return known.possibleReleases(callee)
	}
	if len(p.outlineOf(f).byMemory) > 0 {
		return allFamilies
	}
	var out families
	for i := range p.sitesOf(f) {
		out |= releasesOf(&f.sites[i], callee)
	}
	return out
}

// releasesOf returns the families of which the call at s may give something back.
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
