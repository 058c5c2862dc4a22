package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// maxNamed bounds the threads that one sentence names.
const maxNamed = 4

// barriers tells, of each barrier that waits for members of its team, who is
// missing and where it is. That is information: a member may only be slow. It is
// part of a hang if the missing one can never go on.
func barriers(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, b := range g.groups {
		if len(b.missing) == 0 || b.size == 0 {
			continue
		}
		out = append(out, g.barrier(b))
		if v, ok := g.divergent(b); ok {
			out = append(out, v)
		}
	}
	return out
}

// oneTeam tells whether a cycle is of members of one team that all wait at
// barriers: at different ones, or they would be together.
func (g *graph) oneTeam(cycle []inspect.CycleStep) bool {
	return !slices.ContainsFunc(cycle, func(s inspect.CycleStep) bool {
		return s.WaitsFor.Kind != inspect.WaitBarrier || g.waits[s.Thread].Region != g.waits[cycle[0].Thread].Region
	})
}

// tellDivergent writes the verdict on members of a team that wait for each other
// at different barriers.
func (g *graph) tellDivergent(v *inspect.Verdict) {
	v.Kind = inspect.VerdictBarrierDivergent
	v.Region = g.waits[v.Threads[0]].Region
	var parts []string
	for _, s := range v.Cycle {
		parts = append(parts, fmt.Sprintf("%s waits %s", g.who(s.Thread), g.whichBarrier(s.Thread)))
	}
	v.Summary = "members of one team wait for each other at different barriers and can never go on"
	v.Explanation = strings.Join(parts, "; ") + ". All threads of a team must come to the same barriers in the same order."
	v.Cure = "move the barrier out of what only some threads execute (if, single, master, a loop that some leave early)"
}

// whichBarrier says at which barrier a thread waits.
func (g *graph) whichBarrier(lwp int) string {
	t := g.threads[lwp]
	if t == nil || t.State == nil {
		return "at a barrier"
	}
	f, ok := innermost(t.UserStack)
	switch {
	case t.State.Name == "wait_barrier_implicit_parallel":
		return "at the end of the parallel region"
	case ok && f.Line != 0 && t.State.Name == "wait_barrier_implicit_workshare":
		return fmt.Sprintf("at the end of the worksharing construct at %s:%d", base(f.File), f.Line)
	case ok && f.Line != 0:
		return fmt.Sprintf("at the barrier at %s:%d", base(f.File), f.Line)
	}
	return "at a barrier"
}

// divergent tells whether threads that the runtime takes to be at one barrier
// are at several of the program's. That breaks a rule of OpenMP, although nothing
// needs to hang.
func (g *graph) divergent(b *group) (inspect.Verdict, bool) {
	at := map[string][]int{}
	var order []string
	for _, w := range b.waits {
		if info, ok := b.barrier[w.LWP]; !ok || !slices.Contains(info.Arrived, w.LWP) {
			continue
		}
		f, ok := innermost(g.frames(w.LWP))
		if !ok || f.Line == 0 || g.whichBarrier(w.LWP) == "at the end of the parallel region" {
			continue
		}
		p := g.whichBarrier(w.LWP)
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], w.LWP)
	}
	if len(order) < 2 {
		return inspect.Verdict{}, false
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictBarrierDivergent, Severity: inspect.SeverityWarning, Certainty: inspect.Certain, Region: b.waits[0].Region,
		Summary:     "members of one team wait at different barriers as if they were one",
		Explanation: "The runtime counts threads at barriers and lets them go on once all have arrived at any. What one side did before its barrier is not done for the other: all threads of a team must come to the same barriers in the same order.",
		Cure:        "move the barriers out of what only some threads execute (if, single, master)",
	}
	for _, p := range order {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s %s", g.wait(at[p]), p))
		v.Threads = append(v.Threads, at[p]...)
	}
	return v, true
}

func (g *graph) barrier(b *group) inspect.Verdict {
	arrived, size := b.size-len(b.missing), b.size
	v := inspect.Verdict{
		Kind: inspect.VerdictBarrierMissing, Severity: inspect.SeverityInfo, Certainty: inspect.Possible,
		Arrived: &arrived, TeamSize: &size, Region: b.waits[0].Region,
	}
	for _, w := range b.waits {
		v.Threads = append(v.Threads, w.LWP)
		if info, ok := b.barrier[w.LWP]; ok && len(info.Missing) > 0 && v.Evidence == nil {
			v.Evidence = []string{info.Evidence}
		}
	}
	var named []string
	held := 0
	for _, lwp := range b.missing {
		m := inspect.MissingThread{Thread: lwp}
		where := ""
		if t := g.threads[lwp]; t != nil {
			if t.State != nil {
				m.State = t.State.Name
			}
			if f, ok := innermost(t.UserStack); ok {
				m.Frame, where = &f, " is "+g.doing(lwp)+"in "+place(f)
			}
		}
		if g.stuck[node{lwp: lwp}] {
			held++
		}
		v.Missing = append(v.Missing, m)
		if len(named) < maxNamed {
			named = append(named, g.who(lwp)+where)
		}
	}
	if more := len(b.missing) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more are missing", more))
	}
	v.Summary = fmt.Sprintf("%d of %d arrived at a barrier%s: %s", arrived, size, g.barrierPlace(b), strings.Join(named, ", "))
	v.Explanation = "The others wait until all have arrived. That is normal while the missing ones work; it is a hang only if they never come."
	if held > 0 {
		v.Explanation = "The others wait until all have arrived, and that cannot happen: what keeps the missing ones is told in another verdict."
		v.Severity = inspect.SeverityHang
		v.Certainty = g.certaintyOf(b.missing)
	}
	return v
}

// certaintyOf is how sure it is that one of the threads can never go on.
func (g *graph) certaintyOf(lwps []int) string {
	best := inspect.Possible
	for _, lwp := range lwps {
		if !g.stuck[node{lwp: lwp}] {
			continue
		}
		c := inspect.Certain
		for n := range g.reachable(node{lwp: lwp}) {
			for _, e := range g.edges(n) {
				if g.stuck[e.to] {
					c = weaker(c, e.certainty)
				}
			}
		}
		for _, e := range g.edges(node{lwp: lwp}) {
			c = weaker(c, e.certainty)
		}
		if certaintyRank[c] < certaintyRank[best] {
			best = c
		}
	}
	return best
}

// doing says how a thread is kept, if it is.
func (g *graph) doing(lwp int) string {
	w, ok := g.waits[lwp]
	switch {
	case ok && w.Kind == inspect.WaitBarrier:
		return "at another barrier, "
	case ok:
		return "waiting for " + describe(g.target(w)) + " "
	}
	return ""
}

// barrierPlace is where the barrier stands in the source, if its threads say so
// with one voice.
func (g *graph) barrierPlace(b *group) string {
	var at []string
	for _, w := range b.waits {
		t := g.threads[w.LWP]
		if t == nil || t.State == nil || t.State.Name == "wait_barrier_implicit_parallel" {
			continue
		}
		if f, ok := innermost(t.UserStack); ok && f.Line != 0 {
			if p := fmt.Sprintf("%s:%d", base(f.File), f.Line); !slices.Contains(at, p) {
				at = append(at, p)
			}
		}
	}
	switch {
	case len(at) == 1:
		return " (" + at[0] + ")"
	case len(at) == 0:
		if r := g.regions[b.waits[0].Region]; r != nil && r.Function != nil && r.Function.Line != 0 {
			return fmt.Sprintf(" (of the parallel region at %s:%d)", base(r.Function.File), r.Function.Line)
		}
	}
	return ""
}

// innermost is the innermost frame of the program's own code.
func innermost(fs []inspect.Frame) (inspect.Frame, bool) {
	i := slices.IndexFunc(fs, func(f inspect.Frame) bool { return f.Kind == inspect.FrameUser })
	if i < 0 {
		return inspect.Frame{}, false
	}
	return fs[i], true
}

// place is "foo x.c:12".
func place(f inspect.Frame) string {
	name := f.Function
	if f.In != "" {
		name = f.In
	}
	if name == "" && f.PC != nil {
		name = f.PC.String()
	}
	if f.Line != 0 {
		name += fmt.Sprintf(" %s:%d", base(f.File), f.Line)
	}
	return name
}
