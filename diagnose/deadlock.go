package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// deadlocks draws the verdicts on rings of threads that wait for each other.
type deadlocks struct {
	*dependencies
	covered *covered
}

// find returns one verdict for each ring, on its shortest cycle, and names the threads that wait for it. A ring that
// would not exist if a lock had been released that code left is a part of the verdict on that lock.
func (d *deadlocks) find() []picture.Verdict {
	var out []picture.Verdict
	done, behind := map[node]bool{}, d.behindLeft()
	for _, lwp := range d.order {
		n := node{lwp: lwp}
		if !d.stuck[n] || done[n] || behind[n] || d.covered.threads[lwp] {
			continue
		}
		path := d.shortestCycle(n, d.rings, false)
		ring := d.rings[n]
		queued := slices.ContainsFunc(path, func(h hop) bool { return d.isQueued(h.from) })
		if path == nil || d.onlyConditions(path) || isBehindLock(d.dependencies, ring) ||
			!queued && d.isStarved(path) {
			continue
		}
		for _, m := range ring.nodes {
			done[m] = true
		}
		d.covered.addRing(ring)
		if queued {
			out = append(out, explainQueued(d.dependencies, ring))
			continue
		}
		out = append(out, d.explain(path))
	}
	return append(out, d.findHelped(done, behind)...)
}

// findHelped finds the rings that need an edge to a helper, that is, to a thread that may release a lock without
// having acquired it: a thread waits for a lock that it holds itself, say, and the helper waits for that thread.
// Nodes that wait for another ring, or for a lock that was left, form no ring. The cycle contains the holder of such a
// lock, although other threads wait for it, too.
func (d *deadlocks) findHelped(done, behindLeft map[node]bool) []picture.Verdict {
	var out []picture.Verdict
	behind := d.dependents(slices.Collect(maps.Keys(done))...)
	order, other := slices.Clone(d.order), func(lwp int) int {
		if d.nodes[node{lwp: lwp}].never {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(other(a), other(b)) })
	for _, lwp := range order {
		n := node{lwp: lwp}
		if !d.stuck[n] || done[n] || d.covered.threads[lwp] || behind[n] || behindLeft[n] {
			continue
		}
		path := d.shortestCycle(n, d.helpedRings, true)
		byHelp := func(h hop) bool { return h.edge.help }
		if path == nil || d.onlyConditions(path) || !slices.ContainsFunc(path, byHelp) {
			continue
		}
		for _, m := range d.helpedRings[n].nodes {
			done[m] = true
		}
		d.covered.addRing(d.helpedRings[n])
		out = append(out, d.explain(path))
	}
	return out
}

// onlyConditions reports whether the threads of a cycle all wait on condition variables. Signals and timers may
// wake such threads, too, so the code of these threads alone is no proof.
func (d *deadlocks) onlyConditions(path []hop) bool {
	return !slices.ContainsFunc(path, func(h hop) bool {
		return !h.from.isThread() || d.waits[h.from.lwp].Kind != picture.WaitCondition
	})
}

// explain returns the verdict on a cycle.
func (d *deadlocks) explain(path []hop) picture.Verdict {
	v := newVerdict(picture.VerdictDeadlock, picture.Certain)
	for i := 0; i < len(path); {
		if !path[i].from.isThread() {
			path = append(path[1:], path[0]) // start with a thread
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
			if d.doubtful[h.from] {
				v.Certainty = picture.Possible
			}
			if !h.from.isThread() {
				v.Tasks = append(v.Tasks, h.from.task)
			}
		}
		v.Cycle = append(v.Cycle, step)
		v.Threads = append(v.Threads, step.Thread)
		v.Evidence = append(v.Evidence, d.stepText(step)+": "+step.HeldEvidence)
		i = j
	}
	d.addBlocked(&v)
	if isTeamAtBarriers(d.index, v.Cycle) {
		explainDivergent(d.index, &v)
		if region, ok := explainBarrierInTask(d.index, &v); ok {
			d.covered.regions[region] = true
			return v
		}
	} else {
		d.explainCycle(&v)
	}
	explainIfMisplaced(d.index, &v)
	explainLeak(d.index, &v)
	return v
}

// explainCycle sets the summary and the fix of a deadlock. The steps of the cycle and its evidence name the threads and
// their waits; the explanation does not repeat them, except where a thread holds the lock that it waits for.
func (d *deadlocks) explainCycle(v *picture.Verdict) {
	v.Summary = fmt.Sprintf("%d threads wait for each other and can never proceed", len(v.Cycle))
	if len(v.Cycle) == 1 { // the others are tasks
		v.Summary = fmt.Sprintf("%s waits for tasks that need it, and can never proceed", d.threadName(v.Threads[0]))
	}
	own := slices.DeleteFunc(slices.Clone(v.Cycle), func(s picture.CycleStep) bool {
		return !s.MayRelease || !d.nodes[node{lwp: s.Thread}].never
	})
	if len(own) > 0 { // the steps themselves do not show that a thread holds the lock it waits for
		v.Explanation = firstSteps(own, d.stepText) + "."
	}
	v.Explanation = strings.TrimSpace(v.Explanation + " " + d.interpreterHolder(v.Cycle))
	v.Fix = cycleFix(v.Cycle, v.Fix)
}

// interpreterHolder returns a sentence on the thread of a cycle that holds the lock of Python's interpreter: the line
// of Python that it executes, and its own wait.
func (d *deadlocks) interpreterHolder(cycle []picture.CycleStep) string {
	i := slices.IndexFunc(cycle, func(s picture.CycleStep) bool {
		return picture.IsInterpreterLock(s.WaitsFor.Name) && !s.MayRelease
	})
	if i < 0 || d.waits[cycle[i].HeldBy] == nil {
		return ""
	}
	holder, at := cycle[i].HeldBy, ""
	for _, f := range d.frames(holder) {
		if f.LWP != 0 && f.LWP != holder { // of the thread that forked its region
			break
		}
		if f.Language == picture.LanguagePython {
			at = " in " + place(f)
			break
		}
	}
	return fmt.Sprintf("%s holds the GIL%s and waits for %s.", d.threadName(holder), at,
		phrase.Awaited(d.waitTarget(d.waits[holder])))
}

// stepText returns the clause on a thread of a cycle: the object that it waits for, and the thread that this depends
// on.
func (d *deadlocks) stepText(s picture.CycleStep) string {
	if s.WaitsFor.Kind == picture.WaitJoin {
		return fmt.Sprintf("%s waits for the end of %s", d.threadName(s.Thread), d.threadName(s.HeldBy))
	}
	how := phrase.HolderClause(s, d.threadName(s.HeldBy), placeAfter(" in ", s.HeldAt),
		d.nodes[node{lwp: s.Thread}].never)
	return fmt.Sprintf("%s waits for %s, which %s", d.threadName(s.Thread), phrase.Awaited(s.WaitsFor), how)
}

// Fixes of cycles that depend on the kinds of their waits.
const (
	locksFix       = "acquire these locks in the same order everywhere, or hold only one of them at a time"
	interpreterFix = "release Python's interpreter lock before the code that waits for other threads: " +
		"ctypes.CDLL in place of PyDLL, `with nogil` in Cython, py::gil_scoped_release in pybind11, " +
		"Py_BEGIN_ALLOW_THREADS in C"
	loaderFix = "start no parallel region, and wait for no other thread, in a constructor or destructor of a library " +
		"or in a callback of dl_iterate_phdr: the loader holds its lock while they run. Let a function do so that " +
		"the program calls after dlopen, or before dlclose"
	fortranUnitFix = "call no function in the list of an I/O statement that waits for other threads or uses the same " +
		"unit: the unit stays locked until the statement ends. Evaluate it before, into a variable"
	lostSignal = ", and wait for it only while what it stands for has not come, checked under the mutex: a signal " +
		"that comes before the wait is lost"
	signalFirstFix = "signal the condition variable before waiting at the barrier" + lostSignal
	signalFix      = "signal the condition variable before waiting for a thread that sleeps on it, or for its work" +
		lostSignal
	fulfilFix  = "call omp_fulfill_event for every detached task, also where the operation that it represents fails"
	barrierFix = "hold no lock and be in no critical section while waiting at a barrier: every thread of the team " +
		"must be able to reach it"
)

// cycleFix returns the fix of a cycle: that of the first kind in the table of waits that has one and is part of the
// cycle, else one by the mixture of kinds, else the general fix.
func cycleFix(cycle []picture.CycleStep, general string) string {
	contains := func(is func(picture.WaitTarget) bool) bool {
		return slices.ContainsFunc(cycle, func(s picture.CycleStep) bool { return is(s.WaitsFor) })
	}
	for _, row := range picture.WaitKinds() {
		if row.CycleFix != "" && contains(func(t picture.WaitTarget) bool { return t.Kind == row.Kind }) {
			return row.CycleFix
		}
	}
	barrier := contains(func(t picture.WaitTarget) bool { return t.Kind == picture.WaitBarrier })
	condition := contains(func(t picture.WaitTarget) bool { return t.Kind == picture.WaitCondition })
	lock := contains(func(t picture.WaitTarget) bool { return t.Kind.Exclusive() })
	switch {
	case contains(func(t picture.WaitTarget) bool { return picture.IsInterpreterLock(t.Name) }):
		return interpreterFix
	case contains(func(t picture.WaitTarget) bool { return t.Name == picture.LoaderLock }):
		return loaderFix
	case slices.ContainsFunc(cycle, func(s picture.CycleStep) bool { return s.HeldEvidence == mayFulfil }):
		return fulfilFix
	case contains(isFortranUnit):
		return fortranUnitFix
	case !contains(func(t picture.WaitTarget) bool { return !t.Kind.Exclusive() }):
		return locksFix
	case barrier && condition && !lock:
		return signalFirstFix
	case barrier:
		return barrierFix
	case condition && !lock:
		return signalFix
	}
	return general
}

// isFortranUnit reports whether a wait is for the lock of a Fortran unit.
func isFortranUnit(t picture.WaitTarget) bool {
	return t.Kind == picture.WaitMutex && strings.HasPrefix(t.Name, picture.FortranUnit)
}

// explainLeak adds to a verdict the places at which code leaves a lock without a release. The owner of the lock is
// known, the place where it acquired it is not.
func explainLeak(x *index, v *picture.Verdict) {
	for _, s := range v.Cycle {
		l := x.locks[s.Thread]
		if l == nil || l.Owner == 0 || len(l.Leaks) == 0 {
			continue
		}
		_, perhaps := namedLeaks(l)
		if onlyFailedChecks(l) && !perhaps {
			continue
		}
		v.Explanation = strings.TrimSpace(v.Explanation + leakSentence(l, phrase.Awaited(s.WaitsFor)))
		if perhaps { // it may also have another reason
			return
		}
		const release = "release it on every path out of the code that acquires it"
		if v.Kind == picture.VerdictSelfDeadlock {
			v.Fix = release
		} else {
			v.Fix = release + "; or, if it is meant to be held there, " + v.Fix
		}
		return
	}
}
