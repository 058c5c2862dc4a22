package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// taskNeeds is what a task needs to be finished.
func (g *graph) taskNeeds(id inspect.ID, x *needs) {
	t := g.tasks[id]
	if t == nil {
		return
	}
	switch {
	case awaitsEvent(t):
		g.eventNeeds(0, x)
	case t.State == "blocked":
		for _, p := range t.WaitsFor {
			x.all = append(x.all, edge{to: node{task: p}, certainty: inspect.Certain, evidence: "a task that it depends on is not finished"})
		}
	case (t.State == "running" || t.State == "waiting") && t.Thread != 0 && !slices.Contains(t.Flags, "untied"):
		x.all = append(x.all, edge{to: node{lwp: t.Thread}, certainty: inspect.Certain, evidence: "it runs the task"})
	case t.State == "queued":
		g.queuedNeeds(t, x)
	}
}

// queuedNeeds: one of the team must come to run the task. Those that wait where
// they may run it do.
func (g *graph) queuedNeeds(t *inspect.Task, x *needs) {
	r := g.regions[t.Region]
	if r == nil || len(r.Threads) < r.TeamSize || t.Kind != "explicit" || len(g.pic.Tasks) >= inspect.MaxTasks {
		return
	}
	for _, lwp := range r.Threads {
		how := "it may run the task"
		switch w := g.waits[lwp]; w.Kind {
		case inspect.WaitBarrier, "":
			x.any = nil
			return
		case inspect.WaitTaskwait, inspect.WaitTaskgroup:
			if g.mayRun(w.Task, t) {
				x.any = nil
				return
			}
			how = "it waits in a task that the queued one does not descend from, and may not run it"
		}
		x.any = append(x.any, edge{to: node{lwp: lwp}, certainty: inspect.Certain, evidence: how})
	}
}

// mayRun tells whether a thread that waits in task at for other tasks may run t
// meanwhile: a tied task only if it descends from at (the task scheduling
// constraints of OpenMP). It may if that is not known.
func (g *graph) mayRun(at inspect.ID, t *inspect.Task) bool {
	if at == "" || slices.Contains(t.Flags, "untied") {
		return true
	}
	for range len(g.pic.Tasks) {
		if t.Parent == at {
			return true
		}
		p := g.tasks[t.Parent]
		if p == nil {
			return t.Kind == "explicit" // its parent is finished, and so unknown
		}
		t = p
	}
	return true
}

// maxFulfillers bounds the threads and tasks that may come to fulfil events: each
// detached task leads to all of them.
const maxFulfillers = 1000

// eventNeeds: one of the threads must come to fulfil the event of a detached task
// whose code may do so, or one of the tasks that are not begun. Among very many, one
// will.
func (g *graph) eventNeeds(waiter int, x *needs) {
	others := g.fulfil()
	if len(others) > maxFulfillers {
		return
	}
	if waiter != 0 {
		others = slices.DeleteFunc(slices.Clone(others), func(e edge) bool { return e.to.lwp == waiter })
	}
	x.any = others
	x.never = len(others) == 0 && len(g.pic.Tasks) < inspect.MaxTasks
}

// fulfillers lists the threads and tasks whose code may come to fulfil an event.
func (g *graph) fulfillers() []edge {
	const how = "its code may come to omp_fulfill_event"
	var out []edge
	for _, lwp := range g.in.MayFulfil() {
		out = append(out, edge{to: node{lwp: lwp}, certainty: inspect.Likely, evidence: how})
	}
	for i := range g.pic.Tasks {
		t := &g.pic.Tasks[i]
		if t.Kind != "implicit" && (t.State == "queued" || t.State == "blocked" || t.State == "created") && g.in.TaskMayFulfil(t) {
			out = append(out, edge{to: node{task: t.ID}, certainty: inspect.Likely, evidence: how})
		}
	}
	return out
}
