package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// spinning finds threads of parallel regions that are in a loop of the program until a word
// of memory changes. It is a hang if all other threads wait for one of them, or do the same;
// else it is not known who may change it.
func spinning(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	var stuck []int
	told := map[target]bool{}
	_, after, known := sleepers(d)
	for _, lwp := range d.order {
		w := d.waits[lwp]
		spins := w.Kind == picture.WaitFlag || w.Kind == picture.WaitNothing
		if !spins || told[targetOf(w)] || d.behind[lwp] {
			continue
		}
		told[targetOf(w)] = true
		lwps := slices.Clone(d.sameTarget(w))
		if !slices.ContainsFunc(lwps, d.inRegion) {
			continue
		}
		hangs := known && d.nobodyWakes(w, after) || endless(d, w)
		out = append(out, tellSpinning(d, w, lwps, hangs))
		if hangs {
			stuck = append(stuck, lwps...)
		}
	}
	d.never(picture.Likely, stuck)
	for i := range out {
		if out[i].Severity == picture.SeverityHang {
			d.addBlocked(&out[i])
			tellUnheld(d, &out[i])
		}
	}
	return out
}

// tellUnheld names the locks that threads behind a verdict wait for and nobody is known to hold: one that
// was left without a release may be the cause of all.
func tellUnheld(d *drawer, v *picture.Verdict) {
	told := map[target]bool{}
	for _, lwp := range v.Waiting {
		w, l := d.waits[lwp], d.locks[lwp]
		if w == nil || l == nil || !l.Held || told[targetOf(w)] {
			continue
		}
		told[targetOf(w)] = true
		if _, known := oneHolder(l.Holders); known {
			continue
		}
		v.Explanation += fmt.Sprintf(" Or the cause is %s, which %s for: who holds it is not known, and it may have "+
			"been left without a release.", phrase.Awaited(d.target(w)), d.wait(d.sameTarget(w)))
	}
}

// endless reports whether a thread is in a loop that has no way out, and no signal takes it out.
func endless(d *drawer, w *picture.Wait) bool {
	l := d.locks[w.Thread]
	return w.Kind == picture.WaitNothing && l != nil && l.MayRelease != nil && !l.MayRelease.Incomplete
}

// tellSpinning makes the verdict on threads that wait for the same word.
func tellSpinning(d *drawer, w *picture.Wait, lwps []int, hangs bool) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictSpinning, Severity: picture.SeverityInfo, Certainty: picture.Certain, Threads: lwps,
	}
	at := ""
	if f, ok := loopAt(d, w); ok {
		at = " in " + place(f)
	}
	who, verb := fmt.Sprintf("%d threads", len(lwps)), "spin"
	if len(lwps) == 1 {
		who, verb = d.who(lwps[0]), "spins"
	}
	v.Summary = fmt.Sprintf("%s %s%s until %s changes", who, verb, at, flagName(d.target(w)))
	if w.Kind == picture.WaitNothing {
		v.Summary = fmt.Sprintf("%s %s%s in a loop that reads no variable and has no way out", who, verb, at)
	}
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", lwp, d.waits[lwp].Evidence))
	}
	if !hangs {
		return v
	}
	v.Severity, v.Certainty = picture.SeverityHang, picture.Likely
	if w.Kind == picture.WaitNothing {
		v.Explanation = "Nothing that another thread does ends the loop. Where the source has a condition, the " +
			"compiler tested it once, before the loop: it may do so if the variable is not atomic."
		read := "#pragma omp atomic read, std::atomic"
		if f, ok := loopAt(d, w); ok && inFortran(f.File) {
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
	v.Fix = "change it, by an atomic write, on every path that lets the others wait for it; or use what OpenMP has " +
		"for waiting: a barrier, a taskwait, depend clauses"
	tellPolled(d, &v, w)
	return v
}

// inFortran reports whether a source file is one of Fortran, by its name, as gfortran and flang do.
func inFortran(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18", ".fpp":
		return true
	}
	return false
}

// tellPolled says of threads that try to acquire a lock in a loop who has it, or where it was left.
func tellPolled(d *drawer, v *picture.Verdict, w *picture.Wait) {
	if w.Call == "" {
		return
	}
	v.Evidence = append(v.Evidence, fmt.Sprintf("the loop calls %s, which does not get %s", w.Call,
		flagName(d.target(w))))
	v.Fix = "release it on every path out of the code that acquires it, and hold it over no wait for those who need it"
	l := d.locks[w.Thread]
	if l == nil {
		return
	}
	h, held := oneHolder(l.Holders)
	switch {
	case held && h.Thread == w.Thread:
		v.Explanation = fmt.Sprintf("%s holds it itself: no try can succeed.", d.who(h.Thread))
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", h.Thread, h.Evidence))
	case held:
		v.Explanation = fmt.Sprintf("%s holds it, and cannot proceed before one of the threads that try.",
			d.who(h.Thread))
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", h.Thread, h.Evidence))
	default:
		v.Explanation += goesOn(l, "it")
	}
}

// flagName is what a loop reads.
func flagName(t picture.WaitTarget) string {
	if t.Name == "" && t.Address != nil {
		return "the word at " + t.Address.String()
	}
	return t.Name
}

// loopAt is where a thread waits for a flag, in a function as its stack calls it.
func loopAt(d *drawer, w *picture.Wait) (picture.Frame, bool) {
	if w.Awaited == nil || w.Awaited.Loop == nil {
		return picture.Frame{}, false
	}
	at := *w.Awaited.Loop
	for _, f := range d.frames(w.Thread) {
		if f.Kind == picture.FrameUser && f.Construct != "" && f.File == at.File && f.Line == at.Line {
			return f, true
		}
		if at.Entry != nil && f.Entry != nil && *at.Entry == *f.Entry && !at.Inlined {
			at.Function = f.Function
			break
		}
	}
	return at, true
}
