package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// freedLocks finds threads that wait for a lock that is none any more: its memory
// was freed, or the runtime has destroyed it.
func freedLocks(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	seen := map[picture.Hex]bool{}
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || l.InvalidReason == "" || seen[address(w)] {
			continue
		}
		seen[address(w)] = true
		what := phrase.Awaited(d.target(w))
		v := picture.Verdict{
			Kind: picture.VerdictLockFreed, Severity: picture.SeverityHang, Certainty: picture.Likely,
			Threads:  slices.Clone(d.sameTarget(w)),
			Evidence: []string{l.InvalidReason},
			Fix: "destroy a lock, or free its memory, only when no thread uses it any more: wait for the " +
				"threads first (a barrier, a taskwait, a join)",
		}
		v.Summary = fmt.Sprintf("%s for %s, whose memory has been freed", d.wait(v.Threads), what)
		if l.Overwritten {
			v.Summary = fmt.Sprintf("%s for %s, whose memory has been reused", d.wait(v.Threads), what)
		}
		v.Explanation = "A lock that no longer exists cannot be released. What is in that memory now, or later, " +
			"may be mistaken for the lock and overwritten."
		h, known := d.holderOfGone(w, l)
		switch {
		case l.Destroyed:
			v.Certainty = picture.Certain
			v.Summary = fmt.Sprintf("%s for %s, which has been destroyed", d.wait(v.Threads), what)
			v.Explanation = "A destroyed lock has lost its queue of waiters: nothing will wake them."
		case h != 0 && !d.stuck[node{lwp: h}]:
			v.Severity, v.Certainty = picture.SeverityWarning, picture.Certain
			v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d %s", h, howHeld(l)))
			v.Explanation = d.who(h) + " holds the lock and may still release it, by writing to memory that no " +
				"longer belongs to the lock."
		case !known:
			v.Certainty = picture.Possible
			v.Explanation += " Whether a thread holds the lock, and may still release it by writing to that " +
				"memory, is not known."
			others := d.others(w, l)
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

// holderOfGone is the thread that has a lock which is none any more; 0 if none has, as
// the lock was destroyed, or as no stack shows it. It is not known if one may have it.
func (x *index) holderOfGone(w *picture.Wait, l *picture.Lock) (lwp int, known bool) {
	if l.Destroyed || l.Owner != 0 {
		return l.Owner, true
	}
	if h, ok := oneHolder(l.Holders); ok {
		return h.Thread, true
	}
	return 0, len(x.others(w, l)) == 0 && x.facts.StacksComplete
}

// others are the threads that may have the lock that w waits for, and do not wait for
// it themselves.
func (x *index) others(w *picture.Wait, l *picture.Lock) []picture.Holder {
	waiting := x.sameTarget(w)
	return slices.DeleteFunc(slices.Clone(l.Holders),
		func(h picture.Holder) bool { return slices.Contains(waiting, h.Thread) })
}

// howHeld tells how the holder of such a lock is known.
func howHeld(l *picture.Lock) string {
	if l.Owner != 0 {
		return "holds it: " + l.Evidence
	}
	return l.Holders[0].Evidence
}
