package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findFreedLocks finds threads that wait for a lock that no longer exists: its memory was freed, or the runtime has
// destroyed it.
func findFreedLocks(d *dependencies) []picture.Verdict {
	out := findNoLocks(d)
	seen := map[picture.Hex]bool{}
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || l.InvalidReason == "" || l.NeverLock || seen[waitAddress(w)] {
			continue
		}
		seen[waitAddress(w)] = true
		what := phrase.Awaited(d.waitTarget(w))
		v := newVerdict(picture.VerdictLockFreed, picture.Likely)
		v.Threads, v.Evidence = slices.Clone(d.waitersFor(w)), []string{l.InvalidReason}
		v.Summary = fmt.Sprintf("%s for %s, whose memory has been freed", d.threadsWait(v.Threads), what)
		if l.Overwritten {
			v.Summary = fmt.Sprintf("%s for %s, whose memory has been reused", d.threadsWait(v.Threads), what)
		}
		v.Explanation = "A lock that no longer exists cannot be released. What is in that memory now, or later, " +
			"may be mistaken for the lock and overwritten."
		h, known := d.holderOfInvalid(w, l)
		switch {
		case l.Destroyed:
			v.Certainty = picture.Certain
			v.Summary = fmt.Sprintf("%s for %s, which has been destroyed", d.threadsWait(v.Threads), what)
			v.Explanation = "A destroyed lock has lost its queue of waiters: nothing will wake them."
		case h != 0 && !d.stuck[node{lwp: h}]:
			v.Severity, v.Certainty = picture.SeverityWarning, picture.Certain
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s %s", d.threadName(h), holderEvidence(l)))
			v.Explanation = d.threadName(h) + " holds the lock and may still release it, by writing to memory that " +
				"no longer belongs to the lock."
		case !known:
			v.Certainty = picture.Possible
			v.Explanation += " Whether a thread holds the lock, and may still release it by writing to that " +
				"memory, is not known."
			others := d.otherHolders(w, l)
			for _, m := range others[:min(len(others), maxNamed)] {
				v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %s", d.threadName(m.Thread), m.Evidence))
			}
		case h == 0:
			v.Evidence = append(v.Evidence, "no thread's stack shows that it holds the lock")
		}
		v.Explanation = d.waitPlaces(v.Threads) + v.Explanation
		d.addBlocked(&v)
		out = append(out, v)
	}
	return out
}

// waitPlaces returns a sentence with the places in the program's code at which threads wait, "" if none has a line.
func (d *dependencies) waitPlaces(lwps []int) string {
	var all []string
	for _, lwp := range lwps {
		f, ok := innermostWithLine(d.frames(lwp))
		if !ok {
			continue
		}
		if at := place(f); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("The call is in %s. ", strings.Join(all[:min(len(all), maxNamed)], ", "))
}

// holderEvidence returns the evidence for the holder of a freed lock.
func holderEvidence(l *picture.Lock) string {
	if l.Owner != 0 {
		return "holds it: " + l.Evidence
	}
	return l.Holders[0].Evidence
}

// findNoLocks returns one verdict on all threads that wait for memory that never was a lock. A thread that may hold
// such a lock, and does not wait itself, may still release it: then the verdict is a warning.
func findNoLocks(d *dependencies) []picture.Verdict {
	o := &orphan{}
	seen, held := map[picture.Hex]bool{}, false
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || !l.NeverLock || isUnordered(w, l) || seen[waitAddress(w)] {
			continue
		}
		seen[waitAddress(w)] = true
		o.locks, o.targets = append(o.locks, l), append(o.targets, d.waitTarget(w))
		o.threads = append(o.threads, d.waitersFor(w)...)
		mayRelease := func(h picture.Holder) bool { return d.waits[h.Thread] == nil }
		held = held || !d.facts.StacksComplete || slices.ContainsFunc(d.otherHolders(w, l), mayRelease)
	}
	if len(o.locks) == 0 {
		return nil
	}
	v := newVerdict(picture.VerdictLockFreed, picture.Likely)
	v.Threads = o.threads
	which := "which is no lock"
	if len(o.locks) > 1 {
		which = "which are no locks"
	}
	v.Summary = fmt.Sprintf("%s for %s, %s", d.threadsWait(o.threads), firstTargets(o.targets), which)
	v.Explanation = "The runtime takes the contents of that memory for a lock that a thread holds. It may have " +
		"changed them."
	if held {
		v.Severity = picture.SeverityWarning
		v.Explanation += " A thread may hold it, and release it by writing to that memory."
	}
	v.Explanation = d.waitPlaces(v.Threads) + v.Explanation
	v.Fix = initializeElements
	for i, l := range o.locks[:min(len(o.locks), maxNamed)] {
		v.Evidence = append(v.Evidence, phrase.Awaited(o.targets[i])+": "+l.InvalidReason)
	}
	d.addBlocked(&v)
	return []picture.Verdict{v}
}
