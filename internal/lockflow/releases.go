package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Release is a call by which a thread, or a function that was not called yet, may release a lock without having
// acquired it. OpenMP and POSIX forbid this, but runtimes and the C library allow it, and programs use it to
// pass a lock from one thread to another.
type Release struct {
	Thread *Thread // nil for a function
	// Calls are the addresses of the instructions that lead to the release, the innermost first.
	Calls []uint64
	// Known is set if the released lock is known. Otherwise it may be any lock of its family.
	Known bool
}

const (
	// maxReleaseDepth bounds the calls listed for one release.
	maxReleaseDepth = 8
	// maxOpenReleases bounds the locks of one family that are followed in one function. Any further releases
	// count as releases of an unknown lock.
	maxOpenReleases = 16
)

// handedOver are the families of locks that a thread may release for another one. Locks of the other families
// are released by compiler-generated code at the end of the block that acquired them.
var handedOver = familySet(rtl.FamilyLock) | familySet(rtl.FamilyNest) | familySet(rtl.FamilyMutex) |
	familySet(rtl.FamilyReadWrite) | familySet(rtl.FamilySpin)

// HandedOver reports whether a thread may release a lock of a family for another one.
func HandedOver(family string) bool { return familySet(family)&handedOver != 0 }

// opening is the first effect of a function, or of a call, on a lock with an unknown state.
type opening struct {
	family string
	lock   *symbolic.Expr // nil if unknown
	gives  bool           // it may release the lock before acquiring it
	takes  bool           // it acquires the lock before it returns, and does not release it before that
	tries  bool           // it may acquire the lock, and does not release it before that
	guard  flow.Guard     // of a call that tries
	calls  []uint64       // calls that lead to the release, the innermost first
}

func isGiving(o opening) bool { return o.gives }

// openings is the summary of a function: its first effect on each lock.
type openings []opening

func (o opening) isSame(p opening) bool {
	return o.family == p.family && (o.lock == nil) == (p.lock == nil) && (o.lock == nil || o.lock.Equal(p.lock))
}

func (all openings) equal(others openings) bool {
	return slices.EqualFunc(all, others, func(a, b opening) bool {
		return a.isSame(b) && a.gives == b.gives && a.takes == b.takes && a.tries == b.tries
	})
}

// openingsOf returns the first effects of the call at s on locks. Functions passed to the callee are called at
// an unknown time with unknown arguments.
func openingsOf(s *site, callee func(entry uint64) openings) openings {
	var out openings
	if s.kind == calleeListed {
		c := s.call
		o := opening{family: c.Family, gives: isGiven(c), takes: c.Set, tries: c.Try, calls: []uint64{s.PC}}
		if familySet(c.Family)&handedOver == 0 || !o.gives && !o.takes && !o.tries || c.Lends {
			return nil
		}
		o.guard = successOf(c)
		if c.Arg >= 0 && c.Arg < len(s.Args) {
			o.lock = s.Args[c.Arg]
		}
		return openings{o}
	}
	for _, entry := range s.callbacks {
		for _, o := range callee(entry) {
			if !o.gives {
				continue
			}
			if _, fixed := addressOf(o.lock); !fixed {
				o.lock = nil
			}
			o.takes, o.tries = false, false
			out = append(out, o.viaCall(s.PC))
		}
	}
	if s.kind != calleeFollowed {
		return out
	}
	for _, o := range callee(s.entry) {
		if o.lock != nil {
			o.lock = o.lock.WithArgs(s.Args)
		}
		o.guard = flow.NoGuard
		out = append(out, o.viaCall(s.PC))
	}
	return out
}

// isGiven reports whether a call releases a lock that its caller need not have acquired. A call that makes or destroys
// a lock does not.
func isGiven(c rtl.LockCall) bool { return c.Unset && !c.Makes && !c.Lends }

// viaCall returns o, reached through one more call.
func (o opening) viaCall(pc uint64) opening {
	if len(o.calls) < maxReleaseDepth {
		o.calls = append(slices.Clip(o.calls), pc)
	}
	return o
}

// addressOf returns the value of an expression if it is a constant address.
func addressOf(e *symbolic.Expr) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	return e.Address()
}

// openingCallees returns the functions that the openings of the function at entry depend on.
func openingCallees(p *Program, entry uint64) []uint64 {
	f := p.codeFrom(entry)
	if f == nil || p.reaches.SummaryOf(entry).locks&handedOver == 0 {
		return nil
	}
	callees, calls := p.possibleCalleesOf(entry), p.outlineOf(f).calls
	if !f.outline.isDirect() {
		calls = p.sitesOf(f)
	}
	for i := range calls {
		if s := p.throughVariable(&calls[i]); calls[i].kind == calleeUnknown && s.kind == calleeFollowed {
			callees = append(callees, s.entry)
		}
	}
	return slices.DeleteFunc(unique(callees), func(entry uint64) bool {
		return p.reaches.SummaryOf(entry).locks&handedOver == 0 // it has none
	})
}

// givingCallees returns the functions that the answer of computeGives depends on.
func givingCallees(p *Program, entry uint64) []uint64 {
	if p.codeFrom(entry) == nil || p.reaches.SummaryOf(entry).locks&handedOver == 0 {
		return nil
	}
	return mayReach(p, entry)
}

// computeGives reports whether the function at entry may release a lock before it acquires it. Most functions call
// none that does, which single instructions show: the openings of their callees need not be known then.
func computeGives(p *Program, entry uint64, callee func(entry uint64) bool) bool {
	f := p.codeFrom(entry)
	if f == nil || p.reaches.SummaryOf(entry).locks&handedOver == 0 || !p.mayGive(f, callee) {
		return false
	}
	return slices.ContainsFunc(p.opens.SummaryOf(entry), isGiving)
}

// mayGive reports whether a call in f may release a lock that the callee has not acquired.
func (p *Program) mayGive(f *function, callee func(entry uint64) bool) bool {
	o := p.outlineOf(f)
	return !o.known || slices.ContainsFunc(o.calls, func(s site) bool { return s.mayGive(callee) }) ||
		o.mayHandGiving(callee)
}

// mayHandGiving reports whether a function whose address the code contains may release a lock that it has not acquired.
func (o *outline) mayHandGiving(callee func(entry uint64) bool) bool {
	return slices.ContainsFunc(o.named, func(s site) bool { return s.mayGive(callee) }) ||
		slices.ContainsFunc(o.functions, callee)
}

// mayGiveFrom reports whether a call that f makes from the point of a frame on may release a lock that the callee has
// not acquired. innermost is set if the frame's function has called no function of the program. Calls before the point
// are most of those in a function that chooses one of many templates.
func (p *Program) mayGiveFrom(f *function, fr *Frame, innermost bool) bool {
	o, callee := p.outlineOf(f), p.gives.SummaryOf
	after, unfinished, ok := f.flow.TargetsAfter(flow.Point{PC: fr.PC, Exact: fr.Exact})
	if !o.known || !ok {
		return p.mayGive(f, callee)
	}
	if s := p.site(flow.CallSite{Target: unfinished}); innermost || s.kind == calleeListed {
		after = append(after, unfinished)
	}
	return slices.ContainsFunc(after, func(t symbolic.Target) bool {
		s := p.site(flow.CallSite{Target: t})
		return s.mayGive(callee)
	}) || o.mayHandGiving(callee)
}

// mayGive reports whether the call at s may release a lock that the callee has not acquired.
func (s *site) mayGive(callee func(entry uint64) bool) bool {
	switch s.kind {
	case calleeListed:
		return isGiven(s.call) && familySet(s.call.Family)&handedOver != 0
	case calleeFollowed:
		return callee(s.entry)
	}
	return false
}

// siteOpenings returns the first effects of each call of f on locks; nil if no call has any.
func siteOpenings(p *Program, f *function, callee func(entry uint64) openings) []openings {
	if p.reaches.SummaryOf(f.entry).locks&handedOver == 0 || p.plainOf(f).isWithout(
		func(entry uint64) bool { return len(callee(entry)) > 0 },
		func(entry uint64) bool { return slices.ContainsFunc(callee(entry), isGiving) }) {
		return nil
	}
	var out []openings
	sites := p.sitesOf(f)
	for i := range sites {
		s := p.throughVariable(&sites[i])
		of := openingsOf(&s, callee)
		if len(of) == 0 {
			continue
		}
		if out == nil {
			out = make([]openings, len(sites))
		}
		out[i] = of
	}
	return out
}

// locksOf lists the locks of some calls, each once. One unknown lock replaces all locks of a family beyond
// maxOpenReleases.
func locksOf(sites []openings) openings {
	var out openings
	count := map[string]int{}
	for _, of := range sites {
		for _, o := range of {
			if o.lock != nil && !slices.ContainsFunc(out, o.isSame) {
				if count[o.family]++; count[o.family] > maxOpenReleases {
					o.lock = nil
				}
			}
			if !slices.ContainsFunc(out, o.isSame) {
				out = append(out, o)
			}
		}
	}
	return out
}

// mayBe reports whether an acquisition may be of the lock that a release is on. A function that releases a lock
// recorded in its stack frame, as a C++ lock guard does, releases a lock that it has acquired itself.
func mayBe(f *function, taken, given opening) bool {
	return taken.isSame(given) || taken.family == given.family && flow.InCell(f.flow, given.lock)
}

// pathsFor returns the paths on which a lock is not acquired: they stop at each call that acquires it.
func pathsFor(f *function, sites []openings, lock opening) flow.Paths {
	out := flow.Paths{Stops: make([]bool, len(sites)), Tries: make([]flow.Guard, len(sites))}
	for i, of := range sites {
		for _, o := range of {
			switch {
			case !mayBe(f, o, lock) || o.gives:
			case o.takes, o.tries && o.guard == flow.NoGuard:
				out.Stops[i] = true
			case o.tries:
				out.Tries[i] = o.guard
			}
		}
	}
	return out
}

// givesAt returns the opening of a call on a lock, if it may release the lock first.
func givesAt(of openings, lock opening) (opening, bool) {
	i := slices.IndexFunc(of, func(o opening) bool { return o.gives && o.isSame(lock) })
	if i < 0 {
		return opening{}, false
	}
	return of[i], true
}

// computeOpenings summarizes the first effects of a function on locks.
func computeOpenings(p *Program, entry uint64, callee func(entry uint64) openings) openings {
	f := p.codeFrom(entry)
	if f == nil || p.isUnfollowed(entry) || p.reaches.SummaryOf(entry).locks&handedOver == 0 {
		return nil
	}
	sites := siteOpenings(p, f, callee)
	if sites == nil {
		return nil
	}
	from := flow.AheadOfEntry(f.flow)
	var out openings
	for _, lock := range locksOf(sites) {
		paths := pathsFor(f, sites, lock)
		reached, returns := from.Reach(paths)
		o := opening{family: lock.family, lock: lock.lock}
		for i, ok := range reached {
			if !ok {
				continue
			}
			if given, gives := givesAt(sites[i], lock); gives && !o.gives {
				along, _ := from.Reach(paths.Requiring(f.flow, i))
				if along[i] {
					o.gives, o.calls = true, given.calls
				}
			}
		}
		o.takes = !o.gives && !returns
		o.tries = !o.gives && returns && (slices.Contains(paths.Stops, true) || hasGuard(paths.Tries))
		if !o.gives && !o.takes && !o.tries {
			continue
		}
		if o.lock != nil && !o.lock.OfArgs() {
			o.lock = nil
		}
		if k := slices.IndexFunc(out, o.isSame); k < 0 {
			out = append(out, o)
		} else if o.gives && !out[k].gives {
			out[k] = o
		}
	}
	return out
}

func hasGuard(gs []flow.Guard) bool {
	return slices.ContainsFunc(gs, func(g flow.Guard) bool { return g != flow.NoGuard })
}

// openRelease is a call of a function that may release a lock, reachable from a point without an acquisition.
type openRelease struct {
	opening
	site     int
	underWay bool
}

// opened contains the first effects on locks of the code after a point.
type opened struct {
	sites    []openings
	underWay openings // effects of the unfinished call if no frame is in its callee
	releases []openRelease
}

// openedAt returns the first effects on locks of f from the point of a frame. innermost is set if the frame's
// function has called no function of the program.
func (p *Program) openedAt(f *function, fr *Frame, innermost bool) *opened {
	out := p.openedBy(f, fr, innermost, anyNumber)
	if len(out.releases) == 0 {
		return out
	}
	if number := f.numberIn(fr); number != anyNumber {
		out = p.openedBy(f, fr, innermost, number)
	}
	return out
}

// openedBy is openedAt for a thread with a number.
func (p *Program) openedBy(f *function, fr *Frame, innermost bool, number int) *opened {
	pt := f.pointAt(fr).aheadBy(number)
	known := &pt.opened[0]
	if innermost {
		known = &pt.opened[1]
	}
	if *known != nil {
		return *known
	}
	out := &opened{sites: siteOpenings(p, f, p.opens.SummaryOf)}
	*known = out
	at := flow.Point{PC: fr.PC, Exact: fr.Exact}
	from, ok := flow.AheadOf(f.flow, at)
	if out.sites == nil || !ok {
		return out
	}
	now := -1
	if s, isCall := f.flow.SiteAt(at); isCall {
		now = s.Index
		if innermost || p.sitesOf(f)[now].kind == calleeListed {
			out.underWay = out.sites[now]
		}
	}
	for _, lock := range locksOf(out.sites) {
		if given, gives := givesAt(out.underWay, lock); gives {
			out.releases = append(out.releases, openRelease{given, now, true})
		}
		if slices.ContainsFunc(out.underWay, func(o opening) bool { return o.takes && o.isSame(lock) }) {
			continue // it has acquired the lock before it reaches the following code
		}
		paths := f.takenBy(number, pathsFor(f, out.sites, lock))
		reached, _ := from.Reach(paths)
		for i, ok := range reached {
			given, gives := givesAt(out.sites[i], lock)
			if !ok || !gives {
				continue
			}
			along := paths.Requiring(f.flow, i)
			if from.TruthBefore(p.pastEffects(f, lock), along) == flow.Yes {
				continue
			}
			if now, _ := from.Reach(along); now[i] {
				out.releases = append(out.releases, openRelease{given, i, false})
			}
		}
	}
	return out
}

// pastEffects returns the effects of the calls of f on a lock.
func (p *Program) pastEffects(f *function, lock opening) []flow.Effect {
	sites := p.familySites(f, lock.family)
	out := make([]flow.Effect, len(f.sites))
	for k, e := range sites.effects {
		done := opening{family: e.family, lock: e.lock}
		if i := sites.site[k]; done.isSame(lock) || e.does == flow.Sets && mayBe(f, done, lock) {
			out[i] = out[i].Join(e.does)
		}
	}
	return out
}

// acquiresFirst reports whether a thread acquires a lock before frame i returns.
func (p *Program) acquiresFirst(t *Thread, i int, innermost bool, lock Lock) bool {
	f := p.functionAt(t.Frames[i].lookup())
	if f == nil || p.isUnfollowed(t.Frames[i].lookup()) {
		return false
	}
	o := p.openedAt(f, &t.Frames[i], innermost)
	if o.sites == nil {
		return false
	}
	from, ok := flow.AheadOf(f.flow, p.PointOf(t, i))
	if !ok {
		return false
	}
	if s, isCall := f.flow.SiteAt(flow.Point{PC: t.Frames[i].PC, Exact: t.Frames[i].Exact}); isCall &&
		takesAt(f, from, s.Index, o.underWay, lock) {
		return true
	}
	stops, some := stopsAt(f, from, o.sites, lock)
	if !some {
		return false
	}
	_, returns := from.Reach(flow.Paths{Stops: stops})
	return !returns
}

// takesAt reports whether a call is known to acquire a lock.
func takesAt(f *function, from flow.Ahead, site int, of openings, lock Lock) bool {
	return slices.ContainsFunc(of, func(o opening) bool {
		if o.family != lock.Family || !o.takes || o.lock == nil {
			return false
		}
		v, _, ok := from.Value(f.sites[site].CallSite, o.lock)
		return ok && v == lock.Address
	})
}

// stopsAt returns the calls of a function that acquire a lock.
func stopsAt(f *function, from flow.Ahead, sites []openings, lock Lock) (stops []bool, some bool) {
	stops = make([]bool, len(sites))
	for i, of := range sites {
		stops[i] = takesAt(f, from, i, of, lock)
		some = some || stops[i]
	}
	return stops, some
}

// releasesOf calls add for each release of a lock of a family that a thread may reach without acquiring the lock
// first.
func (p *Program) releasesOf(t *Thread, family string, add func(address uint64, r Release)) {
	var inner []int // the frames of the program that were already visited
	for i := range min(len(t.Frames), maxFrames) {
		fr := &t.Frames[i]
		if !fr.User {
			continue
		}
		if f := p.functionAt(fr.lookup()); f != nil && !p.isUnfollowed(fr.lookup()) &&
			!(OfOpenMP(family) && isApart(p, f)) && p.mayGiveFrom(f, fr, len(inner) == 0) &&
			(len(inner) == 0 || p.releasesFrom(fr)&familySet(family) != 0) {
			p.releasesIn(t, i, f, family, inner, add)
		}
		inner = append(inner, i)
	}
}

// releasesIn calls add for the releases in frame i of a thread. inner are the frames that it has called.
func (p *Program) releasesIn(
	t *Thread, i int, f *function, family string, inner []int, add func(address uint64, r Release),
) {
	o := p.openedAt(f, &t.Frames[i], len(inner) == 0)
	if !slices.ContainsFunc(o.releases, func(r openRelease) bool { return r.family == family }) {
		return
	}
	from, ok := flow.AheadOf(f.flow, p.PointOf(t, i))
	if !ok {
		return
	}
	for _, r := range o.releases {
		if r.family != family {
			continue
		}
		out := Release{Thread: t, Calls: r.calls}
		if r.lock == nil {
			add(0, out)
			continue
		}
		v, stays, ok := from.Value(f.sites[r.site].CallSite, r.lock)
		if !ok || !stays && !r.underWay {
			add(0, out)
		}
		lock := Lock{family, v}
		if !ok || slices.ContainsFunc(inner, func(j int) bool { return p.acquiresFirst(t, j, j == inner[0], lock) }) {
			continue
		}
		if stops, some := stopsAt(f, from, o.sites, lock); some && !r.underWay {
			if reached, _ := from.Reach(flow.Paths{Stops: stops}); !reached[r.site] {
				continue
			}
		}
		out.Known = true
		add(v, out)
	}
}

// followedFrames calls visit for each frame of a thread with a function whose code is followed.
func (p *Program) followedFrames(t *Thread, visit func(fr *Frame, f *function)) {
	for i := range min(len(t.Frames), maxFrames) {
		fr := &t.Frames[i]
		if !fr.User || p.isUnfollowed(fr.lookup()) {
			continue
		}
		if f := p.functionAt(fr.lookup()); f != nil {
			visit(fr, f)
		}
	}
}

// Handed lists the functions of the program that a thread has passed to unfinished calls, such as those of
// regions. Other threads may be about to execute them.
func (p *Program) Handed(t *Thread) (out []uint64) {
	p.followedFrames(t, func(fr *Frame, f *function) {
		if s, ok := f.flow.SiteAt(flow.Point{PC: fr.PC, Exact: fr.Exact}); ok {
			out = append(out, p.sitesOf(f)[s.Index].callbacks...)
		}
	})
	return out
}

// MayHand lists the functions of the program that Handed lists, and perhaps others. It follows values only if single
// instructions do not show them.
func (p *Program) MayHand(t *Thread) (out []uint64) {
	p.followedFrames(t, func(_ *Frame, f *function) {
		if o := p.outlineOf(f); o.known {
			out = append(out, o.functions...)
			return
		}
		for i := range p.sitesOf(f) {
			out = append(out, f.sites[i].callbacks...)
		}
	})
	return out
}

// Entered lists the functions of the program on a thread's stack.
func (p *Program) Entered(t *Thread) (out []uint64) {
	p.followedFrames(t, func(_ *Frame, f *function) { out = append(out, f.entry) })
	return out
}

// Acquiring lists the threads that are in a call that acquires a lock.
func (l *Look) Acquiring(lock Lock) []*Thread {
	x := l.acquiring[lock.Family]
	if x == nil {
		x = map[uint64][]*Thread{}
		l.acquiring[lock.Family] = x
		for _, t := range l.threads() {
			if address, ok := l.p.acquires(t, lock.Family); ok {
				x[address] = append(x[address], t)
			}
		}
	}
	return x[lock.Address]
}

// acquires returns the lock of a family that the unfinished call of a thread's innermost function acquires.
func (p *Program) acquires(t *Thread, family string) (address uint64, ok bool) {
	i := slices.IndexFunc(t.Frames, func(fr Frame) bool { return fr.User })
	if i < 0 || p.isUnfollowed(t.Frames[i].lookup()) {
		return 0, false
	}
	f := p.functionAt(t.Frames[i].lookup())
	if f == nil {
		return 0, false
	}
	at := p.PointOf(t, i)
	s, isCall := f.flow.SiteAt(at)
	if !isCall {
		return 0, false
	}
	c := p.sitesOf(f)[s.Index]
	if c.kind != calleeListed || c.call.Family != family || !c.call.Set || c.call.Arg < 0 || c.call.Arg >= len(s.Args) {
		return 0, false
	}
	address, _, ok = f.flow.Value(s, s.Args[c.call.Arg], at)
	return address, ok
}

// releases are the releases of one family that threads may reach without acquiring the lock first.
type releases struct {
	byAddress map[uint64][]Release
	anywhere  []Release // of unknown locks
}

// Releases lists the calls by which threads may release a lock without acquiring it first, at most one per
// thread. Releases known to be of this lock are first.
func (l *Look) Releases(lock Lock) []Release {
	if !HandedOver(lock.Family) {
		return nil
	}
	x := l.open[lock.Family]
	if x == nil {
		x = &releases{byAddress: map[uint64][]Release{}}
		l.open[lock.Family] = x
		for _, t := range l.threads() {
			l.p.releasesOf(t, lock.Family, func(address uint64, r Release) {
				if r.Known {
					x.byAddress[address] = append(x.byAddress[address], r)
				} else {
					x.anywhere = append(x.anywhere, r)
				}
			})
		}
	}
	var out []Release
	seen := map[*Thread]bool{}
	for _, h := range l.Holders(lock) {
		seen[h.Thread] = seen[h.Thread] || h.Certainty != Possible
	}
	for _, r := range slices.Concat(x.byAddress[lock.Address], x.anywhere) {
		if !seen[r.Thread] {
			seen[r.Thread] = true
			out = append(out, r)
		}
	}
	return out
}

// FunctionReleases returns the call by which the function that starts at entry may release a lock without
// acquiring it first.
func (p *Program) FunctionReleases(entry uint64, lock Lock) (Release, bool) {
	if !HandedOver(lock.Family) {
		return Release{}, false
	}
	if f := p.codeFrom(entry); f != nil && OfOpenMP(lock.Family) && isApart(p, f) || !p.gives.SummaryOf(entry) {
		return Release{}, false
	}
	var out Release
	for _, o := range p.opens.SummaryOf(entry) {
		if !o.gives || o.family != lock.Family {
			continue
		}
		switch address, fixed := addressOf(o.lock); {
		case fixed && address == lock.Address:
			return Release{Calls: o.calls, Known: true}, true
		case !fixed && out.Calls == nil:
			out = Release{Calls: o.calls}
		}
	}
	return out, out.Calls != nil
}
