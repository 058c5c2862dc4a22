package lockflow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Departure is a place at which code leaves with a lock that it took and does not release.
type Departure struct {
	flow.Departure
	// Call is the address after a call that may leave the function by an exception or a jump while the lock is
	// held; 0 for a branch.
	Call uint64
	// Throws is the function that leaves it.
	Throws string
	// Unknown is set if the call executes a function through a pointer, and the code does not show which: an exception
	// may come from there. Throws is then empty, or a check that may have failed.
	Unknown bool
}

const (
	// maxDepartures bounds the places reported for one lock.
	maxDepartures = 4
	// maxTakeDepth bounds the chain of calls from a function of the program to the call that takes a lock.
	maxTakeDepth = 8
)

// Departures lists the places at which code leaves without releasing lock, the most likely first. It looks at the
// functions that wait for the lock in the innermost frames of waiters. If there are no such places, it looks at the
// calls that may have taken the lock. If no call is known that took it, it looks at the calls that have returned or
// were left by an exception.
func (l *Look) Departures(lock Lock, waiters []*Thread) []Departure {
	d := &departures{
		p: l.p, family: lock.Family, seen: map[uint64]bool{}, asked: map[taking]int{},
		escapes: &escapes{p: l.p, family: lock.Family, threads: l.threads(), fates: map[uint64]fate{}},
	}
	for _, t := range waiters {
		i := slices.IndexFunc(t.Frames, func(fr Frame) bool { return fr.User })
		if i < 0 {
			continue
		}
		fr := &t.Frames[i]
		f := l.p.functionAt(fr.lookup())
		if f == nil {
			continue
		}
		if s, ok := f.flow.SiteAt(flow.Point{PC: fr.PC, Exact: fr.Exact}); ok {
			d.takenBy(f, s.Index, 0, nil)
		}
	}
	for _, h := range l.Holders(lock) {
		if len(d.sure) > 0 {
			break
		}
		f := l.p.functionAt(h.Thread.Frames[h.Frame].lookup())
		for _, s := range h.Taken {
			d.takenBy(f, s.Index, maxTakeDepth, nil)
		}
	}
	// A thread may hold the lock by a call that an exception left: then no call is known that took it.
	taken := slices.ContainsFunc(l.Holders(lock), func(h Holder) bool { return len(h.Taken) > 0 })
	if !taken && len(d.known())+len(d.checked) == 0 && !slices.ContainsFunc(d.unknown, mayFail) {
		d.near, d.unknown = d.unknown, nil
		d.addPassed(lock)
	}
	return d.list()
}

// mayFail reports whether the call of a departure makes a check that may have failed.
func mayFail(d Departure) bool { return d.Throws != "" }

// known returns the departures that the code shows, except those at failing checks.
func (d *departures) known() []Departure {
	switch {
	case len(d.sure) > 0:
		return d.sure
	case len(d.thrown) > 0:
		return d.thrown
	}
	return d.again
}

// list returns the departures, the most likely first. An exception of an unknown function is as likely as one that the
// code shows, and less likely than any other departure.
func (d *departures) list() []Departure {
	isException := func(d Departure) bool { return exitsBy(d.Throws).thrown != "" }
	known := d.known()
	switch {
	case len(known) == 0:
		return slices.Concat(d.near, d.unknown, d.checked)
	case !slices.ContainsFunc(known, isException):
		return known
	case len(d.near) > 0:
		return firstOfEach(d.near, known, d.unknown)
	}
	return firstOfEach(known, d.unknown)
}

// firstOfEach returns the departures of some lists, the first ones before all others: a verdict names few.
func firstOfEach(lists ...[]Departure) []Departure {
	var first, others []Departure
	for _, l := range lists {
		if len(l) > 0 {
			first, others = append(first, l[0]), append(others, l[1:]...)
		}
	}
	return append(first, others...)
}

// departures gathers the departures of one lock.
type departures struct {
	p       *Program
	family  string
	escapes *escapes
	seen    map[uint64]bool // functions, by entry
	asked   map[taking]int  // depth of the calls followed from a site, plus 1
	sure    []Departure     // branches, and calls that throw
	thrown  []Departure     // calls of functions that may throw
	again   []Departure     // calls that only throw an exception again: another call threw it first
	checked []Departure     // failing checks of the language or of its library, which are rare
	near    []Departure     // calls of unknown functions in functions with waiters, if no other departure is there
	unknown []Departure     // other calls of unknown functions
}

// taking is a call site of a function, by its entry, that takes a lock or leads to one that does.
type taking struct {
	entry uint64
	index int
}

// looksLike reports whether the code computes the locks of two effects in the same way from partly unknown
// values, as for two elements of one array.
func (e effect) looksLike(o effect) bool {
	return e.family == o.family && e.lock != nil && o.lock != nil && e.lock.String() == o.lock.String()
}

// takenBy searches a function with a call site that takes the lock, or leads to a call that does. callers are the calls
// that lead to the function from one on a stack, the innermost first.
func (d *departures) takenBy(f *function, index, depth int, callers []call) {
	if f == nil || d.p.isUnfollowed(f.entry) {
		return
	}
	// Functions that call each other at many sites are searched once, not once per path.
	at := taking{f.entry, index}
	if d.asked[at] > depth {
		return
	}
	d.asked[at] = depth + 1
	s := &d.p.sitesOf(f)[index]
	switch {
	case s.kind == calleeListed && (s.call.Set || s.call.Try) && s.call.Family == d.family:
		d.look(f, s.Index, callers)
	case s.kind == calleeFollowed && depth > 0:
		g := d.p.codeFrom(s.entry)
		if g == nil {
			return
		}
		sites := d.p.familySites(g, d.family)
		for k, e := range sites.effects {
			if e.does.MaySets() {
				d.takenBy(g, sites.site[k], depth-1, append([]call{{f, s.PC, s.Return == 0}}, callers...))
			}
		}
	}
}

// addPassed searches the functions that threads called on the way to their points, and that take the lock. Their
// summaries do not list a lock that they release on each path to their return, but an exception may have left them.
func (d *departures) addPassed(lock Lock) {
	for _, t := range d.escapes.threads {
		for i := range min(len(t.Frames), maxFrames) {
			fr := &t.Frames[i]
			f := d.p.functionAt(fr.lookup())
			if !fr.User || f == nil || d.p.isUnfollowed(fr.lookup()) {
				continue
			}
			w := &passedCalls{departures: d, lock: lock, frame: &candidate{f: f, at: d.p.PointOf(t, i)}}
			before := f.flow.CalledBefore(w.frame.at)
			sites := d.p.sitesOf(f)
			now, isCall := f.flow.SiteAt(w.frame.at)
			for k := range sites {
				s := &sites[k]
				passed := slices.ContainsFunc(before, func(c flow.Call) bool { return c.PC == s.PC })
				// A function that ended in a tail call has no frame.
				if passed || isCall && k == now.Index && !d.p.isCalled(t, i, s.entry) {
					w.follow([]call{{f, s.PC, s.Return == 0}}, []*site{s})
				}
			}
		}
	}
}

// passedCalls follows the calls by which a frame came to its point.
type passedCalls struct {
	*departures
	lock  Lock
	frame *candidate
	count int // of the followed calls
}

// maxPassedCalls bounds the calls that are followed from one frame.
const maxPassedCalls = 256

// follow searches the function that the innermost call calls for calls that take the lock, if an exception may leave
// it. chain and sites are the same calls, the innermost first.
func (w *passedCalls) follow(chain []call, sites []*site) {
	s := sites[0]
	if s.kind != calleeFollowed || len(sites) > maxTakeDepth || w.count == maxPassedCalls ||
		w.p.reaches.SummaryOf(s.entry).locks&familySet(w.family) == 0 || w.p.exitsOf(s) == (exits{}) {
		return
	}
	w.count++
	g := w.p.codeFrom(s.entry)
	if g == nil || w.p.isUnfollowed(s.entry) {
		return
	}
	of := w.p.sitesOf(g)
	for i := range of {
		in := &of[i]
		if in.kind == calleeListed && (in.call.Set || in.call.Try) && in.call.Family == w.family &&
			w.isLock(in, sites) {
			w.look(g, in.Index, chain)
		}
		w.follow(append([]call{{g, in.PC, in.Return == 0}}, chain...), append([]*site{in}, sites...))
	}
}

// isLock reports whether a call takes the lock. sites are the calls that lead to it, the innermost first.
func (w *passedCalls) isLock(s *site, sites []*site) bool {
	list := listedEffects(s).list
	if len(list) == 0 {
		return false
	}
	e := list[0] // a call takes one lock
	if e.single {
		return w.lock.Address == 0
	}
	for _, c := range sites {
		if e.lock == nil || !e.lock.OfArgs() { // a variable of another function
			return false
		}
		e.lock = e.lock.WithArgs(c.Args)
	}
	v := w.frame.valueOf(sites[len(sites)-1].CallSite, e)
	return v.known && v.address == w.lock.Address
}

// look finds the departures of f while it holds the lock taken by the call at index.
func (d *departures) look(f *function, index int, callers []call) {
	if d.seen[f.entry] {
		return
	}
	d.seen[f.entry] = true
	sites := d.p.familySites(f, d.family)
	k := slices.Index(sites.site, index)
	if k < 0 {
		return
	}
	lock := sites.effects[k]
	// If some calls release exactly this lock, calls on locks that only look like it are on other locks.
	exact := slices.ContainsFunc(sites.effects, func(e effect) bool { return e.isSame(lock) && e.does.MayClears() })
	// A thread that holds the lock for reading does not return from a call that takes it for writing.
	shared := lock.lock != nil && shares([][]effect{sites.effects}, lock)
	none := make([]flow.Effect, len(f.sites))
	does, first, alike := none, slices.Clone(none), slices.Clone(none)
	for i, e := range sites.effects {
		switch s := sites.site[i]; {
		case e.isSame(lock) || e.looksLike(lock) && !exact:
			does[s], first[s], alike[s] = e.does, e.first(), e.first()
			if shared && e.alone && e.does == flow.Sets && e.isSame(lock) {
				first[s], alike[s] = flow.NoReturn, flow.NoReturn
			}
		case e.looksLike(lock):
			alike[s] = e.first()
		case e.lock == nil && !e.single:
			does[s], first[s] = e.does.Perhaps(), e.first().Perhaps()
			alike[s] = first[s]
		}
	}
	for i := range f.sites {
		if s := &f.sites[i]; s.kind == calleeFollowed && does[i] == flow.NoEffect && d.p.endsProgram(s.entry) {
			first[i], alike[i] = flow.NoReturn, flow.NoReturn
		}
	}
	for _, w := range f.flow.Departures(does, first, alike) {
		add(&d.sure, Departure{Departure: w})
	}
	for i, held := range f.flow.TrueAt(does) {
		if s := &f.sites[i]; held && does[i] == flow.NoEffect {
			d.addExits(s, append([]call{{f, s.PC, s.Return == 0}}, callers...), alike)
		}
	}
}

// endsHeld reports whether no code releases the lock after the call at s in f returns: none of f, and none of its
// callers on the stacks. Then an exception makes no difference. first are the first effects of the calls of f.
func (d *departures) endsHeld(f *function, s *site, first []flow.Effect) bool {
	if s.Return == 0 || d.p.cfg.Handler == nil || rtl.Leaves(s.Name) ||
		s.kind == calleeFollowed && d.p.endsProgram(s.entry) { // it has no other way
		return false
	}
	if mayClearFrom(f, flow.Point{PC: s.Return, Exact: true}, first) {
		return false
	}
	found := false
	for _, t := range d.escapes.threads {
		for i := range min(len(t.Frames), maxFrames) {
			if g := d.p.frameFunction(&t.Frames[i]); g != nil && g.entry == f.entry {
				if found = true; d.mayReleaseFrom(t, i+1) {
					return false
				}
			}
		}
	}
	return found
}

// mayReleaseFrom reports whether the frames of t from index i on may release the lock, up to the runtime.
func (d *departures) mayReleaseFrom(t *Thread, i int) bool {
	for ; i < len(t.Frames); i++ {
		fr := &t.Frames[i]
		if d.p.cfg.Handler(fr.lookup()).Runtime {
			return false
		}
		f := d.p.frameFunction(fr)
		if f == nil {
			return true
		}
		first := make([]flow.Effect, len(f.sites))
		sites := d.p.familySites(f, d.family)
		for k, e := range sites.effects {
			if e.first().MayClears() {
				first[sites.site[k]] = e.first()
			}
		}
		if mayClearFrom(f, d.p.PointOf(t, i), first) {
			return true
		}
	}
	return !t.Whole
}

// mayClearFrom reports whether f may come from a point to a call that releases a lock, by the effects of its calls.
func mayClearFrom(f *function, at flow.Point, effects []flow.Effect) bool {
	from, ok := flow.AheadOf(f.flow, at)
	if !ok {
		return true
	}
	reached, _ := from.Reach(flow.Paths{})
	for i, e := range effects {
		if reached[i] && e.MayClears() {
			return true
		}
	}
	return false
}

// addExits adds the ways in which the call at s may leave its caller without returning. chain contains this call and
// those that lead to its function. first are the first effects of the calls of that function.
func (d *departures) addExits(s *site, chain []call, first []flow.Effect) {
	e := d.p.exitsOf(s)
	if e == (exits{}) || len(chain) == 1 && d.endsHeld(chain[0].f, s, first) {
		return
	}
	at := func(by string) Departure { return Departure{Call: max(s.Return, s.PC+1), Throws: by} }
	sure := &d.thrown
	if rtl.Leaves(s.Name) {
		sure = &d.sure
	}
	escape := never
	if e.thrown != "" || e.checked != "" || e.unknown {
		escape = d.escapes.find(chain, false)
	}
	caught := escape != never
	// The code shows no exception of an unknown function. Only a handler on the way shows that there may be one.
	unknown := e.unknown && escape == handled && d.p.cfg.Handler != nil
	switch {
	case e.jumped != "":
		add(sure, at(e.jumped))
	case e.thrown != "" && caught && rtl.Rethrows(e.thrown):
		add(&d.again, at(e.thrown))
	case e.thrown != "" && caught:
		add(sure, at(e.thrown))
	case e.ended != "" && d.escapes.mayContinue(chain, true):
		add(sure, at(e.ended))
	case unknown:
		add(&d.unknown, Departure{Call: max(s.Return, s.PC+1), Throws: e.checked, Unknown: true})
	case e.checked != "" && caught:
		add(&d.checked, at(e.checked))
	}
}

// endsProgram reports whether the code at entry never returns, such as the cold part of a function that ends in a
// failing assertion.
func (p *Program) endsProgram(entry uint64) bool {
	seen := map[uint64]bool{}
	for work := []uint64{entry}; len(work) > 0; {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		f := p.codeFrom(at)
		if f == nil || len(seen) > maxParts {
			return false
		}
		never, elsewhere := flow.NeverReturns(f.flow)
		if !never {
			return false
		}
		work = append(work, elsewhere...)
	}
	return true
}

// add appends d to a bounded list.
func add(list *[]Departure, d Departure) {
	if len(*list) < maxDepartures {
		*list = append(*list, d)
	}
}
