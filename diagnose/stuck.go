package diagnose

import (
	"fmt"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

func base(file string) string { return filepath.Base(file) }

// selfDeadlocks finds threads that wait for a lock that they have themselves.
func selfDeadlocks(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, lwp := range g.order {
		w := g.waits[lwp]
		l := g.locks[lwp]
		if l == nil || !l.Held || l.Gone != "" {
			continue
		}
		v := inspect.Verdict{Kind: inspect.VerdictSelfDeadlock, Severity: inspect.SeverityHang, Threads: []int{lwp}}
		step := g.step(lwp, lwp, nil)
		h, ok := oneHolder(l.Holders)
		switch {
		case l.Owner == lwp:
			v.Certainty, step.HeldEvidence = inspect.Certain, l.Evidence
		case l.Owner == 0 && !l.OwnerGone && ok && h.LWP == lwp:
			v.Certainty, step.HeldEvidence, step.HeldAt = h.Certainty, h.Evidence, h.Taken
		default:
			continue
		}
		v.Cycle = []inspect.CycleStep{step}
		v.Evidence = []string{step.HeldEvidence}
		what := describe(step.WaitsFor)
		v.Summary = fmt.Sprintf("%s waits for %s, which it has itself", g.who(lwp), what)
		v.Explanation = fmt.Sprintf("%s took %s and has not given it back, and now waits until somebody does. Only it could.", g.who(lwp), what)
		v.Cure = "give the lock back before taking it again, or make it a nest lock (omp_nest_lock_t) if the same thread may take it twice"
		switch w.Kind {
		case inspect.WaitCritical:
			v.Cure = "a critical section must not be entered again from within: give the inner one another name, or leave it out"
		case inspect.WaitMutex:
			v.Cure = "unlock the mutex before locking it again, or make it recursive (PTHREAD_MUTEX_RECURSIVE)"
		}
		g.behind(&v)
		out = append(out, v)
	}
	return out
}

// orphans finds locks that nobody will give back: whose owner is no thread any
// more, or that no code which may still run gives back.
func orphans(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	told := map[uint64]bool{}
	for _, lwp := range g.order {
		w, l := g.waits[lwp], g.locks[lwp]
		if l == nil || !l.Held || l.Gone != "" || told[w.Address] {
			continue
		}
		told[w.Address] = true
		v := inspect.Verdict{Kind: inspect.VerdictLockOrphaned, Severity: inspect.SeverityHang, Threads: g.waitingFor(w)}
		what := describe(g.target(w))
		switch {
		case l.OwnerGone:
			v.Certainty = inspect.Certain
			v.Explanation = fmt.Sprintf("The thread that took %s ended without giving it back. Nobody can.", what)
			v.Evidence = []string{l.Evidence}
			if w.Kind != inspect.WaitMutex {
				v.Evidence = append(v.Evidence, "the runtime has no thread of that number")
			}
		case l.Owner == 0 && g.idleRest() && g.in.AllWait(*l, v.Threads) && g.in.Abandoned(w, *l, g.blockedBy(w)):
			v.Certainty = inspect.Likely
			v.Explanation = fmt.Sprintf("Some thread took %s before, and left the code that takes it without giving it back.", what)
			v.Evidence = []string{l.Evidence, "no frame of any thread is between a call that takes it and one that gives it back", "no code that a thread may still come to gives it back, but behind taking it"}
		default:
			continue
		}
		v.Summary = fmt.Sprintf("%s for %s, which nobody will give back", g.wait(v.Threads), what)
		v.Cure = "give the lock back on every way out of the code that takes it, also before a thread ends"
		g.behind(&v)
		out = append(out, v)
	}
	return out
}

// waitingFor are the threads that wait for the same as w.
func (g *graph) waitingFor(w inspect.Wait) []int {
	var out []int
	for _, lwp := range g.order {
		if o := g.waits[lwp]; o.Kind == w.Kind && o.Address == w.Address {
			out = append(out, lwp)
		}
	}
	return out
}

// blockedBy are the threads that go on only when some thread that waits for the
// same as w does: they, and those that wait for them.
func (g *graph) blockedBy(w inspect.Wait) map[int]bool {
	out := map[int]bool{}
	for _, lwp := range g.waitingFor(w) {
		out[lwp] = true
	}
	for _, lwp := range g.order {
		for _, e := range g.nodes[node{lwp: lwp}].all {
			if out[e.to.lwp] && e.to.isThread() {
				out[lwp] = true
			}
		}
	}
	return out
}

// idleRest tells whether no task is about to be run: code of tasks cannot be seen
// from the stacks.
func (g *graph) idleRest() bool {
	for _, t := range g.pic.Tasks {
		if t.Kind == "explicit" && t.State != "running" && t.State != "completed" {
			return false
		}
	}
	return true
}

// wait is "2 threads wait", or the one thread that does.
func (g *graph) wait(lwps []int) string {
	if len(lwps) == 1 {
		return g.who(lwps[0]) + " waits"
	}
	return fmt.Sprintf("%d threads wait", len(lwps))
}
