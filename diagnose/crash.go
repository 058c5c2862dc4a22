package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findCrash returns the verdict on the fault, the exception or the library that ended the program.
func findCrash(d *dependencies) []picture.Verdict {
	var v picture.Verdict
	handled := false
	switch a := d.facts.Abort; {
	case d.facts.Fault != nil:
		f := newFault(d.facts.Fault)
		v, handled = explainFault(d.index, f), f.Handled
	case a != nil && a.Exception != nil:
		v = explainException(d.index, a.Thread, a.Exception)
	case a != nil && a.Component != "":
		v = explainAbort(d.index, a)
	default:
		return nil
	}
	addOpenMPPlace(d.index, &v)
	addBlockedByCrash(d, &v)
	explainForked(d.index, &v)
	if handled {
		v.Evidence = append(v.Evidence, "a handler for the signal ran and raised it again: the context that the "+
			"kernel saved for the handler is on the stack")
	}
	return []picture.Verdict{v}
}

// explainAbort returns the verdict on a program that the C library or a runtime has ended.
func explainAbort(x *index, a *picture.Abort) picture.Verdict {
	caller := place(a.Caller)
	if a.Caller.Function == "" && a.Caller.Module != "" {
		caller = a.Caller.Module
	}
	if a.Caller.Kind == picture.FrameSystem {
		caller += ", and no other code is on the stack, as where a thread ends"
	}
	v := newVerdict(picture.VerdictCrash, picture.Certain)
	v.Threads = []int{a.Thread}
	v.Summary = fmt.Sprintf("%s: %s ended the program", x.threadName(a.Thread), a.Component)
	v.Evidence = []string{"abort was called in " + caller}
	if a.Call != "" {
		return explainTerminate(x, a, v)
	}
	if fr, ok := innermost(x.frames(a.Thread)); ok {
		v.Summary += ", called in " + place(fr)
	}
	if a.Message == "" {
		v.Explanation = "Its message went to the program's standard error; it was not found in memory."
		return explainFailedLock(x, a, v)
	}
	v.Explanation = "Its message: " + a.Message
	if cause := memoryMessage(a.Message); cause != "" && a.MessageSource != "" {
		v.Explanation += ". " + cause
		v.Fix = kindOf(picture.VerdictOverwritten).Fix
	}
	v.Evidence = append(v.Evidence, "the message: "+a.MessageSource)
	return explainFailedLock(x, a, v)
}

// isLockCheck reports whether a message is that of a runtime on a failed assertion in its source file for locks.
func isLockCheck(message string) bool {
	_, file, ok := strings.Cut(message, "Assertion failure at ")
	return ok && strings.Contains(file, "_lock.")
}

// explainFailedLock adds to the verdict on a runtime that ended the program in a function for locks: the memory is no
// lock. Where only a failed check of the runtime shows that, it is likely; in the handler of a signal, the lock may be
// one that the interrupted code was using.
func explainFailedLock(x *index, a *picture.Abort, v picture.Verdict) picture.Verdict {
	message, end := v.Explanation, x.ended
	invalid := end.lock != nil && end.lock.InvalidReason != ""
	if memoryMessage(a.Message) != "" || invalid && end.call == "" ||
		!invalid && (a.Handler != nil || !isLockCheck(a.Message)) {
		return v
	}
	v = explainNoLock(x, cmp.Or(end.call, "the runtime"), v)
	if !invalid {
		v.Explanation = fmt.Sprintf("The lock that %s was given is in a state in which the runtime never leaves one: "+
			"probably omp_init_lock has not initialized it, or it was destroyed, its memory freed, or overwritten.",
			cmp.Or(end.call, "the runtime"))
	}
	v.Explanation = strings.TrimSuffix(message, ".") + ". " + v.Explanation
	return v
}

// addBlockedByCrash adds to a crash the locks that the crashed thread holds and others wait for.
func addBlockedByCrash(d *dependencies, v *picture.Verdict) {
	died := node{lwp: v.Threads[0]}
	for _, lwp := range d.order {
		if d.locks[lwp] == nil { // it waits for the thread, and not for its locks
			continue
		}
		how, waits := d.findEdge(node{lwp: lwp}, died)
		if !waits {
			continue
		}
		v.Waiting = append(v.Waiting, lwp)
		v.Evidence = append(v.Evidence, fmt.Sprintf("it holds %s, which %s waits for: %s",
			phrase.Awaited(d.waitTarget(d.waits[lwp])), d.threadName(lwp), how.evidence))
	}
	if len(v.Waiting) > 0 {
		v.Explanation = strings.TrimSpace(v.Explanation + " It died while it held a lock; the threads that wait " +
			"for that lock are not the cause.")
	}
}

// findSelfAbort returns the verdict on a program that called abort itself. It is information if another verdict is on a
// hang: the program noticed that itself.
func findSelfAbort(d *dependencies, found []picture.Verdict) []picture.Verdict {
	a := d.facts.Abort
	if a == nil || d.facts.Fault != nil || a.Component != "" {
		return nil
	}
	v := newVerdict(picture.VerdictCrash, picture.Certain)
	v.Threads = []int{a.Thread}
	v.Summary = fmt.Sprintf("%s called abort in %s", d.threadName(a.Thread), place(a.Caller))
	v.Evidence = []string{"signal SIGABRT; abort is on the stack, called by the program itself"}
	if slices.ContainsFunc(found, Hangs) {
		v.Severity = picture.SeverityInfo
	}
	if a.Handler != nil {
		explainSentSignal(d.index, &v, a)
		return []picture.Verdict{v}
	}
	addOpenMPPlace(d.index, &v)
	addBlockedByCrash(d, &v)
	return []picture.Verdict{v}
}

// explainSentSignal explains a program that called abort in a handler after a signal from outside: the program is
// correct.
func explainSentSignal(x *index, v *picture.Verdict, a *picture.Abort) {
	v.Severity = picture.SeverityInfo
	v.Summary = fmt.Sprintf("a signal that was sent to the program ended it: its handler, in %s, called abort",
		place(a.Caller))
	v.Evidence = []string{"the call of abort is further in than the frame of a signal's handler, and no other is " +
		"further out"}
	if h := a.Handler; h.Sender != 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("signal %d was sent by process %d", h.Signal, h.Sender))
	}
	if f := a.Handler.Interrupted; f != nil {
		v.Explanation = fmt.Sprintf("%s was in %s when the signal came: what the program did then is no cause.",
			x.threadName(a.Thread), place(*f))
	}
}

// addOpenMPPlace adds the place of the crashed thread in OpenMP terms.
func addOpenMPPlace(x *index, v *picture.Verdict) {
	t := x.threads[v.Threads[0]]
	if t == nil || t.Level == nil || *t.Level == 0 || t.ThreadNum == nil || t.TeamSize == nil {
		return
	}
	s := fmt.Sprintf("it was thread %d of %d of the parallel region", *t.ThreadNum, *t.TeamSize)
	if r := x.regions[t.Region]; r != nil && hasLine(r.Function) {
		s += " at " + codePlace(r.Function)
	}
	if k := x.tasks[t.Task]; k != nil && k.Kind == picture.TaskExplicit {
		s += ", in an explicit task " + x.taskPlace(k.ID)
	}
	v.Evidence = append(v.Evidence, strings.TrimSpace(s))
}
