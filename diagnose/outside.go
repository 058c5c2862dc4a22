package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// blockedOutside finds threads that wait for what comes from outside of their process, in a system
// call or in MPI, or sleep, while other threads wait for them. Whether it comes is not known.
func blockedOutside(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if w.Kind != picture.WaitCall && w.Kind != picture.WaitMPI || len(out) == maxNamed {
			continue
		}
		if behind := d.waitersBehind(lwp); len(behind) > 0 {
			out = append(out, tellOutside(d, w, behind))
		}
	}
	return append(out, awaitedSleepers(d)...)
}

// tellOutside says which thread waits, where, what it holds, and who waits for it.
func tellOutside(d *drawer, w *picture.Wait, behind []int) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictBlockedOutside, Severity: picture.SeverityInfo, Certainty: picture.Certain,
		Threads: []int{w.Thread}, Waiting: behind,
		Fix: "find out why what it waits for does not come; hold no lock, and be in no critical section, during a " +
			"call that may take long",
	}
	at := ""
	if f, ok := innermost(d.frames(w.Thread)); ok {
		at = " in " + place(f)
	}
	waits := fmt.Sprintf("%d threads wait for it", len(behind))
	if len(behind) == 1 {
		waits = d.who(behind[0]) + " waits for it"
	}
	v.Summary = fmt.Sprintf("%s waits%s for %s, and %s", d.who(w.Thread), at, phrase.Awaited(d.target(w)), waits)
	if held := holds(d, w.Thread); len(held) > 0 {
		v.Summary += "; it holds " + strings.Join(held, " and ")
	}
	evidence := w.Evidence
	if w.Kind == picture.WaitMPI {
		evidence = "its stack is in MPI, in a call of " + w.Name
	}
	v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", w.Thread, evidence))
	return v
}

// holds names the locks that a thread has and others wait for, with where it acquired them.
func holds(d *drawer, lwp int) []string {
	var out []string
	for _, other := range d.order {
		l := d.locks[other]
		if other == lwp || l == nil || !l.Held || len(out) == maxNamed {
			continue
		}
		h := holderOf(&picture.Lock{Holders: sureHolders(l.Holders)}, lwp)
		if h == nil && l.Owner != lwp {
			continue
		}
		says := phrase.Awaited(d.target(d.waits[other]))
		if h != nil && h.AcquiredAt != nil {
			says += ", acquired in " + place(*h.AcquiredAt)
		} else if h == nil && l.OwnerAt != nil {
			says += ", acquired in " + place(*l.OwnerAt)
		}
		if !slices.Contains(out, says) {
			out = append(out, says)
		}
	}
	return out
}
