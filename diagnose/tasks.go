package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// starved finds threads that wait for detached tasks which have run, and whose
// event nobody has fulfilled. Those that wait at one barrier do so together. A task that is
// only counted is told of where the code that waits makes detached ones: one that is about to
// begin, or has just ended, is counted as well.
func starved(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	told := map[picture.ID]bool{}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if d.reported[lwp] || w.Kind == picture.WaitBarrier && told[w.Region] {
			continue
		}
		if c, ok := d.detachedTasks(w); ok && (c.sure || !c.unlisted) {
			told[w.Region] = told[w.Region] || w.Kind == picture.WaitBarrier
			out = append(out, d.onDetached(w, c))
		}
	}
	return out
}

// detached are tasks that have run and wait for their event.
type detached struct {
	count int
	how   string
	// unlisted tells that the runtime only counts them, and has no list that
	// they are in: a task that a thread is just about to begin looks the same.
	// sure tells that the code that waits makes detached tasks.
	unlisted, sure bool
}

func unfinished(n int) string {
	if n == 1 {
		return "1 unfinished child"
	}
	return fmt.Sprintf("%d unfinished children", n)
}

// detachedTasks reports whether w waits for tasks that have run, and wait for their
// event, and for no others: those that the runtime keeps as such, or that it counts and
// that no thread has and no queue. In a taskwait these are children of the task that
// waits; a taskgroup and a barrier wait for others of the region too.
func (x *index) detachedTasks(w *picture.Wait) (detached, bool) {
	if x.facts.TasksTruncated || !x.quiet(w.Region) {
		return detached{}, false
	}
	var c census
	listed, counted := "tasks of the region", []int{w.Thread}
	switch w.Kind {
	case picture.WaitTaskwait:
		if w.Task == "" {
			return detached{}, false
		}
		listed = "children of its task"
		for _, child := range x.children[w.Task] {
			c.add(child)
		}
	case picture.WaitTaskgroup:
		c = x.explicit[w.Region]
	case picture.WaitBarrier:
		if !leftTasks(x.facts.Barriers, w.Barrier) {
			return detached{}, false
		}
		c, counted = x.explicit[w.Region], x.regions[w.Region].Threads
	default:
		return detached{}, false
	}
	d := detached{count: c.events}
	d.how = fmt.Sprintf("the runtime keeps %d unfinished %s as detached: executed, and in no queue", c.events, listed)
	if c.events == 0 {
		d = unlisted(x, counted)
	}
	if d.unlisted && !d.sure && someInTask(x, w.Region) { // tasks suspended there are in no list
		return detached{}, false
	}
	return d, d.count > 0 && c.others == 0
}

// census counts unfinished tasks: those that have run and wait for their event, and the
// others.
type census struct{ events, others int }

func (c *census) add(t *picture.Task) {
	switch {
	case !t.Unfinished():
	case t.AwaitsEvent():
		c.events++
	default:
		c.others++
	}
}

// unlisted counts the children of the tasks that threads wait in, of which the runtime
// lists none.
func unlisted(x *index, lwps []int) detached {
	d := detached{unlisted: true, sure: true}
	whose := "its task has"
	if len(lwps) > 1 {
		whose = "tasks of the region have"
	}
	for _, lwp := range lwps {
		w := x.waits[lwp]
		if w == nil || x.tasks[w.Task] == nil {
			continue
		}
		if n := x.tasks[w.Task].IncompleteChildren; n != nil && *n > 0 {
			d.count += *n
			d.sure = d.sure && slices.Contains(x.facts.EventMakers, lwp)
		}
	}
	d.how = fmt.Sprintf("%s %s; none is queued, waits for another task, or is on the stack of a thread",
		whose, unfinished(d.count))
	return d
}

// leftTasks reports whether all have arrived at a barrier, and tasks are left.
func leftTasks(barriers []picture.Barrier, id picture.ID) bool {
	return slices.ContainsFunc(barriers, func(b picture.Barrier) bool {
		return b.ID == id && b.WaitsForTasks
	})
}

// onDetached is the verdict on a thread that waits for detached tasks, or on all that wait
// for them at a barrier. It is one of a hang if nobody can come to fulfil their events.
func (d *drawer) onDetached(w *picture.Wait, c detached) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictTaskStarved, Severity: picture.SeverityInfo, Certainty: picture.Possible,
		Threads: []int{w.Thread}, Tasks: []picture.ID{w.Task},
		Evidence:    []string{c.how, "all other threads of its team wait"},
		Explanation: "A task with a detach clause completes when its event is fulfilled, not when its code ends.",
		Fix: "call omp_fulfill_event for every detached task, also where the operation that it represents " +
			"fails",
	}
	where := map[picture.WaitKind]string{
		picture.WaitTaskwait: "waits in a taskwait", picture.WaitTaskgroup: "waits at the end of a taskgroup",
	}[w.Kind]
	who := d.who(w.Thread) + " " + where
	if w.Kind == picture.WaitBarrier {
		v.Threads, v.Tasks = d.sameTarget(w), []picture.ID{}
		v.Evidence[1] = "all threads of its team wait there"
		who = d.wait(v.Threads) + " at a barrier"
	}
	which := fmt.Sprintf("%d detached tasks that have been executed and whose event is not fulfilled", c.count)
	if c.count == 1 {
		which = "a detached task that has been executed and whose event is not fulfilled"
	}
	v.Summary = fmt.Sprintf("%s for %s", who, which)
	if d.isStuck(w.Thread) {
		v.Severity, v.Certainty = picture.SeverityHang, picture.Likely
		v.Evidence = append(v.Evidence, "no code that a thread or a task may still reach calls omp_fulfill_event")
		d.addBlocked(&v)
	}
	return v
}

// queuedForever is the verdict on a ring of threads that wait for what a queued
// task would do, which none of them may run.
func (d *drawer) queuedForever(r *ring) picture.Verdict {
	v := picture.Verdict{Kind: picture.VerdictTaskStarved, Severity: picture.SeverityHang, Certainty: r.own}
	for _, n := range r.nodes {
		switch {
		case n.isThread():
			v.Threads = append(v.Threads, n.lwp)
		case d.isQueued(n):
			v.Tasks = append(v.Tasks, n.task)
		}
	}
	slices.Sort(v.Threads)
	slices.Sort(v.Tasks)
	d.addBlocked(&v)
	if slices.ContainsFunc(v.Threads, func(lwp int) bool { return d.waits[lwp].Kind == picture.WaitCondition }) {
		unsignalled(d, &v)
		return v
	}
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued; it is tied and descends from no task "+
			"that one of these threads waits in", d.madeAt(id)))
	}
	for _, lwp := range v.Threads {
		w := d.waits[lwp]
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s: %s", d.who(lwp), phrase.Awaited(d.target(w)),
			d.childrenOf(w)))
	}
	v.Summary = fmt.Sprintf("%s for work that depends on a queued task, and may not run it", d.wait(v.Threads))
	if len(v.Threads) > 1 {
		v.Summary = fmt.Sprintf("%s for work that depends on a queued task, and none of them may run it",
			d.wait(v.Threads))
	}
	v.Explanation = "A thread that waits in a tied task may run only descendants of that task (the task scheduling " +
		"constraint). All threads of the team wait in such tasks."
	v.Fix = "make the task a child of the task that waits for it, wait outside of tied tasks, or use one more thread"
	return v
}

// unsignalled tells of threads that wait on condition variables, which a queued task would signal.
func unsignalled(d *drawer, v *picture.Verdict) {
	v.Certainty = picture.Likely // that it would is known from its code
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued, its code may signal a condition variable, "+
			"and no thread of its team is free to execute it", d.madeAt(id)))
	}
	for _, lwp := range v.Threads {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s%s", d.who(lwp),
			phrase.Awaited(d.target(d.waits[lwp])),
			inPlace(d.index, lwp)))
	}
	v.Summary = d.wait(v.Threads) + " for what a queued task would signal, and no thread is left that could execute it"
	v.Explanation = "A thread that waits on a condition variable executes no tasks meanwhile. All threads of the " +
		"team wait."
	v.Fix = "execute the task that signals before threads wait for it, or let tasks wait for each other by " +
		"dependences (depend(out: x), depend(in: x)), which occupy no thread"
}

// madeAt is where the construct of a task stands: "at x.c:12 ".
func (x *index) madeAt(id picture.ID) string {
	if t := x.tasks[id]; t != nil && t.Function != nil && t.Function.Line != 0 {
		return fmt.Sprintf("at %s:%d ", base(t.Function.File), t.Function.Line)
	}
	return ""
}

// childrenOf counts the unfinished children of the task that waits, by construct and
// state.
func (x *index) childrenOf(w *picture.Wait) string {
	if c, ok := x.detachedTasks(w); ok {
		return c.how
	}
	counts := map[string]int{}
	var order []string
	for _, t := range x.children[w.Task] {
		if !t.Unfinished() {
			continue
		}
		what := x.madeAt(t.ID) + string(t.State)
		if counts[what]++; counts[what] == 1 {
			order = append(order, what)
		}
	}
	for i, what := range order {
		order[i] = fmt.Sprintf("%d %s", counts[what], what)
	}
	if len(order) == 0 {
		return "its unfinished children are not known"
	}
	return "its unfinished children: " + strings.Join(order, ", ")
}
