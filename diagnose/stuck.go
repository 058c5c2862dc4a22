package diagnose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

func base(file string) string { return filepath.Base(file) }

// inPlace is " in foo x.c:12", where the program's own code is in a thread; empty without a line.
func inPlace(x *index, lwp int) string {
	f, ok := innermost(x.frames(lwp))
	if !ok || f.Line == 0 {
		return ""
	}
	return " in " + place(f)
}

// selfDeadlocks finds threads that wait for a lock that they have themselves.
func selfDeadlocks(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		if d.helped(lwp) || d.freed(lwp) {
			continue // of those who may release it, another verdict says why they do not
		}
		if v, ok := selfDeadlock(d, lwp); ok {
			out = append(out, v)
		}
	}
	return joinUpgrades(d, out)
}

// untoldSelfDeadlocks finds the same where others may release the lock which have not acquired it, and cannot
// proceed for a reason of which no verdict tells.
func untoldSelfDeadlocks(d *drawer, all []picture.Verdict) []picture.Verdict {
	told := map[int]bool{}
	for _, v := range all {
		if v.Severity == picture.SeverityHang {
			for _, lwp := range slices.Concat(v.Threads, v.Waiting) {
				told[lwp] = true
			}
		}
	}
	var out []picture.Verdict
	for _, lwp := range d.order {
		if told[lwp] || !d.helped(lwp) || !d.isStuck(lwp) {
			continue
		}
		if v, ok := selfDeadlock(d, lwp); ok {
			out = append(out, v)
		}
	}
	return out
}

// selfDeadlock makes the verdict on a thread that waits for what it has itself; not ok if it does not.
func selfDeadlock(d *drawer, lwp int) (picture.Verdict, bool) {
	w, l := d.waits[lwp], d.locks[lwp]
	if l == nil || !l.Held || l.InvalidReason != "" {
		return picture.Verdict{}, false
	}
	v := picture.Verdict{Kind: picture.VerdictSelfDeadlock, Severity: picture.SeverityHang, Threads: []int{lwp}}
	step := d.step(lwp, lwp, nil)
	h, ok := oneHolder(l.Holders)
	if w.Kind == picture.WaitReadWrite { // others may have it too
		h, ok = sharedHolder(l, lwp)
	}
	switch {
	case l.Owner == lwp:
		v.Certainty, step.HeldEvidence = picture.Certain, l.Evidence
	case l.Owner == 0 && !l.OwnerEnded && ok && h.Thread == lwp:
		v.Certainty, step.HeldEvidence, step.HeldAt = h.Certainty, h.Evidence, h.AcquiredAt
	default:
		return picture.Verdict{}, false
	}
	if d.doubt[node{lwp: lwp}] {
		v.Certainty = picture.Possible
	}
	v.Cycle = []picture.CycleStep{step}
	v.Evidence = []string{step.HeldEvidence}
	what := phrase.Awaited(step.WaitsFor)
	v.Summary = fmt.Sprintf("%s waits for %s, which it holds itself", d.who(lwp), what)
	v.Explanation = fmt.Sprintf("%s acquired %s, has not released it, and now waits for its release%s, which "+
		"only this thread could do.", d.who(lwp), what, inPlace(d.index, lwp))
	if w.Kind == picture.WaitStatic {
		v.Summary = fmt.Sprintf("%s waits for %s, which it is in itself", d.who(lwp), what)
		v.Explanation = fmt.Sprintf("%s is in %s, and came to the same variable again, perhaps in a "+
			"parallel region: it waits until the variable is initialized, which only this thread could do.",
			d.who(lwp), what)
	}
	if w.Kind == picture.WaitOnce {
		tellOnce(d, &v, what)
	}
	v.Fix = cmp.Or(w.Kind.Traits().AgainFix, picture.WaitLock.Traits().AgainFix)
	if len(d.sameTarget(w)) > 1 && w.Kind == picture.WaitMutex {
		v.Fix = "unlock the mutex on every path before it is locked again, and before a parallel region " +
			"whose threads lock it: a recursive mutex would let this thread go on, not the others that wait"
	}
	if upgrades(w, l) {
		tellUpgrade(d, &v, what)
	}
	if h := holderOf(l, lwp); h != nil && h.SuspendedAt != nil {
		d.acrossTasks(&v, h, what)
	}
	inHandler(&v, w, what)
	tellLeft(d, &v)
	d.addBlocked(&v)
	return v, true
}

// inHandler says of a thread that waits in a handler of a signal where it was interrupted: what it waits for
// is released, if at all, by the code there, which goes on when the handler has returned.
func inHandler(v *picture.Verdict, w *picture.Wait, what string) {
	if w.Awaited == nil || w.Awaited.Interrupted == nil {
		return
	}
	at := place(*w.Awaited.Interrupted)
	v.Explanation += fmt.Sprintf(" It waits in a handler of a signal, which interrupted %s: that code goes on only "+
		"when the handler has returned.", at)
	v.Evidence = append(v.Evidence, "there is a signal's frame on its stack, between the handler and "+at)
	v.Fix = fmt.Sprintf("a handler must not wait for %s, which the code that it interrupts may have: let it only set "+
		"a flag (volatile sig_atomic_t) or write to a pipe, and do the work elsewhere, or block the signal "+
		"(pthread_sigmask) where it is held", what)
}

// sharedHolder is what is known of a thread that has a lock, maybe beside others.
func sharedHolder(l *picture.Lock, lwp int) (picture.Holder, bool) {
	h := holderOf(&picture.Lock{Holders: sureHolders(l.Holders)}, lwp)
	if h == nil {
		return picture.Holder{}, false
	}
	return *h, true
}

// holderOf is what is known of a thread that has a lock; nil if it is not known to.
func holderOf(l *picture.Lock, lwp int) *picture.Holder {
	i := slices.IndexFunc(l.Holders, func(h picture.Holder) bool { return h.Thread == lwp })
	if i < 0 {
		return nil
	}
	return &l.Holders[i]
}

// acrossTasks says of a thread that waits for what it has itself that it waits in another task,
// which it was given while it had it: a nestable lock belongs to a task, and would not help.
func (d *drawer) acrossTasks(v *picture.Verdict, h *picture.Holder, what string) {
	in := place(*h.SuspendedAt)
	v.Explanation = fmt.Sprintf("%s acquired %s in one task, came to the %s in %s while it had it, and was given "+
		"another task there, which now waits for its release.", d.who(h.Thread), what, h.SuspendedIn, in)
	v.Fix = fmt.Sprintf("release it before the %s in %s, where other tasks may be executed; a nestable lock would "+
		"hang as well, as it belongs to a task", h.SuspendedIn, in)
}
