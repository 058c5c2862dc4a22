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
	v = explainDeathByOverrun(d.index, v)
	addOpenMPPlace(d.index, &v)
	addBlockedByCrash(d, &v)
	explainForked(d.index, &v)
	addExit(d.index, &v)
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
	return explainFailedBarrier(x, explainFailedLock(x, a, v))
}

// explainFailedBarrier adds to the verdict on a runtime that ended the program in a barrier: the barrier is in an
// explicit task.
func explainFailedBarrier(x *index, v picture.Verdict) picture.Verdict {
	w := x.ended.barrier
	if w == nil {
		return v
	}
	if t, ok := x.taskAtBarrier(w); ok {
		v.Explanation = strings.TrimSuffix(v.Explanation, ".") + ". " + noBarrierInTask
		v.Fix = barrierOutOfTask
		v.Evidence = append(v.Evidence, waitInTask(x, w, t))
	}
	return v
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
	if a.Handler != nil && !invalid && isLockCheck(a.Message) {
		return explainLockInHandler(x, a, v)
	}
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

// explainLockInHandler adds to the verdict on a runtime that ended the program in a function for locks that the handler
// of a signal was in: the lock is probably one that the interrupted code was using, or the signal interrupted the
// runtime.
func explainLockInHandler(x *index, a *picture.Abort, v picture.Verdict) picture.Verdict {
	handler := "the handler of a signal"
	if name := handlerName(x.frames(a.Thread)); name != "" {
		handler += ", " + name
	}
	message := strings.TrimSuffix(v.Explanation, ".")
	v.Explanation = fmt.Sprintf("%s. The runtime was called in %s: the lock is probably one that the interrupted "+
		"code was acquiring, or holds.", message, handler)
	if at := a.Handler.Interrupted; at != nil {
		by := fmt.Sprintf("the signal interrupted %s", place(*at))
		if a.Handler.Call != "" {
			by += ", in " + a.Handler.Call
			v.Explanation = fmt.Sprintf("%s. The runtime was called in %s, which interrupted %s in %s: no thread may "+
				"call the runtime again before that call has returned.", message, handler, a.Handler.Call, place(*at))
		}
		v.Evidence = append(v.Evidence, by)
	}
	v.Fix = "acquire no lock in a handler: let it only set a flag (volatile sig_atomic_t) or write to a pipe, and do " +
		"the work elsewhere, or block the signal (pthread_sigmask) where the lock is used"
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

// addExit adds to a crash, as the first evidence, that another thread has called exit: it destroys static objects, and
// ends libraries, that the other threads still use.
func addExit(x *index, v *picture.Verdict) {
	for _, t := range x.pic.Threads {
		if slices.Contains(v.Threads, t.LWP) {
			continue
		}
		fs := t.UserStack
		i := slices.IndexFunc(fs, func(f picture.Frame) bool {
			return f.Kind == picture.FrameSystem && f.Function == "exit"
		})
		if i < 0 || i+1 == len(fs) || fs[i+1].Kind != picture.FrameUser {
			continue
		}
		v.Evidence = slices.Insert(v.Evidence, 0, fmt.Sprintf("%s is in exit, called in %s", x.threadName(t.LWP),
			place(fs[i+1])))
		v.Explanation = strings.TrimSpace(fmt.Sprintf("%s %s has called exit in %s while this thread was at work: "+
			"exit destroys static objects and ends libraries, which other threads still use.", v.Explanation,
			x.threadName(t.LWP), place(fs[i+1])))
		v.Fix = "call exit after the parallel region has ended, and from no thread while others work; where the " +
			"program must end at once, call _exit or quick_exit"
		return
	}
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
