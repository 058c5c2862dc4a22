package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// findStarvedTasks finds threads that wait for executed detached tasks with an unfulfilled event. Threads that
// wait at one barrier have one verdict. Tasks that are only counted are reported where the waiting code creates
// detached ones: a task that is about to start, or has just ended, is counted as well.
func findStarvedTasks(d *dependencies, c *covered) []picture.Verdict {
	var out []picture.Verdict
	seen := map[picture.ID]bool{}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if c.threads[lwp] || w.Kind == picture.WaitBarrier && seen[w.Region] {
			continue
		}
		if t, ok := detachedTasks(d.index, w); ok && (t.sure || !t.unlisted) {
			seen[w.Region] = seen[w.Region] || w.Kind == picture.WaitBarrier
			out = append(out, explainDetached(d, w, t))
		}
	}
	return out
}

// detached are tasks that have been executed and wait for their event.
type detached struct {
	count    int
	evidence string
	own      bool   // the thread executed the task at once and waits for the event in the task construct
	places   string // the constructs of the tasks; "" if unknown
	blocked  int    // tasks that depend on them, directly or not
	// unlisted is set if the runtime only counts the tasks and no list contains them: a task that a thread is about to
	// start looks the same.
	unlisted bool
	makers   []*picture.Wait // of threads whose evidence has the constructs of unlisted tasks
	// sure is set if the waiting code creates detached tasks.
	sure bool
}

// detachedTasks returns the detached tasks that w waits for; not ok if it waits for no detached task, or also for
// other tasks. The runtime keeps them as such, or counts them, and no thread or queue contains them. A taskwait
// waits for children of the waiting task; a taskgroup and a barrier wait for other tasks of the region, too.
func detachedTasks(x *index, w *picture.Wait) (detached, bool) {
	if awaitsOwnEvent(x, w) { // whatever the others do
		return detached{count: 1, own: true, evidence: "the runtime executed the task at once, as too many were " +
			"queued or its if clause was false, and waits for the event in the task construct"}, true
	}
	if w.Kind != picture.WaitBarrier {
		return findDetachedTasks(x, w)
	}
	known, ok := x.detached[w.Barrier] // the tasks of the team are counted once, not for each member
	if !ok {
		if t, found := findDetachedTasks(x, w); found {
			known = &t
		}
		x.detached[w.Barrier] = known
	}
	if known == nil {
		return detached{}, false
	}
	return *known, true
}

// findDetachedTasks is detachedTasks for a thread that does not wait for its own event.
func findDetachedTasks(x *index, w *picture.Wait) (detached, bool) {
	if x.facts.TasksTruncated || !x.allMembersWait(w.Region) {
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
		if !waitsForTasks(x.facts.Barriers, w.Barrier) {
			return detached{}, false
		}
		c, counted = x.explicit[w.Region], x.regions[w.Region].Threads
	default:
		return detached{}, false
	}
	t := detached{count: c.events, places: c.placesText(), blocked: c.blocked}
	t.evidence = fmt.Sprintf("the runtime keeps %d unfinished %s as detached: executed, and in no queue", c.events,
		listed)
	if c.events == 1 {
		t.evidence = fmt.Sprintf("the runtime keeps 1 of the %s as detached: executed, and in no queue", listed)
	}
	if c.events == 0 {
		t = unlistedTasks(x, counted, c.blocked)
	}
	if t.unlisted && !t.sure && anyAtBarrierInTask(x, w.Region) { // no list contains tasks that are suspended there
		return detached{}, false
	}
	return t, t.count > 0 && c.others == 0
}

// awaitsOwnEvent reports whether the thread of w waits in a task construct for the event of the task that it has
// executed there.
func awaitsOwnEvent(x *index, w *picture.Wait) bool {
	t := x.tasks[w.Task]
	return w.Awaited != nil && slices.Contains(w.Awaited.Tasks, w.Task) && t != nil && t.AwaitsEvent()
}

// unlistedTasks counts the children of the tasks that threads wait in, if the runtime lists no such child but those
// that are blocked.
func unlistedTasks(x *index, lwps []int, blocked int) detached {
	t := detached{unlisted: true, sure: true, blocked: blocked}
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
			t.count += *n
			t.sure = t.sure && slices.Contains(x.facts.EventMakers, lwp)
			if w.Evidence != "" && len(t.makers) < maxNamed {
				t.makers = append(t.makers, w)
			}
		}
	}
	if blocked > 0 {
		wait := "wait"
		if blocked == 1 {
			wait = "waits"
		}
		t.evidence = fmt.Sprintf("%s %s: %d %s for other tasks, and the rest is neither queued nor on the stack of "+
			"a thread", whose, unfinishedChildren(t.count), blocked, wait)
		t.count = max(t.count-blocked, 0)
		return t
	}
	t.evidence = fmt.Sprintf("%s %s; none is queued, waits for another task, or is on the stack of a thread",
		whose, unfinishedChildren(t.count))
	return t
}

func unfinishedChildren(n int) string {
	if n == 1 {
		return "1 unfinished child"
	}
	return fmt.Sprintf("%d unfinished children", n)
}

// waitsForTasks reports whether all have arrived at a barrier, and tasks are left.
func waitsForTasks(barriers []picture.Barrier, id picture.ID) bool {
	return slices.ContainsFunc(barriers, func(b picture.Barrier) bool {
		return b.ID == id && b.WaitsForTasks
	})
}

// explainDetached returns the verdict on a thread that waits for detached tasks, or on all that wait for them at a
// barrier. It is a hang if no thread or task can fulfil their events.
func explainDetached(d *dependencies, w *picture.Wait, t detached) picture.Verdict {
	v := newVerdict(picture.VerdictTaskStarved, picture.Likely)
	v.Threads, v.Tasks = []int{w.Thread}, []picture.ID{w.Task}
	v.Evidence = []string{t.evidence, "all other threads of its team wait"}
	v.Explanation = "A task with a detach clause completes when its event is fulfilled, not when its code ends."
	v.Fix = fulfilFix
	where := map[picture.WaitKind]string{
		picture.WaitTaskwait: "waits in a taskwait", picture.WaitTaskgroup: "waits at the end of a taskgroup",
	}[w.Kind]
	if t.own {
		v.Evidence = v.Evidence[:1]
		where = "waits in the task construct" + innermostPlace(d.frames(w.Thread))
	}
	who := d.threadName(w.Thread) + " " + where
	if w.Kind == picture.WaitBarrier {
		v.Threads, v.Tasks = d.waitersFor(w), []picture.ID{}
		v.Evidence[1] = "all threads of its team wait there"
		who = d.threadsWait(v.Threads) + " at a barrier"
	}
	at := ""
	if t.places != "" {
		at = " (" + t.places + ")"
	}
	for _, m := range t.makers {
		v.Evidence = append(v.Evidence, d.threadName(m.Thread)+": "+m.Evidence)
	}
	which := fmt.Sprintf("%d detached tasks%s that have been executed and whose event is not fulfilled", t.count, at)
	if t.count == 1 {
		which = fmt.Sprintf("a detached task%s that has been executed and whose event is not fulfilled", at)
	}
	if t.blocked > 0 {
		v.Explanation += fmt.Sprintf(" %s on it.", dependentTasks(t.blocked))
	}
	v.Summary = fmt.Sprintf("%s for %s", who, which)
	if !d.isStuck(w.Thread) {
		v.Severity, v.Certainty = picture.SeverityInfo, picture.Possible
		return v
	}
	v.Evidence = append(v.Evidence, fulfillersText(d))
	d.addBlocked(&v)
	return v
}

func dependentTasks(n int) string {
	if n == 1 {
		return "1 other task depends"
	}
	return fmt.Sprintf("%d other tasks depend", n)
}

// fulfillersText describes the threads and tasks that may still fulfil an event. All of them are stuck.
func fulfillersText(d *dependencies) string {
	c := d.facts.Fulfillers
	if c == nil || len(c.Threads)+len(c.Tasks) == 0 {
		return "no code that a thread or a task may still reach calls omp_fulfill_event"
	}
	var names []string
	for _, lwp := range c.Threads[:min(len(c.Threads), maxNamed)] {
		names = append(names, d.threadName(lwp))
	}
	if n := len(c.Threads) - maxNamed; n > 0 {
		names = append(names, threadCount(n)+" more")
	}
	const unknown, target, unknownTarget = "?", "target", "?target" // not places
	counts := map[string]int{}
	var order []string
	for _, id := range c.Tasks {
		at := "" // not started
		switch t := d.tasks[id]; {
		case t == nil:
		case t.Kind == picture.TaskTarget && (t.Function == nil || t.Function.Address == nil):
			at = unknownTarget
		case t.Kind == picture.TaskTarget && !hasLine(t.Function):
			at = target
		case t.Function == nil || t.Function.Address == nil:
			at = unknown
		case hasLine(t.Function):
			at = codePlace(t.Function)
		}
		if counts[at]++; counts[at] == 1 {
			order = append(order, at)
		}
	}
	for _, at := range order[:min(len(order), maxNamed)] {
		n := counts[at]
		switch {
		case at == target:
			names = append(names, phrase.Count(n, "target task"))
		case at == unknownTarget:
			names = append(names, phrase.Count(n, "target task")+" whose code is not known")
		case at == unknown:
			names = append(names, phrase.Count(n, "task")+" whose code is not known")
		case at != "" && n == 1:
			names = append(names, "the task at "+at)
		case at != "":
			names = append(names, fmt.Sprintf("%d tasks at %s", n, at))
		case n == 1:
			names = append(names, "the task that has not been started")
		default:
			names = append(names, fmt.Sprintf("%d tasks that have not been started", n))
		}
	}
	return "by the code, only these may still call omp_fulfill_event, and none of them can proceed before that: " +
		strings.Join(names, ", ")
}

// awaitsEvent reports whether a node is a task that has been executed and waits for its event. A task of a cycle that
// the runtime does not list is detached, see unlistedPredecessors.
func (d *dependencies) awaitsEvent(n node) bool {
	t := d.tasks[n.task]
	return !n.isThread() && (t == nil || t.AwaitsEvent())
}

// isStarved reports whether a cycle passes through a detached task, and a thread of it waits for nothing but such
// tasks: findStarvedTasks explains it.
func (d *dependencies) isStarved(path []hop) bool {
	return slices.ContainsFunc(path, func(h hop) bool { return d.awaitsEvent(h.from) }) &&
		slices.ContainsFunc(path, func(h hop) bool {
			if !h.from.isThread() {
				return false
			}
			_, ok := detachedTasks(d.index, d.waits[h.from.lwp])
			return ok
		})
}

// explainQueued returns the verdict on a ring of threads that depend on a queued task which no thread of the ring
// may execute.
func explainQueued(d *dependencies, r *ring) picture.Verdict {
	v := newVerdict(picture.VerdictTaskStarved, r.own)
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
		explainUnsignalled(d.index, &v)
		return v
	}
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued; it is tied and descends from no task "+
			"that one of these threads waits in", d.taskPlace(id)))
	}
	for _, lwp := range v.Threads {
		w := d.waits[lwp]
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s: %s", d.threadName(lwp),
			phrase.Awaited(d.waitTarget(w)), childrenText(d.index, w)))
	}
	v.Summary = fmt.Sprintf("%s for work that depends on a queued task, and may not run it", d.threadsWait(v.Threads))
	if len(v.Threads) > 1 {
		v.Summary = fmt.Sprintf("%s for work that depends on a queued task, and none of them may run it",
			d.threadsWait(v.Threads))
	}
	v.Explanation = "A thread that waits in a tied task may run only descendants of that task (the task scheduling " +
		"constraint). All threads of the team wait in such tasks."
	return v
}

// explainUnsignalled explains threads that wait on condition variables which a queued task would signal.
func explainUnsignalled(x *index, v *picture.Verdict) {
	v.Certainty = picture.Likely // its code shows that it signals
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued, its code may signal a condition variable, "+
			"and no thread of its team is free to execute it", x.taskPlace(id)))
	}
	for _, lwp := range v.Threads {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s%s", x.threadName(lwp),
			phrase.Awaited(x.waitTarget(x.waits[lwp])), innermostLine(x.frames(lwp))))
	}
	v.Summary = x.threadsWait(v.Threads) + " for what a queued task would signal, and no thread is left that could " +
		"execute it"
	v.Explanation = "A thread that waits on a condition variable executes no tasks meanwhile. All threads of the " +
		"team wait."
	v.Fix = "execute the task that signals before threads wait for it, or let tasks wait for each other by " +
		"dependences (depend(out: x), depend(in: x)), which occupy no thread"
}

// childrenText counts the unfinished children of the waiting task, by construct and state.
func childrenText(x *index, w *picture.Wait) string {
	if t, ok := detachedTasks(x, w); ok {
		return t.evidence
	}
	counts := map[string]int{}
	var order []string
	for _, t := range x.children[w.Task] {
		if !t.Unfinished() {
			continue
		}
		what := x.taskPlace(t.ID) + string(t.State)
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
