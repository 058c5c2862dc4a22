package lockflow

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Departure is a place where code that takes a lock goes on without giving it back.
type Departure struct {
	flow.Departure
	// Call is the address behind a call that may leave the function by an exception or a
	// jump while it has the lock; 0 for a branch.
	Call uint64
	// Throws is the function by which that is left.
	Throws string
}

const (
	// maxDepartures bounds the places that are told of for one lock.
	maxDepartures = 4
	// maxTakeDepth bounds the calls by which a function of the program leads to the one
	// that takes a lock.
	maxTakeDepth = 8
)

// Departures lists where code that took a lock, or that takes it now, goes on without giving
// it back: the functions of the innermost frames of waiters, else those of the calls that may
// have taken it.
func (l *Look) Departures(lock Lock, waiters []*Thread) []Departure {
	d := &departures{p: l.p, family: lock.Family, seen: map[uint64]bool{}, asked: map[taking]int{}}
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
			d.takenBy(f, s.Index, 0)
		}
	}
	for _, h := range l.Holders(lock) {
		if len(d.sure) > 0 {
			break
		}
		f := l.p.functionAt(h.Thread.Frames[h.Frame].lookup())
		for _, s := range h.Taken {
			d.takenBy(f, s.Index, maxTakeDepth)
		}
	}
	if len(d.sure) > 0 {
		return d.sure
	}
	return d.thrown
}

// departures gathers the departures of one lock.
type departures struct {
	p      *Program
	family string
	seen   map[uint64]bool // functions, by entry
	asked  map[taking]int  // how deep calls were followed from a site, and one more
	sure   []Departure     // branches, and calls that throw
	thrown []Departure     // calls of functions that may throw, and failing checks
}

// taking is a call site of a function, by its entry, that takes a lock or leads to one that does.
type taking struct {
	entry uint64
	index int
}

// looksLike reports whether two effects are on locks that the code finds in the same way, of
// which a part is not known: elements of one array, say.
func (e effect) looksLike(o effect) bool {
	return e.family == o.family && e.lock != nil && o.lock != nil && e.lock.String() == o.lock.String()
}

// takenBy looks at a function whose call at a site takes the lock, or leads to one that does.
func (d *departures) takenBy(f *function, index, depth int) {
	if f == nil || d.p.classAt(f.entry) == Opaque {
		return
	}
	// Functions that call each other at many sites are looked at once, not on each way through them.
	at := taking{f.entry, index}
	if d.asked[at] > depth {
		return
	}
	d.asked[at] = depth + 1
	s := &d.p.sitesOf(f)[index]
	switch {
	case s.kind == calleeListed && (s.call.Set || s.call.Try) && s.call.Family == d.family:
		d.look(f, s.Index)
	case s.kind == calleeFollowed && depth > 0:
		g := d.p.functionAt(s.entry)
		if g == nil {
			return
		}
		sites := d.p.familySites(g, d.family)
		for k, e := range sites.effects {
			if e.does.MaySets() {
				d.takenBy(g, sites.site[k], depth-1)
			}
		}
	}
}

// look finds the departures of f while it has what the call at a site takes.
func (d *departures) look(f *function, index int) {
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
	// Where calls release just this lock, those on locks that only look like it are on others.
	exact := slices.ContainsFunc(sites.effects, func(e effect) bool { return e.isSame(lock) && e.does.MayClears() })
	// Who has it for reading does not come back from a call that takes it for writing.
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
		if s := &f.sites[i]; s.kind == calleeFollowed && does[i] == flow.NoEffect && d.endsProgram(s.entry) {
			first[i], alike[i] = flow.NoReturn, flow.NoReturn
		}
	}
	for _, w := range f.flow.Departures(does, first, alike) {
		add(&d.sure, Departure{Departure: w})
	}
	for i, held := range f.flow.TrueAt(does) {
		s := &f.sites[i]
		by := d.p.throwsFrom(s)
		if !held || does[i] != flow.NoEffect || by == "" {
			continue
		}
		list := &d.thrown
		if rtl.Leaves(s.Name) && !rtl.Checks(s.Name) {
			list = &d.sure
		}
		add(list, Departure{Call: max(s.Return, s.PC+1), Throws: by})
	}
}

// endsProgram reports whether a function does not come back, as a part of one that the compiler laid elsewhere, with
// the end of an assertion.
func (d *departures) endsProgram(entry uint64) bool {
	f := d.p.FlowAt(entry)
	return f != nil && flow.NeverReturns(f)
}

// add adds to a list that is bounded.
func add(list *[]Departure, d Departure) {
	if len(*list) < maxDepartures {
		*list = append(*list, d)
	}
}

// throwsFrom names what may leave the call at s, and the function that made it, other than
// by a return; empty if nothing is known to.
func (p *Program) throwsFrom(s *site) string {
	if rtl.Leaves(s.Name) {
		name, _, _ := strings.Cut(s.Name, "@")
		return name
	}
	if s.kind != calleeFollowed {
		return ""
	}
	return p.throws.SummaryOf(s.entry)
}

// computeThrows names a function that throws, and that a function calls, given those of the
// functions that it calls.
func (p *Program) computeThrows(entry uint64, callee func(entry uint64) string) string {
	f := p.functionAt(entry)
	if f == nil {
		return ""
	}
	out := ""
	var calls []site
	if o := p.outlineOf(f); o.isDirect() {
		calls = o.calls
	} else {
		calls = p.sitesOf(f)
	}
	for i := range calls {
		s := &calls[i]
		name, _, _ := strings.Cut(s.Name, "@")
		switch {
		case rtl.Leaves(name):
		case s.kind == calleeFollowed:
			name = callee(s.entry)
		default:
			name = ""
		}
		if name != "" && (out == "" || name < out) {
			out = name
		}
	}
	return out
}
