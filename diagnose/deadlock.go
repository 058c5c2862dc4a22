package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// deadlocks finds the rings of threads that wait for each other. Each ring is
// told once, by its shortest cycle; threads that wait for it are named behind it.
func deadlocks(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	done := map[node]bool{}
	for _, lwp := range d.order {
		n := node{lwp: lwp}
		if !d.stuck[n] || done[n] || d.reported[lwp] {
			continue
		}
		path := d.cycle(n, d.rings, false)
		ring := d.rings[n]
		if path == nil || d.onlyConditions(path) || behindLock(d, ring) {
			continue
		}
		for _, m := range ring.nodes {
			done[m], d.reported[m.lwp] = true, true
		}
		if slices.ContainsFunc(path, func(h hop) bool { return d.isQueued(h.from) }) {
			out = append(out, d.queuedForever(ring))
			continue
		}
		out = append(out, d.deadlock(path))
	}
	return append(out, aidedDeadlocks(d, done)...)
}

// aidedDeadlocks finds the rings of threads that are none without those who may release a lock that they have not
// acquired: a thread waits for a lock that it holds itself, say, and the one that is to release it waits for that
// thread. What is behind another ring is none.
func aidedDeadlocks(d *drawer, done map[node]bool) []picture.Verdict {
	var out []picture.Verdict
	behind := d.waitersOf(slices.Collect(maps.Keys(done))...)
	for _, lwp := range d.order {
		n := node{lwp: lwp}
		if !d.stuck[n] || done[n] || d.reported[lwp] || behind[n] {
			continue
		}
		path := d.cycle(n, d.aided, true)
		byHelp := func(h hop) bool { return h.edge.help }
		if path == nil || d.onlyConditions(path) || !slices.ContainsFunc(path, byHelp) {
			continue
		}
		for _, m := range d.aided[n].nodes {
			done[m], d.reported[m.lwp] = true, true
		}
		out = append(out, d.deadlock(path))
	}
	return out
}

// onlyConditions reports whether the threads of a cycle all wait on condition
// variables. Signals and timers may wake such threads too, so that nothing is
// concluded from the code of these threads alone.
func (d *drawer) onlyConditions(path []hop) bool {
	return !slices.ContainsFunc(path, func(h hop) bool {
		return !h.from.isThread() || d.waits[h.from.lwp].Kind != picture.WaitCondition
	})
}

// deadlock makes the verdict on a cycle.
func (d *drawer) deadlock(path []hop) picture.Verdict {
	v := picture.Verdict{Kind: picture.VerdictDeadlock, Severity: picture.SeverityHang, Certainty: picture.Certain}
	for i := 0; i < len(path); {
		if !path[i].from.isThread() {
			path = append(path[1:], path[0]) // begin with a thread
			continue
		}
		break
	}
	for i := 0; i < len(path); {
		j := i + 1 // the next thread
		for j < len(path) && !path[j].from.isThread() {
			j++
		}
		next := path[0].from
		if j < len(path) {
			next = path[j].from
		}
		step := d.step(path[i].from.lwp, next.lwp, path[i:j])
		for _, h := range path[i:j] {
			v.Certainty = v.Certainty.Weaker(h.edge.certainty)
			if d.doubt[h.from] {
				v.Certainty = picture.Possible
			}
			if !h.from.isThread() {
				v.Tasks = append(v.Tasks, h.from.task)
			}
		}
		v.Cycle = append(v.Cycle, step)
		v.Threads = append(v.Threads, step.Thread)
		v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d waits for %s: LWP %d: %s", step.Thread,
			phrase.Awaited(step.WaitsFor), step.HeldBy, step.HeldEvidence))
		i = j
	}
	d.addBlocked(&v)
	if d.oneTeam(v.Cycle) {
		if d.tellDivergent(&v); tellInTask(d, &v) {
			return v
		}
	} else {
		d.tellDeadlock(&v)
	}
	misplaced(d.index, &v)
	tellLeft(d, &v)
	return v
}

// tellLeft says where code goes on without releasing a lock whose owner is known, and not known by its
// code to be where it acquired the lock.
func tellLeft(d *drawer, v *picture.Verdict) {
	for _, s := range v.Cycle {
		l := d.locks[s.Thread]
		if l == nil || l.Owner == 0 || leftAt(l) == "" {
			continue
		}
		v.Explanation += goesOn(l, phrase.Awaited(s.WaitsFor))
		const release = "release it on every path out of the code that acquires it"
		if v.Kind == picture.VerdictSelfDeadlock {
			v.Fix = release
		} else {
			v.Fix = release + "; or, if it is meant to be held there, " + v.Fix
		}
		return
	}
}

// step is the part of a cycle between two threads.
func (d *drawer) step(from, to int, hops []hop) picture.CycleStep {
	w := d.waits[from]
	s := picture.CycleStep{Thread: from, HeldBy: to, WaitsFor: d.target(w)}
	var how []string
	for _, h := range hops {
		how = append(how, h.edge.evidence)
		s.MayRelease = s.MayRelease || h.edge.help
		if h.edge.taken != nil {
			s.HeldAt = h.edge.taken
		}
		if t := d.tasks[h.edge.to.task]; t != nil && t.Function != nil && t.Function.Line != 0 {
			how[len(how)-1] += fmt.Sprintf(" (%s:%d)", base(t.Function.File), t.Function.Line)
		}
	}
	s.HeldEvidence = strings.Join(how, ", ")
	if t := d.threads[from]; t != nil {
		s.Frames = t.UserStack
		if t.ThreadNum != nil && t.TeamSize != nil {
			s.Place = &picture.ThreadSpot{ThreadNum: *t.ThreadNum, TeamSize: *t.TeamSize}
		}
	}
	return s
}

// target is what w waits for.
func (x *index) target(w *picture.Wait) picture.WaitTarget {
	t := picture.WaitTarget{Kind: w.Kind, Name: w.Name}
	if l := x.locks[w.Thread]; l != nil && l.Nested && w.Kind == picture.WaitLock {
		t.Kind = picture.WaitNestLock
	}
	if len(awaited(w)) > 0 {
		t.Name = "iteration " + iteration(w)
	}
	t.Address = w.Address
	return t
}

// addBlocked adds the threads that wait for those of the verdict and can never proceed
// either.
func (d *drawer) addBlocked(v *picture.Verdict) {
	var of []node
	own := map[int]bool{}
	for _, lwp := range v.Threads {
		of = append(of, node{lwp: lwp})
		own[lwp] = true
	}
	waiters := d.waitersOf(of...)
	for _, lwp := range d.order {
		if waiters[node{lwp: lwp}] && !own[lwp] {
			v.Waiting = append(v.Waiting, lwp)
		}
	}
}

// stepText is what a thread of a cycle waits for, and whom that depends on.
func (d *drawer) stepText(s picture.CycleStep) string {
	if s.WaitsFor.Kind == picture.WaitJoin {
		return fmt.Sprintf("%s waits for the end of %s", d.who(s.Thread), d.who(s.HeldBy))
	}
	how := "depends on " + d.who(s.HeldBy)
	if s.WaitsFor.Kind.Exclusive() {
		how = d.who(s.HeldBy) + " holds"
	}
	if s.MayRelease {
		how = d.who(s.HeldBy) + " may release"
		if d.nodes[node{lwp: s.Thread}].never {
			how = "it holds itself and " + how
		}
		how += releaseIn(s.HeldAt)
	}
	if s.WaitsFor.Kind.Traits().Executes {
		how = d.who(s.HeldBy) + " is in"
	}
	return fmt.Sprintf("%s waits for %s, which %s", d.who(s.Thread), phrase.Awaited(s.WaitsFor), how)
}

// few writes the first steps of a cycle, and how many more there are.
func few(cycle []picture.CycleStep, text func(picture.CycleStep) string) string {
	var parts []string
	for _, s := range cycle[:min(len(cycle), maxNamed)] {
		parts = append(parts, text(s))
	}
	return phrase.Clauses(parts, maxNamed, len(cycle))
}

// locksFix is the fix where all wait for locks.
const locksFix = "acquire these locks in the same order everywhere, or hold only one of them at a time"

// interpreterFix is the fix where a thread waits with the lock of Python's interpreter.
const interpreterFix = "release Python's interpreter lock before the code that waits for other threads: " +
	"ctypes.CDLL in place of PyDLL, `with nogil` in Cython, py::gil_scoped_release in pybind11, " +
	"Py_BEGIN_ALLOW_THREADS in C"

// tellDeadlock writes the summary, the explanation and the fix.
func (d *drawer) tellDeadlock(v *picture.Verdict) {
	locks, barrier, condition, interpreter := 0, false, false, false
	for _, s := range v.Cycle {
		if s.WaitsFor.Kind.Exclusive() {
			locks++
		}
		interpreter = interpreter || s.WaitsFor.Name == picture.InterpreterLock
		barrier = barrier || s.WaitsFor.Kind == picture.WaitBarrier
		condition = condition || s.WaitsFor.Kind == picture.WaitCondition
	}
	v.Summary = fmt.Sprintf("%d threads wait for each other and can never proceed", len(v.Cycle))
	v.Explanation = few(v.Cycle, d.stepText) + ". None of them can proceed before another does."
	if n := len(v.Waiting); n > 0 {
		v.Explanation += fmt.Sprintf(" %d more wait behind them.", n)
	}
	special := cycleFix(v.Cycle)
	switch {
	case special != "":
		v.Fix = special
	case interpreter:
		v.Fix = interpreterFix
	case locks == len(v.Cycle):
		v.Fix = locksFix
	case barrier && condition && locks == 0:
		v.Fix = "signal the condition variable before waiting at the barrier, and wait for it only while what it " +
			"stands for has not come, checked under the mutex: a signal that comes before the wait is lost"
	case barrier:
		v.Fix = "hold no lock and be in no critical section while waiting at a barrier: every thread of the team " +
			"must be able to reach it"
	default:
		v.Fix = "hold no lock while waiting for tasks or threads that need the same lock"
	}
}

// cycleFix returns the fix of the first kind of wait in the table that is part of a cycle and has one.
func cycleFix(cycle []picture.CycleStep) string {
	for _, row := range picture.WaitKinds() {
		isKind := func(s picture.CycleStep) bool { return s.WaitsFor.Kind == row.Kind }
		if row.CycleFix != "" && slices.ContainsFunc(cycle, isKind) {
			return row.CycleFix
		}
	}
	return ""
}
