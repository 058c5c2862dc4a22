package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// isFreed reports whether a thread proceeds although it seems to hold the lock that it waits for.
func (d *dependencies) isFreed(lwp int) bool {
	w, l := d.waits[lwp], d.locks[lwp]
	return l != nil && l.Owner == 0 && l.HandedOver && !d.isStuck(lwp) && d.anyMayHaveAcquired(w, l)
}

// findHandedOverLocks finds locks with a holder that waits, for the lock itself or for the threads that wait for
// it. Other threads may release these locks without having acquired them.
func findHandedOverLocks(d *dependencies) []picture.Verdict {
	without := d.fixpoint(nil, func(node) bool { return false }, noHelp)
	var out []picture.Verdict
	seen := map[waitKey]bool{}
	for _, lwp := range d.order {
		w, l, n := d.waits[lwp], d.locks[lwp], node{lwp: lwp}
		if l == nil || seen[keyOf(w)] || d.stuck[n] || !without[n] || !d.isHelped(lwp) {
			continue
		}
		seen[keyOf(w)] = true
		out = append(out, explainHandover(d, w, l))
	}
	return out
}

// helperName names a thread or a task that may release a lock.
func helperName(x *index, n node) string {
	switch {
	case n.isThread():
		return x.threadName(n.lwp)
	case n.task == "":
		return "a thread that joins the team"
	}
	return "task " + string(n.task)
}

// explainHandover returns the verdict on one lock.
func explainHandover(d *dependencies, w *picture.Wait, l *picture.Lock) picture.Verdict {
	what, lwps := phrase.Awaited(d.waitTarget(w)), d.waitersFor(w)
	v := newVerdict(picture.VerdictLockHandedOver, picture.Likely)
	v.Threads = slices.Clone(lwps)
	since, holder := "", l.Owner
	if h, ok := oneHolder(l.Holders); ok && (holder == 0 || h.Thread == holder) {
		if holder = h.Thread; h.AcquiredAt != nil && h.AcquiredAt.Line != 0 {
			since = " since " + place(*h.AcquiredAt)
		}
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %s", d.threadName(h.Thread), h.Evidence))
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
		name := helperName(d.index, e.to)
		at := placeAfter(" in ", e.place)
		who = append(who, name+" may release it"+at)
		v.Evidence = append(v.Evidence, fmt.Sprintf("the code of %s comes to a release%s, and to no call before that "+
			"acquires it", name, at))
	}
	v.Summary = fmt.Sprintf("%s is held%s by %s; %s, which %s does not allow", what, since, d.threadName(holder),
		phrase.Clauses(who, maxNamed, len(free)), rule)
	v.Explanation = fmt.Sprintf("%s for %s, and its holder waits, too. That is no deadlock while another thread may "+
		"release the lock. %s requires that the thread which acquired a lock releases it; the runtimes do not check "+
		"that.", d.threadsWait(lwps), what, rule)
	return v
}
