package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// starved finds threads that wait for detached tasks which have run, and whose
// event nobody has fulfilled.
func starved(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, lwp := range g.order {
		w := g.waits[lwp]
		if w.Kind != inspect.WaitTaskwait || w.Task == "" || g.told[lwp] {
			continue
		}
		if d, ok := g.detachedChildren(w); ok {
			out = append(out, g.detached(w, d))
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

// detachedChildren tells whether w waits for children that have run, and wait for
// their event, and for no others: those that the runtime keeps as such, or that it
// counts and that no thread has and no queue.
func (g *graph) detachedChildren(w inspect.Wait) (detached, bool) {
	t := g.tasks[w.Task]
	if t == nil || len(g.pic.Tasks) >= inspect.MaxTasks || !g.quiet(w.Region, w.LWP) {
		return detached{}, false
	}
	seen, d := 0, detached{}
	for i := range g.pic.Tasks {
		switch c := &g.pic.Tasks[i]; {
		case c.Parent != w.Task || c.Kind == "implicit" || c.State == "completed":
		case awaitsEvent(c):
			d.count++
		default:
			seen++
		}
	}
	d.how = fmt.Sprintf("the runtime keeps %s of its task as detached: run, and in no queue", unfinished(d.count))
	if d.count == 0 && t.IncompleteChildren != nil {
		d = detached{count: *t.IncompleteChildren - seen, unlisted: true}
		d.how = fmt.Sprintf("its task has %s; none is queued, waits for another task, or is on the stack of a thread", unfinished(d.count))
		d.sure = g.in.MakesEvents(w.LWP)
	}
	return d, d.count > 0 && seen == 0
}

// detached is the verdict on a thread that waits for detached tasks. It is one of a
// hang if nobody can come to fulfil their events.
func (g *graph) detached(w inspect.Wait, d detached) inspect.Verdict {
	v := inspect.Verdict{
		Kind: inspect.VerdictTaskStarved, Severity: inspect.SeverityInfo, Certainty: inspect.Possible, Threads: []int{w.LWP}, Tasks: []inspect.ID{w.Task},
		Summary:     fmt.Sprintf("%s waits in a taskwait for %d detached tasks that have run and whose event is not fulfilled", g.who(w.LWP), d.count),
		Evidence:    []string{d.how, "all other threads of its team wait"},
		Explanation: "A task with a detach clause is finished when its event is fulfilled, not when its code ends.",
		Cure:        "call omp_fulfill_event for every detached task, also where the operation that it stands for fails",
	}
	if d.count == 1 {
		v.Summary = fmt.Sprintf("%s waits in a taskwait for a detached task that has run and whose event is not fulfilled", g.who(w.LWP))
	}
	if g.stuck[node{lwp: w.LWP}] {
		v.Severity, v.Certainty = inspect.SeverityHang, inspect.Likely
		v.Evidence = append(v.Evidence, "no code that a thread or a task may still come to calls omp_fulfill_event")
		g.behind(&v)
	}
	return v
}

// awaitsEvent tells whether the runtime keeps a task as one that has run and is not
// finished before its event is fulfilled.
func awaitsEvent(t *inspect.Task) bool {
	return t.State == "waiting" && t.Thread == 0 && slices.Contains(t.Flags, "detachable")
}

// quiet tells whether all members of a region but one wait, so that no task is
// just being made, begun or ended.
func (g *graph) quiet(id inspect.ID, but int) bool {
	r := g.regions[id]
	if r == nil || len(r.Threads) < r.TeamSize {
		return false
	}
	return !slices.ContainsFunc(r.Threads, func(lwp int) bool {
		_, waits := g.waits[lwp]
		return lwp != but && !waits
	})
}

// isQueued tells whether n is a task that waits to be run.
func (g *graph) isQueued(n node) bool {
	t := g.tasks[n.task]
	return t != nil && t.State == "queued"
}

// queuedForever is the verdict on a ring of threads that wait for what a queued
// task would do, which none of them may run.
func (g *graph) queuedForever(ring []node) inspect.Verdict {
	v := inspect.Verdict{Kind: inspect.VerdictTaskStarved, Severity: inspect.SeverityHang, Certainty: inspect.Certain}
	for _, n := range ring {
		for _, e := range g.edges(n) {
			if g.stuck[e.to] {
				v.Certainty = weaker(v.Certainty, e.certainty)
			}
		}
		switch {
		case n.isThread():
			v.Threads = append(v.Threads, n.lwp)
		case g.isQueued(n):
			v.Tasks = append(v.Tasks, n.task)
		}
	}
	slices.Sort(v.Threads)
	slices.Sort(v.Tasks)
	for _, id := range v.Tasks {
		v.Evidence = append(v.Evidence, fmt.Sprintf("the task %sis queued; it descends from no task that one of these threads waits in, and is tied", g.madeAt(id)))
	}
	for _, lwp := range v.Threads {
		w := g.waits[lwp]
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for %s: %s", g.who(lwp), describe(g.target(w)), g.children(w)))
	}
	v.Summary = fmt.Sprintf("%s for what a queued task would do, and may not run it", g.wait(v.Threads))
	if len(v.Threads) > 1 {
		v.Summary = fmt.Sprintf("%s for what a queued task would do, and none of them may run it", g.wait(v.Threads))
	}
	v.Explanation = "While a thread waits in a tied task for others, it may only run tasks that descend from that task. All threads of the team wait so."
	v.Cure = "make the task a child of the task that waits for it, wait outside of tied tasks, or use one thread more"
	g.behind(&v)
	return v
}

// madeAt is where the construct of a task stands: "at x.c:12 ".
func (g *graph) madeAt(id inspect.ID) string {
	if t := g.tasks[id]; t != nil && t.Function != nil && t.Function.Line != 0 {
		return fmt.Sprintf("at %s:%d ", base(t.Function.File), t.Function.Line)
	}
	return ""
}

// children counts the unfinished children of the task that waits, by construct and
// state.
func (g *graph) children(w inspect.Wait) string {
	if d, ok := g.detachedChildren(w); ok {
		return d.how
	}
	counts := map[string]int{}
	var order []string
	for _, t := range g.pic.Tasks {
		if t.Parent != w.Task || t.Kind == "implicit" || t.State == "completed" {
			continue
		}
		what := g.madeAt(t.ID) + t.State
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
