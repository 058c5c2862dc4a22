package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// starved finds threads that wait for detached tasks which have run, and whose
// event nobody has fulfilled.
func starved(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if w.Kind != picture.WaitTaskwait || w.Task == "" || d.reported[lwp] {
			continue
		}
		if c, ok := d.detachedChildren(w); ok {
			out = append(out, d.onDetached(w, c))
		}
	}
	return out
}

// detached are children that have run and wait for their event.
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

// detachedChildren reports whether w waits for children that have run, and wait for
// their event, and for no others: those that the runtime keeps as such, or that it
// counts and that no thread has and no queue.
func (x *index) detachedChildren(w *picture.Wait) (detached, bool) {
	t := x.tasks[w.Task]
	if t == nil || x.facts.TasksCut || !x.quiet(w.Region) {
		return detached{}, false
	}
	seen, c := 0, detached{}
	for _, child := range x.children[w.Task] {
		switch {
		case !child.Unfinished():
		case child.AwaitsEvent():
			c.count++
		default:
			seen++
		}
	}
	c.how = fmt.Sprintf("the runtime keeps %s of its task as detached: executed, and in no queue", unfinished(c.count))
	if c.count == 0 && t.IncompleteChildren != nil {
		c = detached{count: *t.IncompleteChildren - seen, unlisted: true}
		c.how = fmt.Sprintf("its task has %s; none is queued, waits for another task, or is on the stack of a "+
			"thread", unfinished(c.count))
		c.sure = slices.Contains(x.facts.EventMakers, w.Thread)
	}
	return c, c.count > 0 && seen == 0
}

// onDetached is the verdict on a thread that waits for detached tasks. It is one of a
// hang if nobody can come to fulfil their events.
func (d *drawer) onDetached(w *picture.Wait, c detached) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictTaskStarved, Severity: picture.SeverityInfo, Certainty: picture.Possible,
		Threads: []int{w.Thread}, Tasks: []picture.ID{w.Task},
		Summary: fmt.Sprintf("%s waits in a taskwait for %d detached tasks that have been executed and whose "+
			"event is not fulfilled", d.who(w.Thread), c.count),
		Evidence:    []string{c.how, "all other threads of its team wait"},
		Explanation: "A task with a detach clause completes when its event is fulfilled, not when its code ends.",
		Fix: "call omp_fulfill_event for every detached task, also where the operation that it represents " +
			"fails",
	}
	if c.count == 1 {
		v.Summary = fmt.Sprintf("%s waits in a taskwait for a detached task that has been executed and whose event "+
			"is not fulfilled", d.who(w.Thread))
	}
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
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued; it is tied and descends from no task "+
			"that one of these threads waits in", d.madeAt(id)))
	}
	for _, lwp := range v.Threads {
		w := d.waits[lwp]
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s: %s", d.who(lwp), describe(d.target(w)),
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
	d.addBlocked(&v)
	return v
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
	if c, ok := x.detachedChildren(w); ok {
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
