package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// deadlocks finds the rings of threads that wait for each other. Each ring is
// told once, by its shortest cycle; threads that wait for it are named behind it.
func deadlocks(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	done := map[node]bool{}
	for _, lwp := range g.order {
		n := node{lwp: lwp}
		if !g.stuck[n] || done[n] {
			continue
		}
		path := g.cycle(n)
		if path == nil || g.onlyConditions(path) {
			continue
		}
		ring := g.ring(n)
		for _, m := range ring {
			done[m], g.told[m.lwp] = true, true
		}
		if slices.ContainsFunc(path, func(h hop) bool { return g.isQueued(h.from) }) {
			out = append(out, g.queuedForever(ring))
			continue
		}
		out = append(out, g.deadlock(path))
	}
	return out
}

// onlyConditions tells whether the threads of a cycle all wait on condition
// variables. Signals and timers may wake such threads too, so that nothing is
// concluded from the code of these threads alone.
func (g *graph) onlyConditions(path []hop) bool {
	return !slices.ContainsFunc(path, func(h hop) bool {
		return !h.from.isThread() || g.waits[h.from.lwp].Kind != inspect.WaitCondition
	})
}

// hop is a way from one node to the next.
type hop struct {
	from node
	edge edge
}

// cycle is the shortest way from n back to n over nodes that cannot go on.
func (g *graph) cycle(n node) []hop {
	came := map[node]hop{}
	queue := []node{n}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range g.edges(at) {
			if e.to == n {
				return unwind(n, hop{at, e}, came)
			}
			if _, seen := came[e.to]; !seen && g.stuck[e.to] {
				came[e.to] = hop{at, e}
				queue = append(queue, e.to)
			}
		}
	}
	return nil
}

func unwind(start node, last hop, came map[node]hop) []hop {
	path := []hop{last}
	for last.from != start {
		last = came[last.from]
		path = append(path, last)
	}
	slices.Reverse(path)
	return path
}

// edges are all that n waits for.
func (g *graph) edges(n node) []edge {
	x := g.nodes[n]
	if x == nil {
		return nil
	}
	return slices.Concat(x.all, x.any)
}

// reachable are the nodes that cannot go on and that n waits for, directly or
// not.
func (g *graph) reachable(n node) map[node]bool { return reached(g.awaits, n) }

// awaits lists the nodes that cannot go on and that n waits for.
func (g *graph) awaits(n node) []node {
	var out []node
	for _, e := range g.edges(n) {
		if g.stuck[e.to] {
			out = append(out, e.to)
		}
	}
	return out
}

// awaitedBy lists the nodes that cannot go on by those that they wait for.
func (g *graph) awaitedBy() map[node][]node {
	back := map[node][]node{}
	for n := range g.stuck {
		for _, to := range g.awaits(n) {
			back[to] = append(back[to], n)
		}
	}
	return back
}

// waiters are the nodes that cannot go on and that wait for one of some nodes,
// directly or not.
func (g *graph) waiters(of ...node) map[node]bool {
	back := g.back()
	return reached(func(n node) []node { return back[n] }, of...)
}

// reached are the nodes to which steps lead from some, one step at least.
func reached(steps func(node) []node, from ...node) map[node]bool {
	seen := map[node]bool{}
	for queue := from; len(queue) > 0; queue = queue[1:] {
		for _, to := range steps(queue[0]) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}

// ring are the nodes that n waits for and that wait for n.
func (g *graph) ring(n node) []node {
	var out []node
	waiters := g.waiters(n)
	for m := range g.reachable(n) {
		if m != n && waiters[m] {
			out = append(out, m)
		}
	}
	return append(out, n)
}

// deadlock makes the verdict on a cycle.
func (g *graph) deadlock(path []hop) inspect.Verdict {
	v := inspect.Verdict{Kind: inspect.VerdictDeadlock, Severity: inspect.SeverityHang, Certainty: inspect.Certain}
	for i := 0; i < len(path); {
		if !path[i].from.isThread() {
			path = append(path[1:], path[0]) // begin with a thread
			continue
		}
		break
	}
	for i := 0; i < len(path); {
		j := i + 1 // the next thread
		for j < len(path) && !path[j].from.isThread() {
			j++
		}
		next := path[0].from
		if j < len(path) {
			next = path[j].from
		}
		step := g.step(path[i].from.lwp, next.lwp, path[i:j])
		for _, h := range path[i:j] {
			v.Certainty = weaker(v.Certainty, h.edge.certainty)
			if !h.from.isThread() {
				v.Tasks = append(v.Tasks, h.from.task)
			}
		}
		v.Cycle = append(v.Cycle, step)
		v.Threads = append(v.Threads, step.Thread)
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d waits for %s: LWP %d: %s", step.Thread, describe(step.WaitsFor), step.HeldBy, step.HeldEvidence))
		i = j
	}
	g.behind(&v)
	if g.oneTeam(v.Cycle) {
		g.tellDivergent(&v)
	} else {
		g.tellDeadlock(&v)
	}
	return v
}

// step is the part of a cycle between two threads.
func (g *graph) step(from, to int, hops []hop) inspect.CycleStep {
	w := g.waits[from]
	s := inspect.CycleStep{Thread: from, HeldBy: to, WaitsFor: g.target(w)}
	var how []string
	for _, h := range hops {
		how = append(how, h.edge.evidence)
		if h.edge.taken != nil {
			s.HeldAt = h.edge.taken
		}
		if t := g.tasks[h.edge.to.task]; t != nil && t.Function != nil && t.Function.Line != 0 {
			how[len(how)-1] += fmt.Sprintf(" (%s:%d)", base(t.Function.File), t.Function.Line)
		}
	}
	s.HeldEvidence = strings.Join(how, ", ")
	if t := g.threads[from]; t != nil {
		s.Frames = t.UserStack
		if t.ThreadNum != nil && t.TeamSize != nil {
			s.Place = &inspect.ThreadSpot{ThreadNum: *t.ThreadNum, TeamSize: *t.TeamSize}
		}
	}
	return s
}

// target is what w waits for.
func (g *graph) target(w inspect.Wait) inspect.WaitTarget {
	t := inspect.WaitTarget{Kind: w.Kind, Name: w.Name}
	if l := g.locks[w.LWP]; l != nil && l.Nested && w.Kind == inspect.WaitLock {
		t.Kind = inspect.WaitNestLock
	}
	if w.Address != 0 {
		h := inspect.Hex(w.Address)
		t.Address = &h
	}
	return t
}

// describe names what is waited for: "lock journal", "critical section ledger",
// "the barrier".
func describe(t inspect.WaitTarget) string {
	name := t.Name
	if name == "" && t.Address != nil {
		name = "at " + t.Address.String()
	}
	switch t.Kind {
	case inspect.WaitBarrier:
		return "the other threads at a barrier"
	case inspect.WaitTaskwait:
		return "its child tasks in a taskwait"
	case inspect.WaitTaskgroup:
		return "the tasks of a taskgroup"
	case inspect.WaitOrdered:
		return "its turn in an ordered loop"
	case inspect.WaitAtomic:
		return "the lock of atomic constructs"
	case inspect.WaitCondition:
		return "condition variable " + name
	case inspect.WaitJoin:
		return "the " + cmp.Or(t.Name, "end of a thread")
	case inspect.WaitNestLock:
		return "nest lock " + name
	case inspect.WaitCritical:
		if t.Name == "" && t.Address == nil {
			return "a critical section"
		}
		return "critical section " + name
	}
	return cmp.Or(strings.TrimSpace(t.Kind+" "+name), "something")
}

// behind adds the threads that wait for those of the verdict and can never go on
// either.
func (g *graph) behind(v *inspect.Verdict) {
	var of []node
	for _, lwp := range v.Threads {
		of = append(of, node{lwp: lwp})
	}
	waiters := g.waiters(of...)
	for _, lwp := range g.order {
		if waiters[node{lwp: lwp}] && !slices.Contains(v.Threads, lwp) {
			v.Behind = append(v.Behind, lwp)
		}
	}
}

// tellDeadlock writes the summary, the explanation and the cure.
func (g *graph) tellDeadlock(v *inspect.Verdict) {
	var parts []string
	locks, barrier := 0, false
	for _, s := range v.Cycle {
		parts = append(parts, fmt.Sprintf("%s waits for %s, which needs %s", g.who(s.Thread), describe(s.WaitsFor), g.who(s.HeldBy)))
		switch s.WaitsFor.Kind {
		case inspect.WaitBarrier:
			barrier = true
		case inspect.WaitLock, inspect.WaitNestLock, inspect.WaitCritical, inspect.WaitMutex, inspect.WaitAtomic:
			locks++
			parts[len(parts)-1] = fmt.Sprintf("%s waits for %s, which %s has", g.who(s.Thread), describe(s.WaitsFor), g.who(s.HeldBy))
		}
	}
	v.Summary = fmt.Sprintf("%d threads wait for each other and can never go on", len(v.Cycle))
	v.Explanation = strings.Join(parts, "; ") + ". None of them can go on before another does."
	if n := len(v.Behind); n > 0 {
		v.Explanation += fmt.Sprintf(" %d more wait for them.", n)
	}
	switch {
	case slices.ContainsFunc(v.Cycle, func(s inspect.CycleStep) bool { return s.WaitsFor.Kind == inspect.WaitOrdered }):
		v.Cure = "hold no lock while waiting for the turn in an ordered loop: the thread whose turn it is may need it"
	case locks == len(v.Cycle):
		v.Cure = "take these locks in the same order everywhere, or hold only one of them at a time"
	case barrier:
		v.Cure = "hold no lock and stay in no critical section while waiting at a barrier: every thread of the team must be able to reach it"
	default:
		v.Cure = "hold no lock while waiting for tasks or threads that need the same lock"
	}
}

// who names a thread: "thread 1 (LWP 4712)".
func (g *graph) who(lwp int) string {
	t := g.threads[lwp]
	if t == nil || t.ThreadNum == nil || t.Level == nil || *t.Level == 0 {
		return fmt.Sprintf("LWP %d", lwp)
	}
	return fmt.Sprintf("thread %d (LWP %d)", *t.ThreadNum, lwp)
}
