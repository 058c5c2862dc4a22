package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findSpinning finds threads of parallel regions that are in a loop of the program until a word of memory changes. That
// is a hang if all other threads wait for one of them, or do the same; else it is unknown which thread may change it.
func findSpinning(d *dependencies, c *covered) []picture.Verdict {
	var out []picture.Verdict
	var stuck []int
	seen := map[waitKey]bool{}
	s := findSleepers(d)
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if !isLoop(w.Kind) || seen[keyOf(w)] || c.sleepers[lwp] {
			continue
		}
		seen[keyOf(w)] = true
		lwps := slices.Clone(d.waitersFor(w))
		if !slices.ContainsFunc(lwps, d.holdsUpRegion) {
			continue
		}
		hangs := s.known && s.isNeverWoken(w) || isEndless(d.index, w)
		out = append(out, explainSpinning(d, w, lwps, hangs))
		if hangs {
			stuck = append(stuck, lwps...)
		}
	}
	d.markStuck(picture.Likely, stuck)
	for i := range out {
		if out[i].Severity == picture.SeverityHang {
			d.addBlocked(&out[i])
			explainUnheld(d.index, &out[i])
		}
	}
	return out
}

// explainUnheld names the locks without a known holder in the waits that depend on a verdict's threads: a lock
// that was left without a release may be the cause of all.
func explainUnheld(x *index, v *picture.Verdict) {
	seen := map[waitKey]bool{}
	for _, lwp := range v.Waiting {
		w, l := x.waits[lwp], x.locks[lwp]
		if w == nil || l == nil || !l.Held || seen[keyOf(w)] {
			continue
		}
		seen[keyOf(w)] = true
		if _, known := oneHolder(l.Holders); known {
			continue
		}
		v.Explanation += fmt.Sprintf(" Or the cause is %s, which %s for: who holds it is not known, and it may have "+
			"been left without a release.", phrase.Awaited(x.waitTarget(w)), x.threadsWait(x.waitersFor(w)))
	}
}

// isEndless reports whether a thread is in a loop that has no way out, and that no signal ends.
func isEndless(x *index, w *picture.Wait) bool {
	l := x.locks[w.Thread]
	return w.Kind == picture.WaitNothing && l != nil && l.MayRelease != nil && !l.MayRelease.Incomplete
}

// explainSpinning returns the verdict on threads that wait for the same word.
func explainSpinning(d *dependencies, w *picture.Wait, lwps []int, hangs bool) picture.Verdict {
	v := newVerdict(picture.VerdictSpinning, picture.Likely)
	v.Threads = lwps
	at := ""
	if f, ok := loopFrame(d.index, w); ok {
		at = " in " + place(f)
	}
	who, verb := fmt.Sprintf("%d threads", len(lwps)), "spin"
	if w.Awaited != nil && w.Awaited.Sleeps {
		verb = "poll"
	}
	if len(lwps) == 1 {
		who, verb = d.threadName(lwps[0]), verb+"s"
	}
	v.Summary = fmt.Sprintf("%s %s%s until %s changes", who, verb, at, flagName(d.waitTarget(w)))
	if w.Kind == picture.WaitNothing {
		v.Summary = fmt.Sprintf("%s %s%s in a loop that reads no variable and has no way out", who, verb, at)
	}
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %s", d.threadName(lwp), d.waits[lwp].Evidence))
	}
	if !hangs {
		v.Severity, v.Certainty, v.Fix = picture.SeverityInfo, picture.Certain, ""
		return v
	}
	if w.Kind == picture.WaitNothing {
		v.Explanation = "Nothing that another thread does ends the loop. Where the source has a condition, the " +
			"compiler tested it once, before the loop: it may do so if the variable is not atomic."
		read := "#pragma omp atomic read, std::atomic"
		if f, ok := loopFrame(d.index, w); ok && isFortran(f.File) {
			read = "!$omp atomic read"
		}
		v.Fix = "read the variable atomically in the loop (" + read + "), and write it so; " +
			"or use what OpenMP has for waiting: a barrier, a taskwait, depend clauses"
		return v
	}
	v.Summary += ", and no thread is left that could change it"
	v.Explanation = "With the memory as it is, the loop has no end. Every other thread is in such a loop, too, " +
		"or waits for one that is."
	v.Evidence = append(v.Evidence, "no other thread of the process is at work")
	flag := flagName(d.waitTarget(w))
	explainQueuedTasks(d.index, &v, "changes "+flag)
	explainDependentTasks(d.index, &v, "changes "+flag)
	explainSections(d.index, &v, "changes "+flag)
	explainDiscardedTasks(d.index, &v, "changes "+flag)
	if w.Call == "" {
		explainHeldLocks(d, &v, flag)
	}
	explainPolled(d.index, &v, w)
	return v
}

// explainHeldLocks adds to a verdict the locks that its threads hold while they wait for a flag, with the threads that
// wait for these locks: if one of those would change the flag, they wait for each other. The code that changes it
// is not known.
func explainHeldLocks(d *dependencies, v *picture.Verdict, flag string) {
	var texts, names []string
	var waiting []int
	for _, lwp := range v.Threads {
		for _, held := range d.heldWaits(lwp) {
			w := d.waits[held.waiters[0]]
			name := phrase.Awaited(d.waitTarget(w))
			verb := "has"
			if held.turn == "" {
				verb, names = "holds", append(names, name)
			}
			text := fmt.Sprintf("%s %s %s%s, for which %s", d.threadName(lwp), verb, name,
				held.acquired(), d.threadsWait(held.waiters))
			if held.evidence != "" {
				v.Evidence = append(v.Evidence, fmt.Sprintf("%s and %s: %s", d.threadName(lwp), name, held.evidence))
			}
			texts, waiting = append(texts, text), append(waiting, held.waiters...)
		}
	}
	if len(texts) == 0 {
		return
	}
	gets, needs := "the lock", "that needs the lock"
	fix := fmt.Sprintf("release %s while waiting: acquire it, read %s, and release it before the next try; or wait "+
		"on a condition variable, which releases its mutex", phrase.Some(names[:min(len(names), maxNamed)], maxNamed,
		len(names)), flag)
	if len(names) == 0 {
		gets, needs = "its turn", "of a later iteration"
		fix = "in the ordered region, do not wait for what a later iteration changes in or after its own: wait after " +
			"the region, or let that iteration make the change before its region"
	}
	v.Explanation = fmt.Sprintf("%s. If one of them would change %s, they wait for each other: it gets %s "+
		"only after the change.", phrase.Clauses(texts, maxNamed, len(texts)), flag, gets)
	v.Fix = fmt.Sprintf("%s. If no code %s changes %s: %s", fix, needs, flag, v.Fix)
	for _, lwp := range waiting {
		if !slices.Contains(v.Threads, lwp) {
			v.Threads = append(v.Threads, lwp)
		}
	}
}

// isFortran reports whether a source file is a Fortran file by its extension, as gfortran and flang do.
func isFortran(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18", ".fpp":
		return true
	}
	return false
}

// explainPolled adds the holder of a lock that threads try to acquire in a loop, or the place where it was left.
func explainPolled(x *index, v *picture.Verdict, w *picture.Wait) {
	if w.Call == "" {
		return
	}
	v.Evidence = append(v.Evidence, fmt.Sprintf("the loop calls %s, which does not get %s", w.Call,
		flagName(x.waitTarget(w))))
	v.Fix = "release it on every path out of the code that acquires it, and hold it over no wait for those who need it"
	l := x.locks[w.Thread]
	if l == nil {
		return
	}
	h, held := oneHolder(l.Holders)
	switch {
	case held && h.Thread == w.Thread:
		v.Explanation = fmt.Sprintf("%s holds it itself: no try can succeed.", x.threadName(h.Thread))
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %s", x.threadName(h.Thread), h.Evidence))
	case held:
		v.Explanation = fmt.Sprintf("%s holds it, and cannot proceed before one of the threads that try.",
			x.threadName(h.Thread))
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s: %s", x.threadName(h.Thread), h.Evidence))
	default:
		v.Explanation += leakSentence(l, "it")
	}
}

// flagName names the word that a loop reads.
func flagName(t picture.WaitTarget) string {
	if t.Name == "" && t.Address != nil {
		return "the word at " + t.Address.String()
	}
	return t.Name
}

// loopFrame returns the frame of the loop in which a thread waits, with the function's name that its stack has. The
// thread may be at another line of the loop.
func loopFrame(x *index, w *picture.Wait) (picture.Frame, bool) {
	if w.Awaited == nil || w.Awaited.Loop == nil {
		return picture.Frame{}, false
	}
	at := *w.Awaited.Loop
	for _, f := range x.frames(w.Thread) {
		same := f.Line == at.Line || f.Function != "" && f.Function == at.Function
		if f.Kind == picture.FrameUser && f.Construct != "" && f.File == at.File && same {
			f.Line, f.Near = at.Line, at.Near
			return f, true
		}
		if at.Entry != nil && f.Entry != nil && *at.Entry == *f.Entry && !at.Inlined {
			at.Function = f.Function
			break
		}
	}
	return at, true
}
