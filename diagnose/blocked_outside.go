package diagnose

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findBlockedOutside finds threads that wait for an event outside of their process, in a system call, in MPI or for a
// device, or that sleep, while other threads wait for them. Whether the event comes is unknown.
func findBlockedOutside(d *dependencies) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		outside := w.Kind == picture.WaitCall || w.Kind == picture.WaitMPI || w.Kind.OfTarget()
		if !outside || len(out) == maxNamed {
			continue
		}
		if behind := d.waitersBehind(lwp); len(behind) > 0 {
			out = append(out, explainOutside(d, w, behind))
		}
	}
	return append(out, findAwaitedSleepers(d)...)
}

// explainOutside returns the verdict on a thread that waits outside, with its place, its locks and its waiters.
func explainOutside(d *dependencies, w *picture.Wait, behind []int) picture.Verdict {
	evidence := w.Evidence
	if w.Kind == picture.WaitMPI {
		evidence = "its stack is in MPI, in a call of " + w.Name
	}
	v := newOutsideVerdict(d, w, behind, evidence)
	v.Summary = fmt.Sprintf("%s waits%s for %s, and %s for it", d.threadName(w.Thread),
		innermostPlace(d.frames(w.Thread)), phrase.Awaited(d.waitTarget(w)), d.threadsWait(behind)) + holdsClause(d, w)
	return v
}

// findAwaitedSleepers finds threads that sleep, until time is over or a signal comes, while other threads wait for
// them. That is no hang: a program may intend it.
func findAwaitedSleepers(d *dependencies) []picture.Verdict {
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

// explainSleeper returns the verdict on a thread that sleeps, with its place, its locks and its waiters.
func explainSleeper(d *dependencies, w *picture.Wait, behind []int) picture.Verdict {
	v := newOutsideVerdict(d, w, behind, w.Evidence)
	v.Fix = "hold no lock, and be in no critical section, while sleeping; wake the thread by what it waits for in " +
		"place of the sleep"
	v.Summary = fmt.Sprintf("%s sleeps (%s)%s, and %s for it in the end", d.threadName(w.Thread),
		phrase.Sleeping(w.Name, w.Sleep), innermostPlace(d.frames(w.Thread)), d.threadsWait(behind)) + holdsClause(d, w)
	return v
}

// newOutsideVerdict returns the common part of both verdicts.
func newOutsideVerdict(d *dependencies, w *picture.Wait, behind []int, evidence string) picture.Verdict {
	v := newVerdict(picture.VerdictBlockedOutside, picture.Certain)
	v.Threads, v.Waiting = []int{w.Thread}, behind
	v.Evidence = []string{fmt.Sprintf("%s: %s", d.threadName(w.Thread), evidence)}
	return v
}

// holdsClause returns the locks that a waiting thread holds, after "; it holds "; "" without locks.
func holdsClause(d *dependencies, w *picture.Wait) string {
	held := d.heldLocks(w.Thread)
	if len(held) == 0 {
		return ""
	}
	return "; it holds " + strings.Join(held, " and ")
}
