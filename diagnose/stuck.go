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
		if l == nil || !l.Held {
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

// orphans finds locks whose owner is no thread any more.
func orphans(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	told := map[uint64]bool{}
	for _, lwp := range g.order {
		w, l := g.waits[lwp], g.locks[lwp]
		if l == nil || !l.Held || !l.OwnerGone || told[w.Address] {
			continue
		}
		told[w.Address] = true
		what := describe(g.target(w))
		v := inspect.Verdict{
			Kind: inspect.VerdictLockOrphaned, Severity: inspect.SeverityHang, Certainty: inspect.Certain, Threads: []int{lwp},
			Summary:     fmt.Sprintf("%s waits for %s, whose owner is gone", g.who(lwp), what),
			Explanation: fmt.Sprintf("The thread that took %s ended without giving it back. Nobody can.", what),
			Evidence:    []string{l.Evidence, "the runtime has no thread of that number"},
			Cure:        "give the lock back on every way out of the code that takes it, also before a thread ends",
		}
		g.behind(&v)
		out = append(out, v)
	}
	return out
}
