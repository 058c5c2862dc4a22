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
	}
	return out
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
