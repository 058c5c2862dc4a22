package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// illegalBarriers finds threads that wait at a barrier in an explicit task, where OpenMP
// allows none: the other members of the team need not come there, and a barrier of theirs
// waits for the task.
func illegalBarriers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	told := map[picture.ID]bool{}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if _, ok := d.barrierInTask(w); !ok || told[w.Region] {
			continue
		}
		told[w.Region] = true
		out = append(out, illegalBarrier(d, w))
	}
	return append(out, misplacedBarriers(d)...)
}

// barrierInTask is the explicit task in whose code a thread waits at a barrier.
func (x *index) barrierInTask(w *picture.Wait) (*picture.Task, bool) {
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

// illegalBarrier makes the verdict on the barriers in tasks of one region. It hangs if all
// members sleep at barriers, as none of them can finish the task then.
func illegalBarrier(d *drawer, first *picture.Wait) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictIllegalBarrier, Severity: picture.SeverityWarning, Certainty: picture.Certain,
		Region: first.Region,
		Fix: "wait for tasks with taskwait or taskgroup, and move the barrier out of the task: only the threads of " +
			"the team themselves may encounter one, each outside of explicit tasks",
	}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		t, ok := d.barrierInTask(w)
		if !ok || w.Region != first.Region {
			continue
		}
		v.Threads, v.Tasks = append(v.Threads, lwp), append(v.Tasks, t.ID)
		at := "at a barrier"
		if !w.EndOfRegion { // else a tail call hides where it is
			at = d.whichBarrier(lwp)
		}
		text := fmt.Sprintf("%s waits %s, in the explicit task", d.who(lwp), at)
		if t.Function != nil && t.Function.Line != 0 {
			text += fmt.Sprintf(" of %s:%d", base(t.Function.File), t.Function.Line)
		}
		v.Evidence = append(v.Evidence, text)
	}
	v.Summary = phrase.Clauses(v.Evidence, 1, len(v.Threads))
	v.Explanation = "OpenMP allows no barrier in an explicit task: the threads of the team do not all execute it, " +
		"and the barrier at which they wait themselves is complete only when the task is finished."
	if d.allAtBarriers(first.Region) {
		v.Severity, v.Certainty = picture.SeverityHang, picture.Likely
		v.Explanation += " All threads of the team sleep at barriers, and none of them can finish it."
		d.never(v.Certainty, v.Threads)
		d.addBlocked(&v)
	}
	return v
}

// allAtBarriers reports whether all members of a region sleep at barriers, and no task is
// about to be run by one of them.
func (x *index) allAtBarriers(id picture.ID) bool {
	r := x.regions[id]
	unbegun := func(t picture.Task) bool { return t.Unbegun() && t.Region == id }
	return r != nil && len(r.Threads) >= r.TeamSize && !x.facts.TasksCut &&
		!slices.ContainsFunc(r.Threads, func(lwp int) bool {
			w := x.waits[lwp]
			return w == nil || w.Kind != picture.WaitBarrier || !w.Asleep
		}) &&
		!slices.ContainsFunc(x.pic.Tasks, unbegun)
}
