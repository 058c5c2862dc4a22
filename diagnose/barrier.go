package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxNamed bounds the threads, or the steps of a cycle, that one sentence names.
const maxNamed = 4

// barriers tells, of each barrier that waits for members of its team, who is
// missing and where it is. That is information: a member may only be slow. It is
// part of a hang if the missing one can never proceed.
func barriers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, b := range d.groups {
		if len(b.missing) == 0 || b.size == 0 {
			continue
		}
		working := func(lwp int) bool { return !d.isEnding(lwp) }
		if d.atEnded[b.waits[0].Thread] && !slices.ContainsFunc(b.missing, working) {
			continue // the verdict on the thread that ended names all of them
		}
		out = append(out, d.barrier(b))
		if v, ok := d.divergent(b); ok {
			out = append(out, v)
		}
	}
	return out
}

// oneTeam reports whether a cycle is of members of one team that all wait at
// barriers: at different ones, or they would be together.
func (x *index) oneTeam(cycle []picture.CycleStep) bool {
	return !slices.ContainsFunc(cycle, func(s picture.CycleStep) bool {
		return s.WaitsFor.Kind != picture.WaitBarrier || x.waits[s.Thread].Region != x.waits[cycle[0].Thread].Region
	})
}

// tellDivergent writes the verdict on members of a team that wait for each other
// at different barriers.
func (d *drawer) tellDivergent(v *picture.Verdict) {
	v.Kind = picture.VerdictBarrierDivergent
	v.Region = d.waits[v.Threads[0]].Region
	at := few(v.Cycle, func(s picture.CycleStep) string {
		return fmt.Sprintf("%s waits %s", d.who(s.Thread), d.whichBarrier(s.Thread))
	})
	v.Summary = "members of one team wait for each other at different barriers and can never proceed"
	v.Explanation = at + ". All threads of a team must encounter the same barriers in the same order."
	v.Fix = "move the barrier out of code that only some threads execute (if, single, master, a loop that some " +
		"threads leave early)"
}

// whichBarrier says at which barrier a thread waits.
func (x *index) whichBarrier(lwp int) string {
	t := x.threads[lwp]
	if t == nil || t.State == nil {
		return "at a barrier"
	}
	f, ok := innermost(t.UserStack)
	switch {
	case t.State.Name == picture.StateBarrierParallel:
		return "at the end of the parallel region"
	case ok && f.Line != 0 && t.State.Name == picture.StateBarrierWorkshare:
		return "at the end of the worksharing construct at " + sourcePlace(t.UserStack)
	case ok && f.Line != 0:
		return "at the barrier at " + sourcePlace(t.UserStack)
	}
	return "at a barrier"
}

// divergent reports whether threads that the runtime takes to be at one barrier
// are at several of the program's. That breaks a rule of OpenMP, although nothing
// needs to hang.
func (d *drawer) divergent(b *group) (picture.Verdict, bool) {
	at := map[string][]int{}
	var order []string
	for _, w := range b.waits {
		if info := b.views[w.Barrier]; info == nil || !info.arrived[w.Thread] {
			continue
		}
		f, ok := innermost(d.frames(w.Thread))
		p := d.whichBarrier(w.Thread)
		if !ok || f.Line == 0 || p == "at the end of the parallel region" || d.atFork(w.Region, f) {
			continue
		}
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], w.Thread)
	}
	if len(order) < 2 {
		return picture.Verdict{}, false
	}
	v := picture.Verdict{
		Kind: picture.VerdictBarrierDivergent, Severity: picture.SeverityWarning, Certainty: picture.Certain,
		Region:  b.waits[0].Region,
		Summary: "members of one team wait at different barriers, which the runtime treats as one",
		Explanation: "The runtime only counts arrivals: it releases the threads once all have arrived at any " +
			"barrier, so what one side does before its barrier may be unfinished when the other side proceeds. All " +
			"threads of a team must encounter the same barriers in the same order.",
		Fix: "move the barriers out of code that only some threads execute (if, single, master)",
	}
	for _, p := range order {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s %s", d.wait(at[p]), p))
		v.Threads = append(v.Threads, at[p]...)
	}
	return v, true
}

// atFork reports whether a frame is where a region was forked: the innermost one of a thread of the
// region whose own frame is gone, since its call of the barrier was a tail call.
func (x *index) atFork(region picture.ID, f picture.Frame) bool {
	k := x.forks[region]
	return k != nil && k.Frame != nil && k.Frame.PC != nil && f.PC != nil && *k.Frame.PC == *f.PC
}

func (d *drawer) barrier(b *group) picture.Verdict {
	arrived, size := b.size-len(b.missing), b.size
	v := picture.Verdict{
		Kind: picture.VerdictBarrierMissing, Severity: picture.SeverityInfo, Certainty: picture.Possible,
		Arrived: &arrived, TeamSize: &size, Region: b.waits[0].Region,
	}
	for _, w := range b.waits {
		v.Threads = append(v.Threads, w.Thread)
		if info := b.views[w.Barrier]; info != nil && len(info.Missing) > 0 && v.Evidence == nil {
			v.Evidence = []string{info.Evidence}
		}
	}
	var named []string
	held := 0
	for _, lwp := range b.missing {
		m := picture.MissingThread{Thread: lwp}
		where := ""
		if t := d.threads[lwp]; t != nil {
			if t.State != nil {
				m.State = t.State.Name
			}
			if f, ok := innermost(t.UserStack); ok {
				m.Frame, where = &f, " is "+d.doing(lwp)+"in "+place(f)
			}
		}
		if d.isStuck(lwp) {
			held++
		}
		v.Missing = append(v.Missing, m)
		if len(named) < maxNamed {
			named = append(named, d.who(lwp)+where)
		}
	}
	v.Summary = fmt.Sprintf("%d of %d arrived at a barrier%s: %s", arrived, size, d.barrierPlace(b),
		phrase.Some(named, maxNamed, len(b.missing)))
	v.Explanation = "The others wait until all have arrived. That is normal while the missing threads work; it is " +
		"a hang only if they never arrive."
	if held > 0 {
		v.Explanation = "The others wait until all have arrived, which cannot happen: another verdict says what " +
			"blocks the missing threads."
		v.Severity = picture.SeverityHang
		v.Certainty = d.certaintyOf(b.missing)
	}
	return v
}

// certaintyOf is how sure it is that one of the threads can never proceed.
func (d *drawer) certaintyOf(lwps []int) picture.Certainty {
	best := picture.Possible
	for _, lwp := range lwps {
		if !d.isStuck(lwp) {
			continue
		}
		c := d.weakest(node{lwp: lwp})
		if c.Rank() < best.Rank() {
			best = c
		}
	}
	return best
}

// doing says how a thread is kept, if it is.
func (x *index) doing(lwp int) string {
	w, ok := x.waits[lwp]
	switch {
	case ok && w.Kind == picture.WaitBarrier:
		return "at another barrier, "
	case ok:
		return "waiting for " + phrase.Awaited(x.target(w)) + " "
	}
	return ""
}

// barrierPlace is where the barrier stands in the source, if its threads say so
// with one voice.
func (x *index) barrierPlace(b *group) string {
	var at []string
	for _, w := range b.waits {
		t := x.threads[w.Thread]
		if t == nil || t.State == nil || t.State.Name == picture.StateBarrierParallel {
			continue
		}
		if f, ok := innermost(t.UserStack); ok && f.Line != 0 {
			if p := f.Place(); !slices.Contains(at, p) {
				at = append(at, p)
			}
		}
	}
	switch {
	case len(at) == 1:
		return " (" + at[0] + ")"
	case len(at) == 0:
		if r := x.regions[b.waits[0].Region]; r != nil && r.Function != nil && r.Function.Line != 0 {
			return fmt.Sprintf(" (of the parallel region at %s:%d)", base(r.Function.File), r.Function.Line)
		}
	}
	return ""
}

// sourcePlace is the line of the innermost frame of the program's own code; if that is inlined
// from another file, as from a header, also the line into which it is.
func sourcePlace(fs []picture.Frame) string {
	f, _ := innermost(fs)
	text := f.Place()
	if !f.Inlined {
		return text
	}
	own := slices.IndexFunc(fs, func(o picture.Frame) bool { return o.Kind == picture.FrameUser && !o.Inlined })
	if own < 0 || fs[own].Line == 0 || fs[own].File == f.File {
		return text
	}
	return fmt.Sprintf("%s (inlined at %s)", text, fs[own].Place())
}

// innermost is the innermost frame of the program's own code; in a module whose functions have
// no names, the first behind it there that has one.
func innermost(fs []picture.Frame) (picture.Frame, bool) {
	i := picture.InnermostUser(fs)
	if i < 0 {
		return picture.Frame{}, false
	}
	return fs[i], true
}

// place is "foo x.c:12".
func place(f picture.Frame) string {
	name := phrase.WithoutParameters(cmp.Or(f.In, f.Function))
	switch {
	case f.In == "" && f.Construct != "":
		name = f.Called() // the compiler's name says nothing
	case name == "":
		name = f.Spot()
	}
	if f.Line != 0 {
		name += " " + f.Place()
	}
	return name
}
