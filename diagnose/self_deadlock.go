package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// selfDeadlocks draws the verdicts on threads that wait for a lock that they hold themselves.
type selfDeadlocks struct{ *dependencies }

// find returns the verdicts on threads that hold a lock that no other code may release.
func (d *selfDeadlocks) find() []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		if d.isHelped(lwp) || d.isFreed(lwp) {
			continue // another verdict explains why the threads that may release it do not
		}
		if v, ok := d.explain(lwp); ok {
			out = append(out, v)
		}
	}
	return joinUpgrades(d.index, out)
}

// findRemaining returns the verdicts on threads with a lock that others may release without having acquired it.
// The others cannot proceed for a reason which no verdict explains.
func (d *selfDeadlocks) findRemaining(all []picture.Verdict) []picture.Verdict {
	explained := map[int]bool{}
	for _, v := range all {
		if v.Severity == picture.SeverityHang {
			for _, lwp := range slices.Concat(v.Threads, v.Waiting) {
				explained[lwp] = true
			}
		}
	}
	var out []picture.Verdict
	for _, lwp := range d.order {
		if explained[lwp] || !d.isHelped(lwp) || !d.isStuck(lwp) {
			continue
		}
		if v, ok := d.explain(lwp); ok {
			out = append(out, v)
		}
	}
	return out
}

// explain returns the verdict on a thread that waits for a lock that it holds itself; not ok for any other thread.
func (d *selfDeadlocks) explain(lwp int) (picture.Verdict, bool) {
	w, l := d.waits[lwp], d.locks[lwp]
	if l == nil || !l.Held || l.InvalidReason != "" {
		return picture.Verdict{}, false
	}
	v := newVerdict(picture.VerdictSelfDeadlock, "")
	v.Threads = []int{lwp}
	step := d.step(lwp, lwp, nil)
	h, ok := oneHolder(l.Holders)
	if w.Kind == picture.WaitReadWrite { // others may hold it, too
		own := holderOf(sureHolders(l.Holders), lwp)
		if ok = own != nil; ok {
			h = *own
		}
	}
	switch {
	case l.Owner == lwp:
		v.Certainty, step.HeldEvidence = picture.Certain, l.Evidence
	case l.Owner == 0 && !l.OwnerEnded && ok && h.Thread == lwp:
		v.Certainty, step.HeldEvidence, step.HeldAt = h.Certainty, h.Evidence, h.AcquiredAt
	default:
		return picture.Verdict{}, false
	}
	if d.doubtful[node{lwp: lwp}] {
		v.Certainty = picture.Possible
	}
	v.Cycle = []picture.CycleStep{step}
	v.Evidence = []string{step.HeldEvidence}
	what := phrase.Awaited(step.WaitsFor)
	v.Summary = fmt.Sprintf("%s waits for %s, which it holds itself", d.threadName(lwp), what)
	v.Explanation = fmt.Sprintf("%s acquired %s, has not released it, and now waits for its release%s, which "+
		"only this thread could do.", d.threadName(lwp), what, innermostLine(d.frames(lwp)))
	if w.Kind == picture.WaitStatic {
		v.Summary = fmt.Sprintf("%s waits for %s, which it is in itself", d.threadName(lwp), what)
		v.Explanation = fmt.Sprintf("%s is in %s, and came to the same variable again, perhaps in a "+
			"parallel region: it waits until the variable is initialized, which only this thread could do.",
			d.threadName(lwp), what)
	}
	if w.Kind == picture.WaitOnce {
		explainOnce(d.index, &v, what)
	}
	v.Fix = cmp.Or(w.Kind.Traits().AgainFix, picture.WaitLock.Traits().AgainFix)
	if fix, ok := d.criticalFix(w, cmp.Or(step.HeldAt, l.OwnerAt)); ok {
		v.Fix = fix
	}
	if len(d.waitersFor(w)) > 1 && w.Kind == picture.WaitMutex && !acquiredByCaller(d.frames(lwp), l.OwnerAt) {
		v.Fix = "unlock the mutex on every path before it is locked again, and before a parallel region " +
			"whose threads lock it: a recursive mutex would let this thread go on, not the others that wait"
	}
	switch {
	case isFortranUnit(step.WaitsFor):
		v.Fix = fortranUnitFix
	case step.WaitsFor.Name == picture.LoaderLock:
		v.Fix = loaderFix
	}
	if l.Implementation == "spin" {
		v.Fix = "unlock the spin lock on every path before it is locked again: it is not recursive"
	}
	if isUpgrade(w, l) {
		explainUpgrade(d.index, &v, what)
	}
	if h := holderOf(l.Holders, lwp); h != nil && (w.Kind == picture.WaitLock || w.Kind == picture.WaitCritical) {
		explainAcrossTasks(d.index, &v, h, what)
	}
	if l.Nested {
		v.Fix = "release it in the task that acquired it, before the thread executes another task that acquires it: " +
			"a nestable lock belongs to a task, not to a thread"
	}
	if l.Implementation == runtimeLock {
		explainRuntimeLock(d.index, &v)
	}
	explainHandler(d.index, &v, w, what)
	explainLeak(d.index, &v)
	d.addBlocked(&v)
	return v, true
}

// acquiredByCaller reports whether a place is in a function on a stack, and no parallel region is between: a lock that
// was acquired there is released after the return, once for each acquisition.
func acquiredByCaller(fs []picture.Frame, at *picture.Frame) bool {
	i := callerAt(fs, at)
	return i > 0 && !slices.ContainsFunc(fs[:i], func(f picture.Frame) bool { return f.Construct == "parallel" })
}

// callerAt returns the index of the one frame of the function that a place is in, -1 if there is none or several.
func callerAt(fs []picture.Frame, at *picture.Frame) int {
	if at == nil {
		return -1
	}
	within := func(f picture.Frame) bool { return f.Function == at.Function && f.File == at.File }
	i := slices.IndexFunc(fs, within)
	if i < 0 || slices.ContainsFunc(fs[i+1:], within) {
		return -1
	}
	return i
}

// criticalFix returns the fix for a thread that entered a critical section at a place, and comes to one of the same
// name by a call from within; not ok if no call is known. The same construct cannot have two names.
func (d *selfDeadlocks) criticalFix(w *picture.Wait, entered *picture.Frame) (string, bool) {
	if w.Kind != picture.WaitCritical || entered == nil || entered.Line == 0 {
		return "", false
	}
	var called picture.Frame // the innermost, or the one that the frame before called
	for _, f := range d.frames(w.Thread) {
		if f.Kind != picture.FrameUser {
			continue
		}
		if called.Function != "" && f.Function == entered.Function && f.File == entered.File {
			fix := fmt.Sprintf("a critical section must not be entered again from within: call %s after its end, "+
				"not in %s", phrase.WithoutParameters(called.Called()), place(f))
			if at, ok := innermost(d.frames(w.Thread)); ok && at.File == entered.File && at.Line == entered.Line {
				return fix + ", or use a nestable lock (omp_nest_lock_t) in its place", true
			}
			return fix + ", or give the inner one another name", true
		}
		called = f
	}
	return "", false
}

// runtimeLock is the implementation of a lock that LLVM's runtime has for itself.
const runtimeLock = "bootstrap"

// explainRuntimeLock explains a thread that waits in the runtime for a lock of the runtime's own.
func explainRuntimeLock(x *index, v *picture.Verdict) {
	lwp := v.Threads[0]
	v.Explanation = fmt.Sprintf("The OpenMP runtime waits for a lock of its own, which it acquired in the same "+
		"thread%s: it met another error while it reported one. The program does not hold that lock. Releases of "+
		"LLVM's runtime before 19 do so if they find a registration of another copy of the runtime for the same "+
		"process id (llvm/llvm-project issue 86684).", innermostLine(x.frames(lwp)))
	v.Fix = "use a later release of the OpenMP runtime; remove stale files /dev/shm/__KMP_REGISTERED_LIB_*, and load " +
		"one copy of the runtime"
}

// ofAnotherTask is the reason why a nestable lock is no fix for a lock that another task of the thread acquired.
const ofAnotherTask = "; a nestable lock does not help, as it belongs to the task that acquired it"

// explainAcrossTasks explains a thread that acquired a lock in one task and waits for it in another one. It was given
// that task meanwhile, or it is the implicit task of a region that the thread forked, or an undeferred one, which the
// thread executes at once.
func explainAcrossTasks(x *index, v *picture.Verdict, h *picture.Holder, what string) {
	who := x.threadName(h.Thread)
	switch at, undeferred := undeferredTask(x.frames(h.Thread), h.AcquiredAt); {
	case h.SuspendedAt != nil && h.SuspendedIn == picture.SuspendedInParallel:
		in := place(*h.SuspendedAt)
		v.Explanation = fmt.Sprintf("%s acquired %s, came to the %s in %s while it had it, and waits for its release "+
			"in that region.", who, what, h.SuspendedIn, in)
		v.Fix = fmt.Sprintf("release it before the %s in %s, whose threads acquire it", h.SuspendedIn, in) +
			ofAnotherTask
	case h.SuspendedAt != nil:
		in := place(*h.SuspendedAt)
		v.Explanation = fmt.Sprintf("%s acquired %s in one task, came to the %s in %s while it had it, and was given "+
			"another task there, which now waits for its release.", who, what, h.SuspendedIn, in)
		v.Fix = fmt.Sprintf("release it before the %s in %s, where other tasks may be executed", h.SuspendedIn, in) +
			ofAnotherTask
	case undeferred:
		v.Explanation = fmt.Sprintf("%s acquired %s in one task, came to the task construct in %s while it had it, "+
			"and executes that task at once, which now waits for its release.", who, what, place(at))
		v.Fix = fmt.Sprintf("release it before the task construct in %s, which acquires it", place(at)) + ofAnotherTask
	}
}

// undeferredTask returns the place of the task construct whose code a thread executes, as a call of the task that
// acquired a lock.
func undeferredTask(fs []picture.Frame, acquired *picture.Frame) (at picture.Frame, ok bool) {
	outer := callerAt(fs, acquired)
	i := slices.IndexFunc(fs[:max(outer, 0)], func(f picture.Frame) bool { return f.Construct == "task" })
	if i < 0 {
		return picture.Frame{}, false
	}
	return fs[i+1], true
}

// explainOnce explains a thread that is in a function which is executed once, and waits for the end of that function.
func explainOnce(x *index, v *picture.Verdict, what string) {
	step := &v.Cycle[0]
	v.Summary = fmt.Sprintf("%s waits for %s, which it is in itself", x.threadName(step.Thread), what)
	v.Explanation = fmt.Sprintf("%s is in %s%s, and came to a call for the same flag again%s: it waits until that "+
		"function has returned, which only this thread could do.", x.threadName(step.Thread), what,
		placeAfter(", called in ", step.HeldAt), innermostLine(x.frames(step.Thread)))
}

// isUpgrade reports whether a holder of a read-write lock waits for it for writing and no thread writes: it holds the
// lock for reading.
func isUpgrade(w *picture.Wait, l *picture.Lock) bool {
	return w.Kind == picture.WaitReadWrite && l.Owner == 0 && strings.HasSuffix(w.Call, "wrlock")
}

// explainUpgrade explains a thread that holds a read-write lock for reading and waits for it for writing.
func explainUpgrade(x *index, v *picture.Verdict, what string) {
	step := &v.Cycle[0]
	v.Summary = fmt.Sprintf("%s waits for %s for writing, which it has for reading itself", x.threadName(step.Thread),
		what)
	v.Explanation = fmt.Sprintf("%s acquired %s for reading%s, has not released it, and now waits to acquire it for "+
		"writing%s: nobody writes before all who read have released it, this thread too.", x.threadName(step.Thread),
		what, placeAfter(" in ", step.HeldAt), innermostLine(x.frames(step.Thread)))
	v.Fix = upgradeFix
}

// upgradeFix is the fix for a thread that acquires a lock for writing while it holds it for reading.
const upgradeFix = "release it for reading first (unlock, or end the shared_lock's scope), acquire it for writing, " +
	"and test again what was read: another thread may have written in between; or acquire it for writing at once"

// joinUpgrades joins the verdicts on upgrades of the same lock at the same places.
func joinUpgrades(x *index, all []picture.Verdict) []picture.Verdict {
	same := func(a, b *picture.CycleStep) bool {
		at, bt := a.HeldAt, b.HeldAt
		return at != nil && bt != nil && at.Line == bt.Line && at.File == bt.File && at.Function == bt.Function &&
			innermostLine(x.frames(a.Thread)) == innermostLine(x.frames(b.Thread)) &&
			keyOf(x.waits[a.Thread]) == keyOf(x.waits[b.Thread])
	}
	var out []picture.Verdict
	for i := range all {
		v := &all[i]
		k := slices.IndexFunc(out, func(o picture.Verdict) bool {
			return v.Fix == upgradeFix && o.Fix == upgradeFix && same(&o.Cycle[0], &v.Cycle[0])
		})
		if k < 0 {
			out = append(out, *v)
			continue
		}
		o := &out[k]
		o.Threads, o.Certainty = append(o.Threads, v.Threads...), o.Certainty.Weaker(v.Certainty)
	}
	for i := range out {
		o := &out[i]
		if len(o.Threads) < 2 {
			continue
		}
		o.Summary = fmt.Sprintf("%d threads wait for %s for writing, which each of them has for reading itself",
			len(o.Threads), phrase.Awaited(o.Cycle[0].WaitsFor))
		o.Waiting = slices.DeleteFunc(o.Waiting, func(lwp int) bool { return slices.Contains(o.Threads, lwp) })
	}
	return out
}
