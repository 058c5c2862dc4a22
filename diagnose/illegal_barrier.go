package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The explanation and the fix of a barrier in an explicit task.
const (
	noBarrierInTask = "OpenMP allows no barrier in an explicit task: the threads of the team do not all execute it, " +
		"and the barrier at which they wait themselves is complete only when the task is finished."
	barrierOutOfTask = "wait for tasks with taskwait or taskgroup, and move the barrier out of the task: only the " +
		"threads of the team themselves may encounter one, each outside of explicit tasks"
)

// illegalBarriers draws the verdicts on threads that wait at a barrier where OpenMP does not allow one.
type illegalBarriers struct {
	*dependencies
	groups  []*group
	covered *covered
}

// find returns the verdicts on barriers in explicit tasks and in constructs that must not contain one. The other
// members of the team need not come to a barrier in a task, and their own barriers wait for the end of the task.
func (d *illegalBarriers) find() []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if _, ok := d.taskAtBarrier(w); !ok || d.covered.regions[w.Region] {
			continue
		}
		d.covered.regions[w.Region] = true
		out = append(out, d.explain(w))
	}
	return append(out, d.findMisplaced()...)
}

// taskAtBarrier returns the explicit task that waits at a barrier in its code, by its thread.
func (x *index) taskAtBarrier(w *picture.Wait) (*picture.Task, bool) {
	t := x.tasks[w.Task]
	if w.Kind != picture.WaitBarrier || t == nil || t.Kind != picture.TaskExplicit || t.Thread != w.Thread {
		return nil, false
	}
	// A thread that takes tasks while it is at a barrier of its own has that barrier's frame
	// first, between two tasks.
	for _, f := range x.frames(w.Thread) {
		switch {
		case f.Kind != picture.FrameUser:
		case t.Function != nil && t.Function.Address != nil && f.Entry != nil && *f.Entry == *t.Function.Address,
			f.Construct == "task":
			return t, true
		case f.Construct != "":
			return nil, false
		}
	}
	return nil, false
}

// explain returns the verdict on the barriers in tasks of one region. It is a hang if all members wait, since then
// no member can finish the task.
func (d *illegalBarriers) explain(first *picture.Wait) picture.Verdict {
	v := newVerdict(picture.VerdictIllegalBarrier, picture.Certain)
	v.Severity, v.Region, v.Fix = picture.SeverityWarning, first.Region, barrierOutOfTask
	for _, lwp := range d.order {
		w := d.waits[lwp]
		t, ok := d.taskAtBarrier(w)
		if !ok || w.Region != first.Region {
			continue
		}
		v.Threads, v.Tasks = append(v.Threads, lwp), append(v.Tasks, t.ID)
		v.Evidence = append(v.Evidence, waitInTask(d.index, w, t))
	}
	v.Summary = phrase.Clauses(v.Evidence, 1, len(v.Threads))
	v.Explanation = noBarrierInTask
	if how := d.standstill(first.Region); how != "" {
		v.Severity, v.Certainty = picture.SeverityHang, picture.Likely
		v.Explanation += how
		d.markStuck(v.Certainty, v.Threads)
		d.addBlocked(&v)
	}
	return v
}

// waitInTask returns the clause on a thread that waits at a barrier in an explicit task.
func waitInTask(x *index, w *picture.Wait, t *picture.Task) string {
	at := "at a barrier"
	if !w.EndOfRegion { // else a tail call hides where it is
		at = barrierName(x, w.Thread)
	}
	text := fmt.Sprintf("%s waits %s, in the explicit task", x.threadName(w.Thread), at)
	if hasLine(t.Function) {
		text += " of " + codePlace(t.Function)
	}
	return text
}

// explainBarrierInTask changes the verdict on members of a team at different barriers to one on a barrier in an
// explicit task, if one of them waits in such a task. It returns the region.
func explainBarrierInTask(x *index, v *picture.Verdict) (region picture.ID, ok bool) {
	for _, s := range v.Cycle {
		w := x.waits[s.Thread]
		t, ok := x.taskAtBarrier(w)
		if !ok {
			continue
		}
		v.Kind, v.Summary, v.Fix = picture.VerdictIllegalBarrier, waitInTask(x, w, t), barrierOutOfTask
		v.Explanation = noBarrierInTask
		return w.Region, true
	}
	return "", false
}

// standstill returns a sentence on the members of a region if no member can finish the task with the barrier: each
// sleeps at a barrier, is at an incomplete one, or waits for tasks, and no task is about to be executed. It
// returns "" otherwise.
func (d *illegalBarriers) standstill(id picture.ID) string {
	r := d.regions[id]
	unbegun := func(t picture.Task) bool { return t.Unbegun() && t.Region == id }
	if r == nil || len(r.Threads) < r.TeamSize || d.facts.TasksTruncated || slices.ContainsFunc(d.pic.Tasks, unbegun) {
		return ""
	}
	how := " All threads of the team sleep at barriers, and none of them can finish it."
	for _, lwp := range r.Threads {
		w := d.waits[lwp]
		switch {
		case w == nil:
			return ""
		case w.Kind == picture.WaitBarrier && (w.Asleep || d.isIncomplete(w)):
		case w.Kind == picture.WaitTaskgroup, w.Kind == picture.WaitTaskwait && hasUnfinished(d.index, w.Task):
			how = " All threads of the team are at barriers, or wait for tasks that were begun, and none of them can " +
				"finish it."
		default:
			return ""
		}
	}
	return how
}

// isIncomplete reports whether members of the team have not arrived at the barrier of w.
func (d *illegalBarriers) isIncomplete(w *picture.Wait) bool {
	return slices.ContainsFunc(d.groups, func(b *group) bool {
		return slices.Contains(b.waits, w) && len(b.missing) > 0
	})
}

// hasUnfinished reports whether the runtime counts unfinished children of a task.
func hasUnfinished(x *index, id picture.ID) bool {
	t := x.tasks[id]
	return t != nil && t.IncompleteChildren != nil && *t.IncompleteChildren > 0
}

// anyAtBarrierInTask reports whether a member of a region waits at a barrier in an explicit task.
func anyAtBarrierInTask(x *index, id picture.ID) bool {
	return slices.ContainsFunc(x.regions[id].Threads, func(lwp int) bool {
		w := x.waits[lwp]
		if w == nil {
			return false
		}
		_, ok := x.taskAtBarrier(w)
		return ok
	})
}

// findMisplaced finds threads that wait at a barrier in a construct that must not contain one, and that no verdict of a
// hang covers.
func (d *illegalBarriers) findMisplaced() []picture.Verdict {
	var out []picture.Verdict
	seen := map[picture.ID]bool{}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		in := misplacedIn(d.index, w)
		if in == nil || in.Uncertain || d.covered.threads[lwp] || seen[w.Region] {
			continue
		}
		seen[w.Region] = true
		v := newVerdict(picture.VerdictIllegalBarrier, picture.Certain)
		v.Severity, v.Threads, v.Region = picture.SeverityWarning, []int{lwp}, w.Region
		explainMisplaced(&v, waitInConstruct(d.index, w, in))
		v.Evidence = []string{"by the code on the thread's stack"}
		out = append(out, v)
	}
	return out
}

// barrierOf returns the barrier that a thread waits at, nil if it is unknown.
func barrierOf(x *index, w *picture.Wait) *picture.Barrier {
	i := slices.IndexFunc(x.facts.Barriers, func(b picture.Barrier) bool { return b.ID == w.Barrier })
	if i < 0 {
		return nil
	}
	return &x.facts.Barriers[i]
}

// misplacedIn returns the construct in which a thread waits at a barrier, if the construct must not contain one; nil
// otherwise.
func misplacedIn(x *index, w *picture.Wait) *picture.Construct {
	b := barrierOf(x, w)
	if b == nil {
		return nil
	}
	i := slices.IndexFunc(b.Misplaced, func(m picture.Misplaced) bool { return m.Thread == w.Thread })
	if i < 0 {
		return nil
	}
	return &b.Misplaced[i].Construct
}

// explainIfMisplaced changes a verdict on a cycle to one on a barrier in a construct that must not contain one: the
// construct in which a thread of the cycle waits, or, for members of one team at different barriers, one in the code of
// their region.
func explainIfMisplaced(x *index, v *picture.Verdict) {
	team := isTeamAtBarriers(x, v.Cycle)
	for _, s := range v.Cycle {
		w := x.waits[s.Thread]
		if in := misplacedIn(x, w); in != nil && (team || !in.Uncertain) {
			v.Region = w.Region
			explainMisplaced(v, waitInConstruct(x, w, in))
			return
		}
	}
	if team {
		explainMisplacedInCode(x, v)
	}
}

// waitInConstruct returns the clause on a thread that waits at a barrier in a construct.
func waitInConstruct(x *index, w *picture.Wait, in *picture.Construct) string {
	return fmt.Sprintf("%s waits %s, in %s", x.threadName(w.Thread), barrierName(x, w.Thread), constructText(in))
}

// explainMisplacedInCode changes a verdict on members of one team at different barriers to one on the barriers in
// constructs in the code of their region. If barriers depend on a branch only, it adds the branch.
func explainMisplacedInCode(x *index, v *picture.Verdict) {
	var waits []*picture.Wait
	for _, s := range v.Cycle {
		waits = append(waits, x.waits[s.Thread])
	}
	what, branches := misplacedInCode(x, waits)
	switch {
	case len(what) > 0:
		v.Region, v.Evidence = x.waits[v.Threads[0]].Region, append(what, v.Evidence...)
		explainMisplaced(v, v.Summary+": "+phrase.Clauses(what, maxNamed, len(what)))
	case len(branches) > 0:
		explainBranches(v, branches)
	}
}

// explainBranches adds to a verdict the branches at which the members of a team first came to different barriers.
func explainBranches(v *picture.Verdict, branches []string) {
	v.Explanation += " By the code of the region, the threads first came to different barriers where " +
		strings.Join(branches, ", or where ") + "."
	v.Evidence = append(branches, v.Evidence...)
	v.Fix = "make all threads of the team take the same side of that branch, or move the barrier out of it"
}

// misplacedInCode returns the clauses on barriers in constructs in the code of a region whose members wait, and those
// on barriers on one side of a branch.
func misplacedInCode(x *index, waits []*picture.Wait) (what, branches []string) {
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, w := range waits {
		b := barrierOf(x, w)
		if b == nil {
			continue
		}
		for _, m := range b.Misplaced {
			switch {
			case m.Thread != 0:
			case m.Construct.Name == picture.ConstructBranch:
				add(&branches, branchText(&m))
			default:
				text := "a barrier is in "
				if m.Frame != nil && m.Frame.Line != 0 {
					text = fmt.Sprintf("the barrier at %s is in ", m.Frame.Place())
				}
				add(&what, text+constructText(&m.Construct))
			}
		}
	}
	return what, branches
}

// branchText returns the clause on a barrier on one side of a branch, "" if the lines are unknown.
func branchText(m *picture.Misplaced) string {
	at, call, to := m.Construct.Frame, m.Construct.Call, m.Frame
	if at == nil || at.Line == 0 || to == nil || to.Line == 0 {
		return ""
	}
	text := fmt.Sprintf("only one side of the branch at %s leads to the barrier at %s", at.Place(), to.Place())
	if call != nil && call.Line != 0 && call.Place() != to.Place() {
		text += ", by the call at " + call.Place()
	}
	return text
}

// explainMisplaced sets the kind, the texts and the fix of a verdict on a barrier in a construct.
func explainMisplaced(v *picture.Verdict, summary string) {
	v.Kind, v.Summary = picture.VerdictIllegalBarrier, summary
	v.Explanation = strings.TrimSpace("OpenMP allows no barrier there: the threads of the team do not all come to " +
		"it, or not equally often. " + v.Explanation)
	v.Fix = kindOf(v.Kind).Fix
}

// constructText returns "the critical construct at x.c:12, by the call at x.c:14".
func constructText(c *picture.Construct) string {
	name := "the " + c.Name + " construct"
	if c.Uncertain {
		name = "code for thread 0 alone (a master construct, or a condition on omp_get_thread_num())"
	}
	if c.Frame != nil && c.Frame.Line != 0 {
		name += " at " + c.Frame.Place()
	}
	if c.Call != nil && c.Call.Line != 0 {
		name += ", by the call at " + c.Call.Place()
	}
	return name
}
