package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// awaitedSleepers finds threads that sleep, until time is over or a signal comes, while other threads wait for
// them. That is no hang: a program may mean it.
func awaitedSleepers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, w := range d.sleeping {
		behind := d.waitersBehind(w.Thread)
		if len(behind) == 0 {
			continue
		}
		if out = append(out, explainSleeper(d, w, behind)); len(out) == maxNamed {
			break
		}
	}
	return out
}

// waitersBehind lists the threads that cannot proceed before one does, but for those that never do.
func (d *drawer) waitersBehind(lwp int) []int {
	var behind []int
	for n := range d.stuckIf(node{lwp: lwp}) {
		if n.isThread() && n.lwp != lwp && !d.stuck[n] {
			behind = append(behind, n.lwp)
		}
	}
	slices.Sort(behind)
	return behind
}

// explainSleeper says which thread sleeps, where, what it holds, and how many wait for it.
func explainSleeper(d *drawer, w *picture.Wait, behind []int) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictBlockedOutside, Severity: picture.SeverityInfo, Certainty: picture.Certain,
		Threads: []int{w.Thread}, Waiting: behind,
		Fix: "hold no lock, and be in no critical section, while sleeping; wake the thread by what it waits for in " +
			"place of the sleep",
		Evidence: []string{fmt.Sprintf("LWP %d: %s", w.Thread, w.Evidence)},
	}
	at := ""
	if f, ok := innermost(d.frames(w.Thread)); ok {
		at = " in " + place(f)
	}
	waits := fmt.Sprintf("%d threads wait", len(behind))
	if len(behind) == 1 {
		waits = d.who(behind[0]) + " waits"
	}
	v.Summary = fmt.Sprintf("%s sleeps (%s)%s, and %s for it in the end", d.who(w.Thread),
		phrase.Sleeping(w.Name, w.Sleep), at, waits)
	if held := holds(d, w.Thread); len(held) > 0 {
		v.Summary += "; it holds " + strings.Join(held, " and ")
	}
	return v
}
