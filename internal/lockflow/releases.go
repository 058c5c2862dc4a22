package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Release is a call by which a thread, or a function that was not called yet, may release a lock that it did not
// acquire before. Runtimes and the C library do what such a call asks for, though neither OpenMP nor POSIX allows
// it: programs use locks so to hand something over from one thread to another.
type Release struct {
	Thread *Thread // nil for a function
	// Calls are the addresses of the instructions that lead to the release, the innermost first.
	Calls []uint64
	// Known is set if the lock that it releases is known, else it may be any of its family.
	Known bool
}

const (
	// maxReleaseDepth bounds the calls that are listed of one release.
	maxReleaseDepth = 8
	// maxOpenReleases bounds the locks of one family that one function is asked for: what it releases
	// beyond that is not known.
	maxOpenReleases = 16
)

// handedOver are the families of locks that a thread may release for another one. The others are released by code
// that the compiler makes, at the end of the block that acquired them.
var handedOver = familySet(rtl.FamilyLock) | familySet(rtl.FamilyNest) | familySet(rtl.FamilyMutex) |
	familySet(rtl.FamilyReadWrite) | familySet(rtl.FamilySpin)

// HandedOver reports whether a thread may release a lock of a family for another one.
func HandedOver(family string) bool { return familySet(family)&handedOver != 0 }

// opening is what a function, or a call, does first with a lock of which nothing is known before.
type opening struct {
	family string
	lock   *symbolic.Expr // nil if it is not known which
	gives  bool           // it may release the lock before it acquires it
	takes  bool           // it acquires the lock before it returns, and does not release it before
	tries  bool           // it may acquire the lock, and does not release it before
	guard  flow.Guard     // of a call that tries
	calls  []uint64       // that lead to the release, the innermost first
}

// openings is the summary of a function: what it does first with each lock.
type openings []opening

func (o opening) isSame(p opening) bool {
	return o.family == p.family && (o.lock == nil) == (p.lock == nil) && (o.lock == nil || o.lock.Equal(p.lock))
}

func (all openings) equal(others openings) bool {
	return slices.EqualFunc(all, others, func(a, b opening) bool {
		return a.isSame(b) && a.gives == b.gives && a.takes == b.takes && a.tries == b.tries
	})
}

// openingsOf is what the call at s does first with locks. What is handed to a function is called at a time that is
// not known, with arguments that are not known.
func openingsOf(s *site, callee func(entry uint64) openings) openings {
	var out openings
	if s.kind == calleeListed {
		c := s.call
		o := opening{family: c.Family, gives: c.Unset && !c.Makes, takes: c.Set, tries: c.Try, calls: []uint64{s.PC}}
		if familySet(c.Family)&handedOver == 0 || !o.gives && !o.takes && !o.tries || c.Lends {
			return nil
		}
		if o.guard = flow.IfZero; OfOpenMP(c.Family) {
			o.guard = flow.IfNonzero
		}
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

// viaCall is o by one more call.
func (o opening) viaCall(pc uint64) opening {
	if len(o.calls) < maxReleaseDepth {
		o.calls = append(slices.Clip(o.calls), pc)
	}
	return o
}

// addressOf returns the address that an expression is, if it depends on nothing.
func addressOf(e *symbolic.Expr) (uint64, bool) {
	if e == nil {
		return 0, false
	}
	return e.Address()
}

// openingCallees returns the functions on which it depends what the one at entry does first with locks.
func openingCallees(p *Program, entry uint64) []uint64 {
	if p.functionAt(entry) != nil && p.reaches.SummaryOf(entry).locks&handedOver == 0 {
		return nil
	}
	return p.calleesOf(entry)
}

// siteOpenings is what each call of a function does first with locks; nil if none does anything.
func siteOpenings(p *Program, f *function, callee func(entry uint64) openings) []openings {
	known := p.plainOf(f)
	if known.ok && !slices.ContainsFunc(known.followed, func(entry uint64) bool { return len(callee(entry)) > 0 }) ||
		p.reaches.SummaryOf(f.entry).locks&handedOver == 0 {
		return nil
	}
	var out []openings
	sites := p.sitesOf(f)
	for i := range sites {
		of := openingsOf(&sites[i], callee)
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

// locksOf lists the locks of some calls, each once, with no more than maxOpenReleases of one family: instead of the
// others there is one that is not known.
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

// mayBe reports whether an acquisition is one of the lock that a release is on. A release of a lock that the function
// has noted on its stack, as a guard of C++, is on one that it has acquired, whichever.
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

// givesAt is what a call does with a lock, if it may release it first.
func givesAt(of openings, lock opening) (opening, bool) {
	i := slices.IndexFunc(of, func(o opening) bool { return o.gives && o.isSame(lock) })
	if i < 0 {
		return opening{}, false
	}
	return of[i], true
}

// computeOpenings summarizes what a function does first with locks.
func computeOpenings(p *Program, entry uint64, callee func(entry uint64) openings) openings {
	f := p.functionAt(entry)
	if f == nil || p.classAt(entry) == Opaque || p.reaches.SummaryOf(entry).locks&handedOver == 0 {
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

// openRelease is a call of a function by which it may release a lock from a point on, though it did not acquire it.
type openRelease struct {
	opening
	site     int
	underWay bool
}

// opened is what the code from a point on does first with locks.
type opened struct {
	sites    []openings
	underWay openings // what the call under way does, which no frame is in
	releases []openRelease
}

// openedAt is what a frame's function does first with locks from where it is. innermost is set if no function of the
// program was called by the frame's.
func (p *Program) openedAt(f *function, fr *Frame, innermost bool) *opened {
	pt := f.pointAt(fr)
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
			continue // it has acquired it when it comes to what follows
		}
		paths := pathsFor(f, out.sites, lock)
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

// pastEffects is what the calls of a function do with a lock.
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

// acquiresFirst reports whether a thread acquires the lock at an address before frame i returns.
func (p *Program) acquiresFirst(t *Thread, i int, innermost bool, lock Lock) bool {
	f := p.functionAt(t.Frames[i].lookup())
	if f == nil || p.classAt(t.Frames[i].lookup()) == Opaque {
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

// takesAt reports whether a call acquires the lock at an address, as far as that is known.
func takesAt(f *function, from flow.Ahead, site int, of openings, lock Lock) bool {
	return slices.ContainsFunc(of, func(o opening) bool {
		if o.family != lock.Family || !o.takes || o.lock == nil {
			return false
		}
		v, _, ok := from.Value(f.sites[site].CallSite, o.lock)
		return ok && v == lock.Address
	})
}

// stopsAt returns the calls of a function that acquire the lock at an address.
func stopsAt(f *function, from flow.Ahead, sites []openings, lock Lock) (stops []bool, some bool) {
	stops = make([]bool, len(sites))
	for i, of := range sites {
		stops[i] = takesAt(f, from, i, of, lock)
		some = some || stops[i]
	}
	return stops, some
}

// releasesOf calls add for each release of a lock of a family that a thread may come to without acquiring the lock
// before.
func (p *Program) releasesOf(t *Thread, family string, add func(address uint64, r Release)) {
	var inner []int // the frames of the program that were looked at
	for i := range min(len(t.Frames), maxFrames) {
		fr := &t.Frames[i]
		if !fr.User {
			continue
		}
		if f := p.functionAt(fr.lookup()); f != nil && p.classAt(fr.lookup()) != Opaque &&
			!(OfOpenMP(family) && isApart(p, f)) && (len(inner) == 0 || p.releasesFrom(fr)&familySet(family) != 0) {
			p.releasesIn(t, i, f, family, inner, add)
		}
		inner = append(inner, i)
	}
}

// releasesIn is releasesOf for one frame.
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

// Handed lists the functions of the program that a thread has handed to calls which have not returned: those of
// regions, say, which other threads may be about to execute.
func (p *Program) Handed(t *Thread) []uint64 {
	var out []uint64
	for i := range min(len(t.Frames), maxFrames) {
		fr := &t.Frames[i]
		if !fr.User || p.classAt(fr.lookup()) == Opaque {
			continue
		}
		f := p.functionAt(fr.lookup())
		if f == nil {
			continue
		}
		if s, ok := f.flow.SiteAt(flow.Point{PC: fr.PC, Exact: fr.Exact}); ok {
			out = append(out, p.sitesOf(f)[s.Index].callbacks...)
		}
	}
	return out
}

// Entered lists the functions of the program that a thread is in.
func (p *Program) Entered(t *Thread) []uint64 {
	var out []uint64
	for i := range min(len(t.Frames), maxFrames) {
		fr := &t.Frames[i]
		if !fr.User || p.classAt(fr.lookup()) == Opaque {
			continue
		}
		if f := p.functionAt(fr.lookup()); f != nil {
			out = append(out, f.entry)
		}
	}
	return out
}

// Acquiring lists the threads that are in a call which acquires a lock.
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

// acquires returns the lock of a family that the call under way of a thread's innermost function acquires.
func (p *Program) acquires(t *Thread, family string) (address uint64, ok bool) {
	i := slices.IndexFunc(t.Frames, func(fr Frame) bool { return fr.User })
	if i < 0 || p.classAt(t.Frames[i].lookup()) == Opaque {
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

// releases are the releases of one family that threads may come to without acquiring the lock before.
type releases struct {
	byAddress map[uint64][]Release
	anywhere  []Release // of which it is not known what they release
}

// Releases lists the calls by which threads may release a lock that they did not acquire before, as far as their code
// shows; those first of which it is known that it is this lock. There is one of each thread.
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

// FunctionReleases returns the call by which the function that begins at entry may release a lock that it did not
// acquire before; not ok if it has none.
func (p *Program) FunctionReleases(entry uint64, lock Lock) (Release, bool) {
	if !HandedOver(lock.Family) {
		return Release{}, false
	}
	if f := p.functionAt(entry); f != nil && OfOpenMP(lock.Family) && isApart(p, f) {
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
