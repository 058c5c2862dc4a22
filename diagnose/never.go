package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// signalled reports whether a thread waits, without a limit, for what another thread of its
// process must do and nobody records: a signal, a post, a wake-up.
func signalled(w *picture.Wait) bool {
	switch row := w.Kind.Traits(); {
	case row.WakeFix != "":
		return w.Asleep
	case w.Kind == picture.WaitFlag, w.Kind == picture.WaitNothing:
		return true
	}
	return false
}

// sleepers are the threads that wait for a signal of another one, and the threads and tasks
// that cannot proceed if none of them does; not ok where a task is about to be run that could
// wake them, or not all is known.
func sleepers(d *drawer) (asleep []node, after map[node]bool, ok bool) {
	for _, lwp := range d.order {
		if signalled(d.waits[lwp]) && !endsByItself(d, d.waits[lwp]) {
			asleep = append(asleep, node{lwp: lwp})
		}
	}
	if len(asleep) == 0 || d.facts.TasksTruncated || !d.facts.StacksComplete {
		return nil, nil, false
	}
	after = d.stuckIf(asleep...)
	return asleep, after, !slices.ContainsFunc(d.pic.Tasks, func(t picture.Task) bool {
		return t.Pending() && !after[node{task: t.ID}]
	})
}

// endsByItself reports whether the loop that a thread is in may end, or helps others, though no thread of
// the process is at work: a handler of a signal, or another process, may write what it reads, or it writes
// what others wait for.
func endsByItself(d *drawer, w *picture.Wait) bool {
	l := d.locks[w.Thread]
	return w.Kind == picture.WaitFlag && (l == nil || l.MayRelease == nil || l.MayRelease.Incomplete)
}

// neverWoken finds threads of parallel regions that sleep until another thread wakes them,
// where all that may do so sleep in the same way or cannot proceed before one that does.
func neverWoken(d *drawer) []picture.Verdict {
	asleep, after, ok := sleepers(d)
	if !ok {
		return nil
	}
	var reported []node
	for lwp := range d.reported {
		reported = append(reported, node{lwp: lwp})
	}
	behind := d.waitersOf(reported...) // another verdict says what they wait for
	for _, n := range reported {
		behind[n] = true
	}
	for lwp := range d.behind {
		behind[node{lwp: lwp}] = true
	}
	var out []picture.Verdict
	var stuck []int
	told := map[target]bool{}
	for _, n := range asleep {
		w := d.waits[n.lwp]
		spins := w.Kind == picture.WaitFlag || w.Kind == picture.WaitNothing
		if spins || told[targetOf(w)] || behind[n] || !d.nobodyWakes(w, after) {
			continue
		}
		told[targetOf(w)] = true
		lwps := slices.DeleteFunc(slices.Clone(d.sameTarget(w)), func(lwp int) bool { return !signalled(d.waits[lwp]) })
		if !slices.ContainsFunc(lwps, d.inRegion) {
			continue
		}
		stuck = append(stuck, lwps...)
		out = append(out, d.tellNeverWoken(w, lwps))
	}
	d.never(picture.Likely, stuck)
	for i := range out {
		d.addBlocked(&out[i])
	}
	return out
}

// inRegion reports whether a thread is in a parallel region.
func (x *index) inRegion(lwp int) bool {
	t := x.threads[lwp]
	return t != nil && t.Level != nil && *t.Level > 0
}

// nobodyWakes reports whether all threads that may wake a sleeper are among some that
// cannot proceed, and all of OpenMP's threads are: of those, the code is not enough.
func (d *drawer) nobodyWakes(w *picture.Wait, after map[node]bool) bool {
	cannot := func(lwp int) bool { return after[node{lwp: lwp}] }
	atWork := func(t picture.Thread) bool {
		return t.LWP != 0 && t.Role != picture.RoleIdle && !t.Hidden && !cannot(t.LWP)
	}
	ofTeam := func(t picture.Thread) bool { return t.Role != picture.RoleNone && atWork(t) }
	if slices.ContainsFunc(d.pic.Threads, ofTeam) {
		return false
	}
	c := d.facts.Wakers
	row := w.Kind.Traits()
	switch {
	case w.Kind == picture.WaitSemaphore:
		c = nil
		if l := d.locks[w.Thread]; l != nil {
			c = l.MayRelease
		}
	case w.Kind == picture.WaitFlag && endsByItself(d, w): // the handler of a signal may write it
		return false
	case w.Kind == picture.WaitFlag, row.WakeFix != "" && row.WakeCall == "": // any code may end it
		return !slices.ContainsFunc(d.pic.Threads, atWork)
	}
	executed := func(id picture.ID) bool { return !after[node{task: id}] }
	return c != nil && !c.Incomplete && !slices.ContainsFunc(c.Tasks, executed) &&
		!slices.ContainsFunc(c.Threads, func(lwp int) bool { return !cannot(lwp) })
}

// tellNeverWoken makes the verdict on threads that wait for the same.
func (d *drawer) tellNeverWoken(w *picture.Wait, lwps []int) picture.Verdict {
	row := w.Kind.Traits()
	what, words := phrase.Awaited(d.target(w)), [2]string{row.WakeCall, row.WakeFix}
	if s := sleeperOf(d.frames(w.Thread)); s != nil && w.Kind == picture.WaitFutex {
		what, words = s.what+" ("+what+")", [2]string{"", s.fix}
	}
	v := picture.Verdict{
		Kind: picture.VerdictNeverWoken, Severity: picture.SeverityHang, Certainty: picture.Likely, Threads: lwps,
		Summary: fmt.Sprintf("%s for %s, and no thread is left that could wake them", d.wait(lwps), what),
		Fix:     words[1],
	}
	if len(lwps) == 1 {
		v.Summary = fmt.Sprintf("%s for %s, and no thread is left that could wake it", d.wait(lwps), what)
	}
	who := "thread of the process"
	if words[0] != "" {
		who = "thread whose code may still reach " + words[0]
	}
	sleep := "They sleep"
	if len(lwps) == 1 {
		sleep = "It sleeps"
	}
	v.Explanation = fmt.Sprintf("%s without a time limit. Every other %s sleeps in the same way, or waits for one "+
		"that does.", sleep, who)
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		if f, ok := innermost(d.frames(lwp)); ok {
			v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d sleeps in a futex call, in %s", lwp, place(f)))
		}
	}
	if len(lwps) == 1 {
		inHandler(&v, w, what)
	}
	if w.Kind == picture.WaitThreads {
		v.Evidence = append(v.Evidence, w.Evidence)
	}
	others := otherWakers(d, w, lwps)
	switch {
	case words[0] == "":
		v.Evidence = append(v.Evidence, "all threads of the process sleep")
	case len(others) == 0:
		v.Evidence = append(v.Evidence, "no other thread's code may reach "+words[0])
	default:
		v.Evidence = append(v.Evidence, fmt.Sprintf("the code of %s may reach %s, but cannot before: %s",
			count(len(others)), words[0], waitsOf(d, others)))
	}
	return v
}

// otherWakers are the threads whose code may wake those that wait as w does, but for these.
func otherWakers(d *drawer, w *picture.Wait, lwps []int) []int {
	c := d.facts.Wakers
	if w.Kind == picture.WaitSemaphore {
		c = d.locks[w.Thread].MayRelease
	}
	if c == nil {
		return nil // any code may
	}
	return slices.DeleteFunc(slices.Clone(c.Threads), func(lwp int) bool { return slices.Contains(lwps, lwp) })
}

// waitsOf says what some threads wait for.
func waitsOf(d *drawer, lwps []int) string {
	var all []string
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		text := d.who(lwp)
		if w := d.waits[lwp]; w != nil {
			text += " waits for " + phrase.Awaited(d.target(w))
		}
		all = append(all, text)
	}
	return phrase.Clauses(all, maxNamed, len(lwps))
}
