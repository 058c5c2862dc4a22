package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// joinTeamSizes adds to hangs for which no thread is left the reason why a team has fewer threads than its region
// requests. The verdicts on the sizes of these teams are then not reported on their own.
func joinTeamSizes(x *index, found, sizes []picture.Verdict) (joined, rest []picture.Verdict) {
	used := map[int]bool{}
	first := map[string]int{} // index of the first hang with a cause, by the cause's fix and the object of the wait
	for _, v := range found {
		c, own := causeOfHang(x, &v, sizes)
		if c == nil {
			joined = append(joined, v)
			continue
		}
		used[own] = true
		if object := hangObject(&v); object != "" {
			if i, ok := first[c.fix+object]; ok {
				mergeHang(x, &joined[i], &v)
				continue
			}
			first[c.fix+object] = len(joined)
		}
		explainTeamSize(&v, c)
		joined = append(joined, v)
	}
	for i := range sizes {
		if !used[i] {
			rest = append(rest, sizes[i])
		}
	}
	return joined, rest
}

// causeOfHang returns the cause of the size of a team in which a thread of a hang waits for another thread, and the
// index of its verdict in sizes, -1 without one. It returns nil if the team is not known to be too small.
func causeOfHang(x *index, v *picture.Verdict, sizes []picture.Verdict) (*cause, int) {
	if v.Severity != picture.SeverityHang || v.Kind != picture.VerdictNeverWoken && v.Kind != picture.VerdictSpinning {
		return nil, -1
	}
	for _, lwp := range v.Threads {
		t := x.threads[lwp]
		if t == nil || t.Region == "" || x.regions[t.Region] == nil {
			continue
		}
		r := x.regions[t.Region]
		for i := range sizes {
			s := &sizes[i]
			if s.Fix != "" && s.TeamSize != nil && *s.TeamSize == r.TeamSize && slices.Contains(s.Threads, lwp) {
				return &cause{reason: s.Summary, fix: s.Fix, evidence: s.Evidence}, i
			}
		}
		if c, ok := (&teamSizes{x}).possibleLimit(r); ok {
			return &c, -1
		}
	}
	return nil, -1
}

// possibleLimit returns the limit that a team has reached, if the number that its region requests is unknown.
func (x *teamSizes) possibleLimit(r *picture.Region) (cause, bool) {
	f := x.forks[r.ID]
	if f == nil || f.clause != unknown || f.IfFalse {
		return cause{}, false
	}
	where := "the parallel region"
	if hasLine(r.Function) {
		where += " at " + codePlace(r.Function)
	}
	has := fmt.Sprintf("%s has %s", where, onlyThreads(r.TeamSize))
	switch {
	case f.limit == r.TeamSize:
		return cause{
			reason: has + ", which is all that thread-limit-var allows: its num_threads clause may request more",
			evidence: []string{fmt.Sprintf("thread-limit-var: %d%s", f.limit,
				x.settings.origin("OMP_THREAD_LIMIT", "a thread_limit clause"))},
			fix: "raise " + x.threadLimit() + ", and count the threads that there are (omp_get_num_threads in the " +
				"region)",
		}, true
	case f.Dynamic:
		return cause{
			reason: has + ": dyn-var lets the runtime use fewer than its num_threads clause requests",
			evidence: []string{"dyn-var: true" + x.settings.origin("OMP_DYNAMIC", "omp_set_dynamic"),
				fmt.Sprintf("num-procs-var: %d", f.procs)},
			fix: x.settings.dynamicFix() + ", and count the threads that there are (omp_get_num_threads in the region)",
		}, true
	}
	c, ok := x.leagueLimit(r, f)
	c.reason = has + ": " + c.reason
	return c, ok
}

// explainTeamSize adds the cause of a small team to a hang, and puts its fix first.
func explainTeamSize(v *picture.Verdict, c *cause) {
	v.Explanation = strings.TrimSpace(fmt.Sprintf("%s %s. What another thread of the team would do does not happen "+
		"while this one waits.", v.Explanation, strings.ToUpper(c.reason[:1])+c.reason[1:]))
	v.Evidence = append(v.Evidence, c.evidence...)
	v.Fix = c.fix + "; or " + v.Fix
}

// hangObject returns the object for which threads sleep by the summary of their verdict; "" for other verdicts.
func hangObject(v *picture.Verdict) string {
	if v.Kind != picture.VerdictNeverWoken {
		return ""
	}
	_, object, _ := strings.Cut(v.Summary, " for ")
	object, _, _ = strings.Cut(object, ", and no thread")
	return object
}

// mergeHang adds to a hang the threads of another one with the same cause and an object of the same name.
func mergeHang(x *index, into, v *picture.Verdict) {
	object := hangObject(v)
	into.Threads = append(into.Threads, v.Threads...)
	into.Evidence = append(into.Evidence, v.Evidence[:min(len(v.Evidence), 1)]...)
	into.Waiting = slices.DeleteFunc(into.Waiting, func(lwp int) bool { return slices.Contains(into.Threads, lwp) })
	into.Certainty = into.Certainty.Weaker(v.Certainty)
	into.Explanation = strings.Replace(into.Explanation, "It sleeps", "They sleep", 1)
	objects := map[picture.Hex]bool{}
	for _, lwp := range into.Threads {
		if w := x.waits[lwp]; w != nil && w.Address != nil {
			objects[*w.Address] = true
		}
	}
	if len(objects) > 1 {
		object += fmt.Sprintf(" (%d of that name)", len(objects))
	}
	into.Summary = fmt.Sprintf("%s for %s, and no thread is left that could wake them",
		x.threadsWait(into.Threads), object)
}

// maxQueuedPlaces bounds the constructs of queued tasks that a sentence names.
const maxQueuedPlaces = 3

// explainQueuedTasks adds to a hang the queued tasks that no thread is left to execute: one of them may do that for
// which the threads wait.
func explainQueuedTasks(x *index, v *picture.Verdict, what string) {
	total, where := x.countTasks(func(t *picture.Task) bool {
		return t.Kind == picture.TaskExplicit && t.State == picture.TaskQueued
	})
	if total == 0 {
		return
	}
	who, one := someTasks(total)
	v.Explanation += fmt.Sprintf(" But %s queued%s that no thread is left to execute: %s may be what %s.", who, where,
		one, what)
	v.Evidence = append(v.Evidence, fmt.Sprintf("%s queued%s, and all threads of the team wait", who, where))
	v.Fix = "a task must not keep a thread while it waits for another task, which may be queued after it: let tasks " +
		"wait for each other by dependences (depend clauses) or in a taskwait, or execute that task first; " +
		"otherwise: " + v.Fix
}

// countTasks returns the number of tasks of a kind, and their places in parentheses after a space.
func (x *index) countTasks(is func(*picture.Task) bool) (total int, where string) {
	counts := map[string]int{}
	var order []string
	for i := range x.pic.Tasks {
		t := &x.pic.Tasks[i]
		if !is(t) {
			continue
		}
		total++
		at := strings.TrimSpace(x.taskPlace(t.ID))
		if counts[at]++; counts[at] == 1 && at != "" {
			order = append(order, at)
		}
	}
	if len(order) > 0 {
		where = " (" + phrase.Some(order[:min(len(order), maxQueuedPlaces)], maxQueuedPlaces, len(order)) + ")"
	}
	return total, where
}

// someTasks returns "2 tasks are" and "one of them" for a number of tasks.
func someTasks(n int) (who, one string) {
	if n == 1 {
		return "1 task is", "it"
	}
	return fmt.Sprintf("%d tasks are", n), "one of them"
}

// explainDependentTasks adds to a hang the tasks that depend on a task of its threads, directly or not: one of them may
// end the wait.
func explainDependentTasks(x *index, v *picture.Verdict, what string) {
	dependents := map[picture.ID][]picture.ID{}
	for i := range x.pic.Tasks {
		for _, id := range x.pic.Tasks[i].WaitsFor {
			dependents[id] = append(dependents[id], x.pic.Tasks[i].ID)
		}
	}
	for _, lwp := range v.Threads {
		th := x.threads[lwp]
		if th == nil || x.tasks[th.Task] == nil || x.tasks[th.Task].Kind != picture.TaskExplicit ||
			len(dependents[th.Task]) == 0 {
			continue
		}
		behind := map[picture.ID]bool{th.Task: true}
		for queue := []picture.ID{th.Task}; len(queue) > 0; queue = queue[1:] {
			for _, id := range dependents[queue[0]] {
				if !behind[id] {
					behind[id] = true
					queue = append(queue, id)
				}
			}
		}
		total, where := x.countTasks(func(t *picture.Task) bool { return behind[t.ID] && t.ID != th.Task })
		if total == 0 { // it depends on itself
			continue
		}
		who, one := someTasks(total)
		until := fmt.Sprintf("until the task %sof %s has ended", x.taskPlace(th.Task), x.threadName(lwp))
		v.Explanation += fmt.Sprintf(" But %s blocked%s by depend clauses %s: %s may be what %s.", who, where,
			until, one, what)
		v.Fix = "a task must not wait for another task that depends on it: let it end before, or remove the " +
			"dependence; otherwise: " + v.Fix
		return
	}
}

// explainDiscardedTasks adds to a hang that a taskgroup of its threads is cancelled: one of the discarded tasks may be
// the one for which the threads wait.
func explainDiscardedTasks(x *index, v *picture.Verdict, what string) {
	for _, lwp := range v.Threads {
		th := x.threads[lwp]
		if th == nil || x.tasks[th.Task] == nil {
			continue
		}
		t := x.tasks[th.Task]
		if !slices.Contains(t.Flags, picture.FlagCancelledGroup) {
			continue
		}
		v.Explanation += fmt.Sprintf(" But the %s task %sof %s is in a cancelled taskgroup: tasks of it that had not "+
			"started were discarded, and one of them may be what %s.", t.Kind, x.taskPlace(t.ID), x.threadName(lwp),
			what)
		v.Evidence = append(v.Evidence, "the runtime's record of the taskgroup of "+x.threadName(lwp)+
			" says that it is cancelled")
		v.Fix = "do not wait for another task of a taskgroup that may be cancelled: leave the wait at a " +
			"cancellation point (#pragma omp cancellation point taskgroup); otherwise: " + v.Fix
		return
	}
}
