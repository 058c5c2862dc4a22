package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// entangled finds the threads that wait for each other's locks where the code shows, of each lock that
// nobody will release, that a thread may have it which waits for another lock, and nowhere that one is
// left: locks that are acquired in a loop, say, by addresses that the frames do not keep. That one was
// left behind would need a mistake beside the order of the locks. It is not ok if there is a lock that
// none of them may have.
func (o *orphan) entangled(d *drawer) (threads []int, evidence []string, ok bool) {
	threads = slices.Clone(o.threads)
	for i, l := range o.locks {
		waiters := d.sameTarget(o.waits[i])
		n := slices.IndexFunc(l.Holders, func(h picture.Holder) bool {
			return !slices.Contains(waiters, h.Thread) && d.locks[h.Thread] != nil && d.waits[h.Thread].Kind.Exclusive()
		})
		if n < 0 || len(l.Leaks) > 0 {
			return nil, nil, false
		}
		h := l.Holders[n]
		threads = append(threads, h.Thread)
		evidence = append(evidence, fmt.Sprintf("%s: LWP %d: %s", phrase.Awaited(o.targets[i]), h.Thread, h.Evidence))
	}
	slices.Sort(threads)
	return slices.Compact(threads), evidence[:min(len(evidence), maxNamed)], true
}

// entanglement is the verdict on them.
func (o *orphan) entanglement(d *drawer, threads []int, evidence []string) picture.Verdict {
	var waits []string
	for _, lwp := range threads[:min(len(threads), maxNamed)] {
		waits = append(waits, fmt.Sprintf("%s waits for %s", d.who(lwp), phrase.Awaited(d.target(d.waits[lwp]))))
	}
	o.threads = threads
	v := o.verdict(d, picture.Likely)
	v.Kind = picture.VerdictDeadlock
	v.Summary = fmt.Sprintf("%d threads wait for each other and can never proceed", len(threads))
	v.Explanation = phrase.Clauses(waits, maxNamed, len(threads)) + ". All of these locks are held, by the code " +
		"only by threads that wait for another of them; which of them holds which is not known."
	v.Fix = locksFix
	v.Evidence = append(evidence, "all threads whose code may still release these locks wait for others of them")
	return v
}
