package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// spinsFor are the threads that spin on one processor, and those that they wait for
// and that may run on no other.
type spinsFor struct {
	processor int
	spin      []int
	need      []int
}

// sharedProcessors tells of threads that spin while they wait for a thread that could
// run meanwhile, and may run on their processor only. Each takes the time of the
// other, until the system takes it off the processor.
func sharedProcessors(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, s := range g.spinners() {
		v := inspect.Verdict{
			Kind: inspect.VerdictSharedProcessor, Severity: inspect.SeverityInfo, Certainty: inspect.Certain,
			Threads:     append(slices.Clone(s.spin), s.need...),
			Summary:     s.summary(g),
			Explanation: "A thread that spins does not give its processor away before its time is over. Meanwhile the one that it waits for, which could go on, stands still.",
			Cure:        "let threads that wait sleep: OMP_WAIT_POLICY=passive; or give each a processor of its own: OMP_PROC_BIND=spread OMP_PLACES=cores, fewer threads, or more processors",
		}
		v.Evidence = append(g.whereabouts(s.spin), g.whereabouts(s.need)...)
		v.Evidence = append(v.Evidence, g.boundBy(fmt.Sprint(s.processor))...)
		if policy := g.waitPolicy(); policy != "" {
			v.Evidence = append(v.Evidence, "they spin for as long as they are told to"+policy)
		}
		if g.spinsAlways() {
			v.Severity = inspect.SeverityWarning
		}
		for _, lwp := range v.Threads {
			g.sharing[lwp] = s.processor
		}
		out = append(out, v)
	}
	return out
}

// spinners finds threads that spin, by their processor.
func (g *graph) spinners() []*spinsFor {
	var out []*spinsFor
	for _, lwp := range g.order {
		mine := g.in.Allowed(lwp)
		if len(mine) != 1 || g.in.Asleep(lwp) {
			continue
		}
		i := slices.IndexFunc(out, func(s *spinsFor) bool { return s.processor == mine[0] })
		for _, need := range g.runnable(lwp) {
			if !slices.Equal(g.in.Allowed(need), mine) {
				continue
			}
			if i < 0 {
				i, out = len(out), append(out, &spinsFor{processor: mine[0]})
			}
			s := out[i]
			if !slices.Contains(s.spin, lwp) {
				s.spin = append(s.spin, lwp)
			}
			if !slices.Contains(s.need, need) {
				s.need = append(s.need, need)
			}
		}
	}
	return out
}

// runnable are the threads that one waits for and that wait for nothing themselves.
func (g *graph) runnable(lwp int) []int {
	var out []int
	for _, e := range g.nodes[node{lwp: lwp}].all {
		if _, waits := g.waits[e.to.lwp]; e.to.isThread() && !waits && !g.in.Asleep(e.to.lwp) {
			out = append(out, e.to.lwp)
		}
	}
	return out
}

// shares tells whether all of some threads were told to share a processor with one
// that they wait for, or that waits for them.
func (g *graph) shares(lwps []int) bool {
	return !slices.ContainsFunc(lwps, func(lwp int) bool { _, told := g.sharing[lwp]; return !told })
}

// activity is what a thread does, in short.
func (g *graph) activity(lwp int) string {
	if w, ok := g.waits[lwp]; ok {
		return "spins, waiting for " + describe(g.target(w))
	}
	return "is in no system call, and could run"
}

// whereabouts tells of threads what they do, and where they may run.
func (g *graph) whereabouts(lwps []int) []string {
	var out []string
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		out = append(out, fmt.Sprintf("%s: %s; its affinity mask allows processor %s", g.who(lwp), g.activity(lwp), inspect.ProcessorList(g.in.Allowed(lwp))))
	}
	if n := len(lwps) - maxNamed; n > 0 {
		out = append(out, fmt.Sprintf("%s more: the same", count(n)))
	}
	return out
}

// summary is "thread 1 (LWP 5) spins on processor 0, where thread 0 (LWP 4) must run,
// for which it waits".
func (s *spinsFor) summary(g *graph) string {
	spin, wait, need := count(len(s.spin))+" spin", "they wait", count(len(s.need))
	if len(s.spin) == 1 {
		spin, wait = g.who(s.spin[0])+" spins", "it waits"
	}
	if len(s.need) == 1 {
		need = g.who(s.need[0])
	}
	return fmt.Sprintf("%s on processor %d, where %s must run, for which %s", spin, s.processor, need, wait)
}
