package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findFreedLocks finds threads that wait for a lock that no longer exists: its memory was freed, or the runtime has
// destroyed it.
func findFreedLocks(d *dependencies) []picture.Verdict {
	var out []picture.Verdict
	seen := map[picture.Hex]bool{}
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || l.InvalidReason == "" || seen[waitAddress(w)] {
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
			v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d %s", h, holderEvidence(l)))
			v.Explanation = d.threadName(h) + " holds the lock and may still release it, by writing to memory that " +
				"no longer belongs to the lock."
		case !known:
			v.Certainty = picture.Possible
			v.Explanation += " Whether a thread holds the lock, and may still release it by writing to that " +
				"memory, is not known."
			others := d.otherHolders(w, l)
			for _, m := range others[:min(len(others), maxNamed)] {
				v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", m.Thread, m.Evidence))
			}
		case h == 0:
			v.Evidence = append(v.Evidence, "no thread's stack shows that it holds the lock")
		}
		d.addBlocked(&v)
		out = append(out, v)
	}
	return out
}

// holderEvidence returns the evidence for the holder of a freed lock.
func holderEvidence(l *picture.Lock) string {
	if l.Owner != 0 {
		return "holds it: " + l.Evidence
	}
	return l.Holders[0].Evidence
}
