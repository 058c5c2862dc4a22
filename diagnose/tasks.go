package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// starved finds threads that wait for tasks which nobody will finish: queued ones
// that no thread of the team can come to run, and detached ones that have run and
// whose event nobody has fulfilled.
func starved(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, lwp := range g.order {
		w := g.waits[lwp]
		if w.Kind != inspect.WaitTaskwait || w.Task == "" {
			continue
		}
		if v, ok := g.detached(w); ok {
			out = append(out, v)
		}
	}
	return out
}

// detached tells whether w waits for children that have run, and wait for their
// event: those that the runtime keeps as such, or that it counts and that no thread
// has and no queue.
func (g *graph) detached(w inspect.Wait) (inspect.Verdict, bool) {
	t := g.tasks[w.Task]
	if t == nil || len(g.pic.Tasks) >= inspect.MaxTasks || !g.quiet(w.Region, w.LWP) {
		return inspect.Verdict{}, false
	}
	seen, gone := 0, 0
	for i := range g.pic.Tasks {
		switch c := &g.pic.Tasks[i]; {
		case c.Parent != w.Task || c.Kind == "implicit" || c.State == "completed":
		case awaitsEvent(c):
			gone++
		default:
			seen++
		}
	}
	how := fmt.Sprintf("the runtime keeps %d unfinished children of its task as detached: they have run, and are in no queue", gone)
	if gone == 0 && t.IncompleteChildren != nil {
		gone = *t.IncompleteChildren - seen
		how = fmt.Sprintf("its task has %d unfinished children; none of them is queued, waits for another task, or is on the stack of a thread", gone)
	}
	if gone < 1 || seen > 0 {
		return inspect.Verdict{}, false
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictTaskStarved, Severity: inspect.SeverityInfo, Certainty: inspect.Possible, Threads: []int{w.LWP}, Tasks: []inspect.ID{w.Task},
		Summary: fmt.Sprintf("%s waits in a taskwait for %d detached tasks that have run and whose event is not fulfilled", g.who(w.LWP), gone),
		Evidence: []string{
			how,
			"all other threads of its team wait",
		},
		Explanation: "A task with a detach clause is finished when its event is fulfilled, not when its code ends.",
		Cure:        "call omp_fulfill_event for every detached task, also where the operation that it stands for fails",
	}
	if gone == 1 {
		v.Summary = fmt.Sprintf("%s waits in a taskwait for a detached task that has run and whose event is not fulfilled", g.who(w.LWP))
	}
	if g.nobodyRuns() {
		v.Severity, v.Certainty = inspect.SeverityHang, inspect.Likely
		v.Evidence = append(v.Evidence, "no thread of the program runs that could fulfil it")
	}
	return v, true
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

// nobodyRuns tells whether every thread of the program waits or is idle.
func (g *graph) nobodyRuns() bool {
	for i := range g.pic.Threads {
		t := &g.pic.Threads[i]
		if _, waits := g.waits[t.LWP]; !waits && t.Role != "idle" && !t.Hidden {
			return false
		}
	}
	return true
}
