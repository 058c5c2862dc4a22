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

// detached tells whether w waits for children that the runtime counts and that no
// thread has and no queue: they have run, and wait for their event.
func (g *graph) detached(w inspect.Wait) (inspect.Verdict, bool) {
	t := g.tasks[w.Task]
	if t == nil || t.IncompleteChildren == nil || len(g.pic.Tasks) >= inspect.MaxTasks || !g.quiet(w.Region, w.LWP) {
		return inspect.Verdict{}, false
	}
	seen := 0
	for _, c := range g.pic.Tasks {
		if c.Parent == w.Task && c.Kind != "implicit" && c.State != "completed" {
			seen++
		}
	}
	gone := *t.IncompleteChildren - seen
	if gone < 1 || seen > 0 {
		return inspect.Verdict{}, false
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictTaskStarved, Severity: inspect.SeverityInfo, Certainty: inspect.Possible, Threads: []int{w.LWP}, Tasks: []inspect.ID{w.Task},
		Summary: fmt.Sprintf("%s waits in a taskwait for %d detached tasks that have run and whose event is not fulfilled", g.who(w.LWP), gone),
		Evidence: []string{
			fmt.Sprintf("its task has %d unfinished children; none of them is queued, waits for another task, or is on the stack of a thread", gone),
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
