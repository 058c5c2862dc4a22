package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// group is the threads that wait at one barrier.
type group struct {
	waits   []*picture.Wait
	views   map[picture.ID]*view // the known views of its threads
	order   []*view
	missing []int // members that have not arrived; by the first view that contains some
	size    int
}

// view is a barrier in the view of some of its threads.
type view struct {
	*picture.Barrier
	arrived map[int]bool
}

// groupBarriers groups the threads that wait at barriers.
func groupBarriers(x *index) []*group {
	type barrier struct {
		address picture.Hex
		end     bool
	}
	views := map[picture.ID]*picture.Barrier{}
	for i := range x.facts.Barriers {
		views[x.facts.Barriers[i].ID] = &x.facts.Barriers[i]
	}
	var out []*group
	by := map[barrier]*group{}
	for _, lwp := range x.order {
		w := x.waits[lwp]
		if w.Kind != picture.WaitBarrier || w.Address == nil {
			continue
		}
		at := barrier{*w.Address, w.EndOfRegion}
		g := by[at]
		if g == nil {
			g = &group{views: map[picture.ID]*view{}}
			by[at] = g
			out = append(out, g)
		}
		g.waits = append(g.waits, w)
		if b := views[w.Barrier]; b != nil && g.views[b.ID] == nil {
			g.addView(b)
		}
	}
	for _, g := range out {
		g.findMissing()
	}
	return out
}

func (g *group) addView(b *picture.Barrier) {
	v := &view{Barrier: b, arrived: map[int]bool{}}
	for _, lwp := range b.Arrived {
		v.arrived[lwp] = true
	}
	g.views[b.ID] = v
	g.order = append(g.order, v)
	g.size = b.TeamSize
}

// findMissing sets the missing members by the first view that contains some. A member that waits at the barrier has
// arrived, even if it is not counted yet.
func (g *group) findMissing() {
	here := map[int]bool{}
	for _, w := range g.waits {
		here[w.Thread] = true
	}
	for _, v := range g.order {
		for _, lwp := range v.Missing {
			if !here[lwp] {
				g.missing = append(g.missing, lwp)
			}
		}
		if g.missing != nil {
			return
		}
	}
}

// barriers draws the verdicts on barriers that wait for members of their team.
type barriers struct {
	*dependencies
	atEnded map[int]bool        // threads that wait for one that ended in its region
	shifted map[picture.ID]bool // regions with a verdict on members that hang at different barriers
}

// find returns a verdict for each barrier, with the missing members and their places. That is information, as a member
// may only be slow, and part of a hang if a missing member can never proceed.
func (d *barriers) find(groups []*group) []picture.Verdict {
	var out []picture.Verdict
	for _, b := range groups {
		if len(b.missing) == 0 || b.size == 0 {
			if v, ok := d.unreleased(b); ok {
				out = append(out, v)
			}
			continue
		}
		working := func(lwp int) bool { return !d.isEnding(lwp) }
		if d.atEnded[b.waits[0].Thread] && !slices.ContainsFunc(b.missing, working) {
			continue // the verdict on the thread that ended names all of them
		}
		out = append(out, d.explain(b))
		if v, ok := d.divergent(b); ok && !d.shifted[v.Region] {
			out = append(out, v)
		}
	}
	return out
}

// unreleased returns the verdict on a barrier at which all members have arrived and that the runtime can never release.
// It returns none on a process that was changing while it was read.
func (d *barriers) unreleased(b *group) (picture.Verdict, bool) {
	i := slices.IndexFunc(b.order, func(v *view) bool { return v.Unreleased != "" })
	if p := d.pic.Target.Pause; p != nil && (p.Unsettled > 0 || p.Running > 0) || i < 0 || len(b.waits) != b.size ||
		!d.allMembersWait(b.waits[0].Region) {
		return picture.Verdict{}, false
	}
	at := b.order[i]
	v := newVerdict(picture.VerdictBarrierMissing, picture.Likely)
	v.Region, v.Arrived, v.TeamSize = b.waits[0].Region, &b.size, &b.size
	for _, w := range b.waits {
		v.Threads = append(v.Threads, w.Thread)
	}
	v.Summary = fmt.Sprintf("all %d of %d have arrived at a barrier%s, and the runtime does not release them", b.size,
		b.size, barrierPlace(d.index, b))
	v.Explanation = "No thread is missing, and no task of the region is left: the runtime itself waits for an event " +
		"that cannot come. The program is not the cause."
	v.Fix = "use another release of the OpenMP runtime"
	v.Evidence = []string{at.Unreleased}
	if at.Defect != "" {
		v.Explanation += " A known defect has this effect: " + at.Defect + "."
		v.Fix = "use a later release of the OpenMP runtime; or, if the program creates detached tasks outside of " +
			"parallel regions, create them in one"
	}
	return v, true
}

// unreleasedTitle returns the heading of a verdict on a barrier that the runtime does not release; "" for other
// verdicts.
func unreleasedTitle(v *picture.Verdict) string {
	if v.Kind == picture.VerdictBarrierMissing && len(v.Missing) == 0 {
		return "BARRIER NOT RELEASED"
	}
	return ""
}

// isTeamAtBarriers reports whether the threads of a cycle are members of one team that all wait at barriers. The
// barriers differ: at a common one, no thread would wait for another.
func isTeamAtBarriers(x *index, cycle []picture.CycleStep) bool {
	return len(cycle) > 1 && !slices.ContainsFunc(cycle, func(s picture.CycleStep) bool {
		return s.WaitsFor.Kind != picture.WaitBarrier || x.waits[s.Thread].Region != x.waits[cycle[0].Thread].Region
	})
}

// explainDivergent changes the verdict on a cycle to one on members of a team that wait for each other at different
// barriers.
func explainDivergent(x *index, v *picture.Verdict) {
	v.Kind = picture.VerdictBarrierDivergent
	v.Region = x.waits[v.Threads[0]].Region
	at := firstSteps(v.Cycle, func(s picture.CycleStep) string {
		return fmt.Sprintf("%s waits %s", x.threadName(s.Thread), barrierName(x, s.Thread))
	})
	v.Summary = "members of one team wait for each other at different barriers and can never proceed"
	v.Explanation = at + ". All threads of a team must encounter the same barriers in the same order."
	v.Fix = "move the barrier out of code that only some threads execute (if, single, master, a loop that some " +
		"threads leave early)"
}

// barrierName returns "at the barrier at x.c:12", for the barrier that a thread waits at.
func barrierName(x *index, lwp int) string {
	t := x.threads[lwp]
	if t == nil || t.State == nil {
		return "at a barrier"
	}
	f, ok := innermost(t.UserStack)
	switch {
	case t.State.Name == picture.StateBarrierParallel:
		return "at the end of the parallel region"
	case ok && f.Line != 0 && t.State.Name == picture.StateBarrierWorkshare:
		return "at the end of the worksharing construct at " + sourceLine(t.UserStack)
	case ok && f.Line != 0:
		return "at the barrier at " + sourceLine(t.UserStack)
	}
	return "at a barrier"
}

// isConstructEnd reports whether a thread waits at the end of a worksharing construct.
func isConstructEnd(t *picture.Thread) bool {
	return t != nil && t.State != nil &&
		(t.State.Name == picture.StateBarrierWorkshare || t.State.Name == picture.StateBarrierImplicit)
}

// divergent returns the verdict on threads that are at one barrier for the runtime, and at several of the program.
// That breaks a rule of OpenMP, although the program need not hang. A compiler may make several calls, at different
// lines, of the barrier at the end of one worksharing construct: those of one function count as one barrier, unless
// the code shows more.
func (d *barriers) divergent(b *group) (picture.Verdict, bool) {
	at, functions := map[string][]int{}, map[string]bool{}
	var order []string
	for _, w := range b.waits {
		if info := b.views[w.Barrier]; info == nil || !info.arrived[w.Thread] {
			continue
		}
		f, ok := innermost(d.frames(w.Thread))
		p := barrierName(d.index, w.Thread)
		if !ok || f.Line == 0 || p == "at the end of the parallel region" || isForkFrame(d.index, w.Region, f) {
			continue
		}
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], w.Thread)
		if isConstructEnd(d.threads[w.Thread]) {
			p = f.Function
		}
		functions[p] = true
	}
	if len(order) < 2 {
		return picture.Verdict{}, false
	}
	v := newVerdict(picture.VerdictBarrierDivergent, picture.Certain)
	v.Severity, v.Region = picture.SeverityWarning, b.waits[0].Region
	v.Summary = "members of one team wait at different barriers, which the runtime treats as one"
	v.Explanation = "The runtime only counts arrivals: it releases the threads once all have arrived at any " +
		"barrier, so what one side does before its barrier may be unfinished when the other side proceeds. All " +
		"threads of a team must encounter the same barriers in the same order."
	for _, p := range order {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s %s", d.threadsWait(at[p]), p))
		v.Threads = append(v.Threads, at[p]...)
	}
	switch what, branches := misplacedInCode(d.index, b.waits); {
	case len(what) > 0:
		v.Explanation += " OpenMP allows no barrier in such a construct: " +
			phrase.Clauses(what, maxNamed, len(what)) + "."
		v.Evidence = append(what, v.Evidence...)
		v.Fix = kindOf(picture.VerdictIllegalBarrier).Fix
	case len(branches) > 0:
		explainBranches(&v, branches)
	case len(functions) < 2:
		return picture.Verdict{}, false
	}
	return v, true
}

// joinShiftToCrash adds to the verdict on a crash that members of the crashed thread's team are at different barriers,
// and why, in place of the verdict on these. Such a thread reads data before the threads that write it have come to the
// barrier between.
func joinShiftToCrash(x *index, all []picture.Verdict) []picture.Verdict {
	if len(all) == 0 || all[0].Kind != picture.VerdictCrash || len(all[0].Threads) == 0 {
		return all
	}
	v := &all[0]
	t := x.threads[v.Threads[0]]
	i := slices.IndexFunc(all, func(o picture.Verdict) bool {
		return o.Kind == picture.VerdictBarrierDivergent && o.Severity == picture.SeverityWarning && t != nil &&
			t.Region == o.Region
	})
	if i < 0 {
		return all
	}
	o := &all[i]
	v.Evidence = append(v.Evidence, o.Evidence...)
	v.Explanation = strings.TrimSpace(fmt.Sprintf("%s Other threads of its team wait at different barriers: one of "+
		"them came to another number of barriers, so that the barriers no longer separate what the threads read from "+
		"what others write. That may have caused the crash.", v.Explanation))
	if v.Fix == "" {
		v.Fix = o.Fix
	}
	return slices.Delete(all, i, i+1)
}

// isForkFrame reports whether a frame is the one that forked a region. It is the innermost frame of a thread of the
// region if the region's own frame is gone, since its call of the barrier was a tail call.
func isForkFrame(x *index, region picture.ID, f picture.Frame) bool {
	k := x.forks[region]
	return k != nil && k.Frame != nil && k.Frame.PC != nil && f.PC != nil && *k.Frame.PC == *f.PC
}

// explain returns the verdict on an incomplete barrier.
func (d *barriers) explain(b *group) picture.Verdict {
	arrived, size := b.size-len(b.missing), b.size
	v := newVerdict(picture.VerdictBarrierMissing, picture.Possible)
	v.Severity, v.Region = picture.SeverityInfo, b.waits[0].Region
	v.Arrived, v.TeamSize = &arrived, &size
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
				m.Frame, where = &f, " is "+waitClause(d.index, lwp)+"in "+place(f)
			}
		}
		if d.isStuck(lwp) {
			held++
		}
		v.Missing = append(v.Missing, m)
		if len(named) < maxNamed {
			named = append(named, d.threadName(lwp)+where)
		}
	}
	v.Summary = fmt.Sprintf("%d of %d arrived at a barrier%s: %s", arrived, size, barrierPlace(d.index, b),
		phrase.Some(named, maxNamed, len(b.missing)))
	v.Explanation = "The others wait until all have arrived. That is normal while the missing threads work; it is " +
		"a hang only if they never arrive."
	if held > 0 {
		v.Explanation = "The others wait until all have arrived, which cannot happen: another verdict says what " +
			"blocks the missing threads."
		v.Severity = picture.SeverityHang
		v.Certainty = d.certaintyOfAny(b.missing)
	}
	return v
}

// waitClause returns "waiting for lock table ", for a thread that waits; "" for any other one.
func waitClause(x *index, lwp int) string {
	w, ok := x.waits[lwp]
	switch {
	case ok && w.Kind == picture.WaitBarrier:
		return "at another barrier, "
	case ok:
		return "waiting for " + phrase.Awaited(x.waitTarget(w)) + " "
	}
	return ""
}

// barrierPlace returns the source line of a barrier, if all of its threads have the same, or else the place of its
// parallel region; "" if neither is known.
func barrierPlace(x *index, b *group) string {
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
		if r := x.regions[b.waits[0].Region]; r != nil && hasLine(r.Function) {
			return fmt.Sprintf(" (of the parallel region at %s)", codePlace(r.Function))
		}
	}
	return ""
}
