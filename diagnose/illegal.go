package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// What is said of a barrier in an explicit task.
const (
	noBarrierInTask = "OpenMP allows no barrier in an explicit task: the threads of the team do not all execute it, " +
		"and the barrier at which they wait themselves is complete only when the task is finished."
	barrierOutOfTask = "wait for tasks with taskwait or taskgroup, and move the barrier out of the task: only the " +
		"threads of the team themselves may encounter one, each outside of explicit tasks"
)

// illegalBarriers finds threads that wait at a barrier in an explicit task, where OpenMP
// allows none: the other members of the team need not come there, and a barrier of theirs
// waits for the task.
func illegalBarriers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	told := d.inTasks
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

// takesTask reports whether a thread at a barrier of its own has taken a task there: it is about to
// execute it, or has just done so, and goes on by itself.
func (x *index) takesTask(w *picture.Wait) bool {
	t := x.tasks[w.Task]
	if w.Kind != picture.WaitBarrier || w.Asleep || t == nil || t.Kind != picture.TaskExplicit || t.Thread != w.Thread {
		return false
	}
	_, in := x.barrierInTask(w)
	return !in
}

// illegalBarrier makes the verdict on the barriers in tasks of one region. It hangs if all
// members stand, as none of them can finish the task then.
func illegalBarrier(d *drawer, first *picture.Wait) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictIllegalBarrier, Severity: picture.SeverityWarning, Certainty: picture.Certain,
		Region: first.Region,
		Fix:    barrierOutOfTask,
	}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		t, ok := d.barrierInTask(w)
		if !ok || w.Region != first.Region {
			continue
		}
		v.Threads, v.Tasks = append(v.Threads, lwp), append(v.Tasks, t.ID)
		v.Evidence = append(v.Evidence, waitsInTask(d.index, w, t))
	}
	v.Summary = phrase.Clauses(v.Evidence, 1, len(v.Threads))
	v.Explanation = noBarrierInTask
	if how := allStand(d, first.Region); how != "" {
		v.Severity, v.Certainty = picture.SeverityHang, picture.Likely
		v.Explanation += how
		d.never(v.Certainty, v.Threads)
		d.addBlocked(&v)
	}
	return v
}

// waitsInTask says at which barrier a thread waits, and in which explicit task.
func waitsInTask(x *index, w *picture.Wait, t *picture.Task) string {
	at := "at a barrier"
	if !w.EndOfRegion { // else a tail call hides where it is
		at = x.whichBarrier(w.Thread)
	}
	text := fmt.Sprintf("%s waits %s, in the explicit task", x.who(w.Thread), at)
	if t.Function != nil && t.Function.Line != 0 {
		text += fmt.Sprintf(" of %s:%d", base(t.Function.File), t.Function.Line)
	}
	return text
}

// tellInTask makes a verdict on members of a team at different barriers one on the barrier in an
// explicit task, if that is where one of them waits.
func tellInTask(d *drawer, v *picture.Verdict) bool {
	for _, s := range v.Cycle {
		w := d.waits[s.Thread]
		t, ok := d.barrierInTask(w)
		if !ok {
			continue
		}
		d.inTasks[w.Region] = true
		v.Kind, v.Summary, v.Fix = picture.VerdictIllegalBarrier, waitsInTask(d.index, w, t), barrierOutOfTask
		v.Explanation = noBarrierInTask
		return true
	}
	return false
}

// allStand says how all members of a region wait, and that none of them can finish the task in
// which one is at a barrier: they sleep at barriers, or are at such that not all have come to, or wait for
// tasks, and no task is about to be run by one of them. It is empty if they do not.
func allStand(d *drawer, id picture.ID) string {
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
		case w.Kind == picture.WaitBarrier && (w.Asleep || incomplete(d, w)):
		case w.Kind == picture.WaitTaskgroup, w.Kind == picture.WaitTaskwait && hasUnfinished(d.index, w.Task):
			how = " All threads of the team are at barriers, or wait for tasks that were begun, and none of them can " +
				"finish it."
		default:
			return ""
		}
	}
	return how
}

// incomplete reports whether members of the team have not come to the barrier that w is at.
func incomplete(d *drawer, w *picture.Wait) bool {
	return slices.ContainsFunc(d.groups, func(b *group) bool {
		return slices.Contains(b.waits, w) && len(b.missing) > 0
	})
}

// hasUnfinished reports whether the runtime counts children of a task that are not finished.
func hasUnfinished(x *index, id picture.ID) bool {
	t := x.tasks[id]
	return t != nil && t.IncompleteChildren != nil && *t.IncompleteChildren > 0
}

// someInTask reports whether a member of a region waits at a barrier in an explicit task.
func someInTask(x *index, id picture.ID) bool {
	return slices.ContainsFunc(x.regions[id].Threads, func(lwp int) bool {
		w := x.waits[lwp]
		if w == nil {
			return false
		}
		_, ok := x.barrierInTask(w)
		return ok
	})
}
