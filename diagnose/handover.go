package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// helpers are the threads and tasks that may release a lock which they have not acquired. One of them lets the
// thread that waits for the lock proceed, whatever the lock's holder does.
type helpers struct {
	// known has an edge to each of those of which it is known that they may release this lock.
	known *bundle
	// perhaps are those that may release a lock of its kind of which it is not known which one it is.
	perhaps []node
}

// helpWith tells apart which helpers count.
type helpWith uint8

const (
	noHelp helpWith = iota
	knownHelp
	anyHelp
)

// addHelpers adds those who may release the lock that w waits for and have not acquired it, beside the holder that x
// needs.
func (b *builder) addHelpers(w *picture.Wait, l *picture.Lock, x *needs) {
	if len(l.Releases) == 0 || !x.never && len(x.bundles) == 0 {
		return
	}
	h := helpers{known: &bundle{any: true, help: true}}
	held := func(lwp int) bool {
		return slices.ContainsFunc(x.bundles, func(of *bundle) bool {
			return slices.ContainsFunc(of.edges, func(e edge) bool { return e.to == node{lwp: lwp} })
		})
	}
	for _, r := range l.Releases {
		to := node{lwp: r.Thread, task: r.Task}
		switch {
		case to.isThread() && (r.Thread == w.Thread || held(r.Thread)):
		case r.Certainty == picture.Possible:
			h.perhaps = append(h.perhaps, to)
		default:
			h.known.edges = append(h.known.edges, edge{to: to, certainty: picture.Likely, taken: r.Frame, help: true,
				evidence: "it may release it" + releaseIn(r.Frame) + ", though it has not acquired it"})
		}
	}
	x.helpers = h
}

// mayHaveIt reports whether a thread that seems to wait for a lock may just have been given it, and not left the
// runtime's code.
func (x *index) mayHaveIt(w *picture.Wait, l *picture.Lock) bool {
	switch {
	case w.Kind != picture.WaitLock && w.Kind != picture.WaitNestLock:
		return false
	case len(l.Waiters) > 0:
		return !slices.Contains(l.Waiters, w.Thread)
	case l.Waiting != nil:
		return *l.Waiting < len(x.sameTarget(w))
	}
	return l.Implementation == "futex" && !w.Asleep
}

// anyHasIt reports whether one of the threads that are in a call which acquires a lock may have it, so that a
// thread of which the code shows that it holds it does not.
func (x *index) anyHasIt(w *picture.Wait, l *picture.Lock) bool {
	return len(l.Acquiring) > 0 || slices.ContainsFunc(x.sameTarget(w), func(lwp int) bool {
		o := x.locks[lwp]
		return o != nil && o.ID == l.ID && x.mayHaveIt(x.waits[lwp], l)
	})
}

// releaseIn is " in main x.c:23", the place of a release; empty if it is not known.
func releaseIn(at *picture.Frame) string {
	if at == nil || at.Line == 0 {
		return ""
	}
	return " in " + place(*at)
}

// helped reports whether code of others may release the lock that a thread waits for.
func (d *drawer) helped(lwp int) bool {
	x := d.nodes[node{lwp: lwp}]
	if x == nil {
		return false
	}
	h := x.helpers
	return h.known != nil && len(h.known.edges) > 0
}

// freed reports whether a thread proceeds though it seems to hold what it waits for.
func (d *drawer) freed(lwp int) bool {
	w, l := d.waits[lwp], d.locks[lwp]
	return l != nil && l.Owner == 0 && l.HandedOver && !d.isStuck(lwp) && d.anyHasIt(w, l)
}

// handedOver finds locks whose holder waits, for the lock itself or for what those who wait for the lock must do, but
// which others may release that have not acquired them.
func handedOver(d *drawer) []picture.Verdict {
	without := d.fixpoint(nil, func(node) bool { return false }, noHelp)
	var out []picture.Verdict
	told := map[target]bool{}
	for _, lwp := range d.order {
		w, l, n := d.waits[lwp], d.locks[lwp], node{lwp: lwp}
		if l == nil || told[targetOf(w)] || d.stuck[n] || !without[n] || !d.helped(lwp) {
			continue
		}
		told[targetOf(w)] = true
		out = append(out, d.tellHandedOver(w, l))
	}
	return out
}

// helperName names a thread or a task that may release a lock.
func (d *drawer) helperName(n node) string {
	switch {
	case n.isThread():
		return d.who(n.lwp)
	case n.task == "":
		return "a thread that joins the team"
	}
	return "task " + string(n.task)
}

// tellHandedOver makes the information on one lock.
func (d *drawer) tellHandedOver(w *picture.Wait, l *picture.Lock) picture.Verdict {
	what, lwps := phrase.Awaited(d.target(w)), d.sameTarget(w)
	v := picture.Verdict{
		Kind: picture.VerdictLockHandedOver, Severity: picture.SeverityInfo, Certainty: picture.Likely,
		Threads: slices.Clone(lwps),
	}
	since, holder := "", l.Owner
	if h, ok := oneHolder(l.Holders); ok && (holder == 0 || h.Thread == holder) {
		if holder = h.Thread; h.AcquiredAt != nil && h.AcquiredAt.Line != 0 {
			since = " since " + place(*h.AcquiredAt)
		}
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", h.Thread, h.Evidence))
	} else {
		v.Evidence = append(v.Evidence, l.Evidence)
	}
	var who []string
	edges := d.nodes[node{lwp: w.Thread}].helpers.known.edges
	free := slices.DeleteFunc(slices.Clone(edges), func(e edge) bool { return d.stuck[e.to] })
	rule := "OpenMP"
	if w.Kind == picture.WaitMutex || w.Kind == picture.WaitReadWrite {
		rule = "POSIX"
	}
	for _, e := range free[:min(len(free), maxNamed)] {
		name := d.helperName(e.to)
		at := releaseIn(e.taken)
		who = append(who, name+" may release it"+at)
		v.Evidence = append(v.Evidence, fmt.Sprintf("the code of %s comes to a release%s, and to no call before that "+
			"acquires it", name, at))
	}
	v.Summary = fmt.Sprintf("%s is held%s by %s; %s, which %s does not allow", what, since, d.who(holder),
		phrase.Clauses(who, maxNamed, len(free)), rule)
	v.Explanation = fmt.Sprintf("%s for %s, and its holder waits, too. That is no deadlock while another thread may "+
		"release the lock. %s requires that the thread which acquired a lock releases it; the runtimes do not check "+
		"that.", d.wait(lwps), what, rule)
	v.Fix = "hand over from thread to thread by task dependences, a semaphore (sem_post) or a condition variable, " +
		"and let each thread release the locks that it has acquired"
	return v
}
