package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// addLockNeeds adds the thread that holds a lock or a mutex, or those that may release it.
func (b *graphBuilder) addLockNeeds(w *picture.Wait, x *needs) {
	l := b.locks[w.Thread]
	switch {
	case isUnordered(w, l) && l.Owner == 0 && !l.OwnerEnded:
		x.never = true
	case l != nil && l.InvalidReason != "" && !isUnordered(w, l):
		switch h, known := b.holderOfInvalid(w, l); {
		case !known:
		case h == 0 || h == w.Thread:
			x.never = true
		default:
			x.addEdge(edge{to: node{lwp: h}, certainty: picture.Likely,
				evidence: "it held the lock before " + l.InvalidReason})
		}
	case l == nil || !l.Held:
	case l.OwnerEnded:
		x.never = true
	case l.Owner == w.Thread:
		x.never = true
	case l.Owner != 0:
		x.addEdge(edge{to: node{lwp: l.Owner}, certainty: picture.Certain, evidence: l.Evidence})
	case w.Kind == picture.WaitOrdered:
		b.addTurnNeeds(w, l, x)
	case w.Kind == picture.WaitReadWrite && len(sureHolders(l.Holders)) > 0:
		addReaders(w, l, x)
	default:
		h, ok := oneHolder(l.Holders)
		switch {
		case !ok:
			b.addReleasers(w, l, x)
		case l.HandedOver && b.anyMayHaveAcquired(w, l):
		case h.Thread == w.Thread:
			x.never = true
		default:
			x.addEdge(heldEdge(h))
		}
	}
	if l != nil && l.Held && !l.OwnerEnded && l.InvalidReason == "" {
		b.addHelpers(w, l, x)
	}
}

// heldEdge returns the edge to a thread that holds a lock by its code.
func heldEdge(h picture.Holder) edge {
	return edge{to: node{lwp: h.Thread}, certainty: h.Certainty, evidence: h.Evidence, place: h.AcquiredAt}
}

// addTurnNeeds adds the members of the team that may still receive the turn in an ordered loop, which no thread in the
// loop has: one of them must. Threads that wait for their turn do not receive this one first, as the iterations of a
// thread are in order; if all members wait for theirs, they wait for each other.
func (b *graphBuilder) addTurnNeeds(w *picture.Wait, l *picture.Lock, x *needs) {
	r := b.regions[w.Region]
	if r == nil || len(r.Threads) < r.TeamSize {
		return
	}
	turn := map[int]bool{}
	for _, lwp := range b.waitersFor(w) {
		turn[lwp] = true
	}
	come := slices.DeleteFunc(slices.Clone(r.Threads), func(lwp int) bool { return turn[lwp] })
	if len(come) == 0 {
		come = r.Threads
	}
	b.addOneOf(come, w.Thread, l.Evidence, x)
}

// addOneOf adds threads other than the waiter: one of them must proceed.
func (b *graphBuilder) addOneOf(threads []int, waiter int, evidence string, x *needs) {
	others := &bundle{any: true}
	for _, lwp := range threads {
		if lwp != waiter {
			others.edges = append(others.edges,
				edge{to: node{lwp: lwp}, certainty: picture.Certain, evidence: evidence})
		}
	}
	x.add(others)
}

// addReaders adds the threads that hold a read-write lock for reading: all of them must release it.
func addReaders(w *picture.Wait, l *picture.Lock, x *needs) {
	all := &bundle{}
	for _, h := range sureHolders(l.Holders) {
		if h.Thread == w.Thread {
			x.never = true
			return
		}
		all.edges = append(all.edges, heldEdge(h))
	}
	x.add(all)
}

// addReleasers adds the threads and tasks that may release a lock without a known holder: the threads that may
// hold it, those that may still reach a release in their code, and the tasks that are about to be executed. One of
// them must proceed. Threads that wait for the lock themselves do not matter: they have the same needs.
func (b *graphBuilder) addReleasers(w *picture.Wait, l *picture.Lock, x *needs) {
	may, asked := b.releasers[l]
	if !asked {
		c := l.MayRelease
		if c != nil && !c.Incomplete && !b.facts.TasksTruncated && b.allReallyWait(l, b.waitersFor(w)) {
			may = b.releasersOf(l)
		}
		b.releasers[l] = may
	}
	if may == nil {
		return
	}
	h, ok := b.soleHolder(w, l, may)
	h.Certainty = picture.Likely
	if !h.Presumed {
		h.Evidence += placeAfter(", at ", h.AcquiredAt) + ", and no other thread's code may have it"
	}
	if ok && h.Thread == w.Thread {
		own := *l
		own.Holders = []picture.Holder{h}
		b.locks[w.Thread], x.never, x.verdict = &own, true, picture.Likely
	} else if ok {
		x.addEdge(heldEdge(h))
	} else {
		x.bundles, x.verdict = append(x.bundles, may), picture.Likely
	}
}

// releasersOf returns the bundle of the releasers of a lock, which locks with the same releasers share. It leaves
// out a waiting thread that may hold the lock, but reaches no release any more.
func (b *graphBuilder) releasersOf(l *picture.Lock) *bundle {
	lwps := slices.Clone(l.MayRelease.Threads)
	for _, h := range l.Holders {
		if h.Certainty != picture.Possible || b.waits[h.Thread] == nil {
			lwps = append(lwps, h.Thread)
		}
	}
	slices.Sort(lwps)
	lwps = slices.Compact(lwps)
	key := fmt.Sprint(lwps, l.MayRelease.Tasks)
	if b.shared[key] == nil {
		b.shared[key] = b.newReleasers(lwps, l.MayRelease.Tasks)
	}
	return b.shared[key]
}

// newReleasers returns a bundle of threads and tasks that may release a lock; it may be empty.
func (b *graphBuilder) newReleasers(lwps []int, tasks []picture.ID) *bundle {
	may := &bundle{any: true, may: true}
	add := func(n node, how string) {
		may.edges = append(may.edges, edge{to: n, certainty: picture.Likely, evidence: how})
	}
	for _, lwp := range lwps {
		add(node{lwp: lwp}, "it may still release it")
	}
	for _, id := range tasks {
		add(node{task: id}, "it may still release it")
	}
	started := map[picture.ID]bool{} // regions of tasks that have started on an unknown thread
	for i := range b.pic.Tasks {
		switch t := &b.pic.Tasks[i]; {
		case !t.Pending():
		case b.isStarted(t):
			started[t.Region] = true
		default:
			add(node{task: t.ID}, "it is about to be run")
		}
	}
	for _, region := range slices.Sorted(maps.Keys(started)) {
		for _, lwp := range b.regions[region].Threads {
			if !slices.Contains(lwps, lwp) {
				add(node{lwp: lwp}, "it may execute a task that releases it")
			}
		}
	}
	return may
}

// leftWaiters returns the threads that can never proceed and wait for a lock that was left: some code leaves it without
// a release, no thread may hold it by its code, and no code that is known releases it without acquiring it first.
func (b *graphBuilder) leftWaiters(g *waitGraph) []node {
	var out []node
	for _, lwp := range b.order {
		l, n := b.locks[lwp], node{lwp: lwp}
		if l == nil || !g.stuck[n] || g.doubtful[n] || onlyFailedChecks(l) || len(l.Holders) > 0 ||
			len(l.Releases) > 0 || b.releasers[l] == nil {
			continue
		}
		inTask := func(e edge) bool { return !e.to.isThread() }
		if slices.Equal(g.nodes[n].bundles, []*bundle{b.releasers[l]}) &&
			!slices.ContainsFunc(b.releasers[l].edges, inTask) {
			out = append(out, n)
		}
	}
	return out
}

// isStarted reports whether a task has started on an unknown thread of its team, and no other thread can continue it:
// no member of the team is at a barrier. The thread is unknown where two threads execute children of it, say.
func (b *graphBuilder) isStarted(t *picture.Task) bool {
	return t.State == picture.TaskWaiting && t.Thread == 0 && !t.AwaitsEvent() && !isUntied(t) &&
		b.teamOf(t.Region).members != nil
}

// allReallyWait reports whether all threads that seem to wait for a lock do, so that no thread has just acquired
// it and not left the runtime's code: the lock counts as many waiters, or each thread sleeps.
func (x *index) allReallyWait(l *picture.Lock, lwps []int) bool {
	if l.Waiting != nil {
		return len(lwps) <= *l.Waiting
	}
	return !slices.ContainsFunc(lwps, func(lwp int) bool { return x.waits[lwp] == nil || !x.waits[lwp].Asleep })
}

// soleHolder returns the only thread that may hold a lock. Such a thread acquired it on some paths to its frame
// (under an if, say), or by a call with an unknown lock, and no other thread can hold it. The code of the thread
// may still reach a release. All other threads that may release the lock wait for it. No code leaves the lock
// without a release, except the code that the holder is in now and has not finished.
//
// It is not ok in these cases:
//   - Some code leaves the lock, and a waiter may have executed it.
//   - The holder's code has released the lock, unless its address has changed in memory: then another may hold it.
//   - A waiter is in the very call that may have acquired the lock: more than one thread made that call, and any of
//     them may have left the lock before. That does not hold if the holder is in that call again, for another lock. If
//     the holder's call is unknown, each call that its code makes counts.
//   - The code of a region acquires the lock and may end without a release, and some member of the team is at the end
//     of the region.
//
// None of them counts against the one thread that has the lock by the present values of the variables that its branches
// have read; it may wait for the lock itself. The others that may hold it then wait for the lock, or like that thread
// for their turn in an ordered loop.
func (b *graphBuilder) soleHolder(w *picture.Wait, l *picture.Lock, may *bundle) (picture.Holder, bool) {
	waiters := b.waitersFor(w)
	others := slices.DeleteFunc(slices.Clone(l.Holders), func(h picture.Holder) bool {
		return slices.Contains(waiters, h.Thread)
	})
	if h, ok := b.presumedHolder(l, waiters, may); ok {
		return h, true
	}
	leaks := l.KnownLeaks()
	if len(leaks) == 0 && len(l.Holders) == 1 && len(others) == 0 && len(waiters) == 1 {
		others = l.Holders // it waits for a lock that it holds itself, unless it is in the call that acquired it
	} else if len(leaks) > 0 && len(others) < len(l.Holders) {
		return picture.Holder{}, false
	}
	if len(others) != 1 || !slices.Contains(l.MayRelease.Threads, others[0].Thread) {
		return picture.Holder{}, false
	}
	h := others[0]
	if h.Released || b.mayBeLeftAtEnd(h, w.Region) {
		return picture.Holder{}, false
	}
	passed := func(at picture.Leak) bool {
		return h.AcquiredAt == nil || at.Frame.Function != h.AcquiredAt.Function || at.Frame.File != h.AcquiredAt.File
	}
	another := len(leaks) == 0 && !slices.Contains(waiters, h.Thread) && b.inCall(h.Thread, h.AcquiredAt)
	if slices.ContainsFunc(leaks, passed) || !another && b.madeByWaiter(h, l, waiters) {
		return picture.Holder{}, false
	}
	for _, e := range may.edges {
		if !e.to.isThread() || e.to.lwp != h.Thread && !slices.Contains(waiters, e.to.lwp) {
			return picture.Holder{}, false
		}
	}
	return h, true
}

// presumedHolder returns the one thread that has a lock by the present values of the variables that its branches have
// read. All other threads that may release the lock wait for it, or for their turn in an ordered loop as that one does.
func (b *graphBuilder) presumedHolder(l *picture.Lock, waiters []int, may *bundle) (picture.Holder, bool) {
	presumed := slices.DeleteFunc(slices.Clone(l.Holders), func(h picture.Holder) bool { return !h.Presumed })
	if len(presumed) != 1 || !slices.Contains(l.MayRelease.Threads, presumed[0].Thread) {
		return picture.Holder{}, false
	}
	h := presumed[0]
	own := b.waits[h.Thread]
	together := func(e edge) bool {
		w := b.waits[e.to.lwp]
		return e.to.isThread() && (e.to.lwp == h.Thread || slices.Contains(waiters, e.to.lwp) ||
			w != nil && own != nil && w.Kind == picture.WaitOrdered && keyOf(w) == keyOf(own))
	}
	return h, allOf(may.edges, together)
}

// inCall reports whether a frame of a thread is in a call, or in a copy of it: a compiler that unrolls a loop makes
// several calls of one.
func (x *index) inCall(lwp int, call *picture.Frame) bool {
	return call != nil && call.PC != nil && slices.ContainsFunc(x.frames(lwp), func(f picture.Frame) bool {
		same := f.PC != nil && *f.PC == *call.PC
		again := f.Line != 0 && f.Line == call.Line && f.File == call.File && f.Function == call.Function
		return f.Module == call.Module && (same || again)
	})
}

// madeByWaiter reports whether a waiter is in the very call by which h may have acquired a lock. If that call is
// unknown, any call that the code of h makes counts, and so does a waiter that may have acquired the lock by the same
// calls of the same code.
func (b *graphBuilder) madeByWaiter(h picture.Holder, l *picture.Lock, waiters []int) bool {
	if h.AcquiredAt != nil {
		return slices.ContainsFunc(waiters, func(lwp int) bool { return b.inCall(lwp, h.AcquiredAt) })
	}
	if slices.ContainsFunc(waiters, func(lwp int) bool { return b.sameCode(h.Thread, lwp) }) {
		return true
	}
	return slices.ContainsFunc(l.Holders, func(o picture.Holder) bool {
		switch {
		case o.Thread == h.Thread || !slices.Contains(waiters, o.Thread):
			return false
		case o.AcquiredAt == nil:
			return o.Evidence == h.Evidence // it names the function
		}
		return b.inCall(o.Thread, o.AcquiredAt) && slices.ContainsFunc(b.frames(h.Thread), func(f picture.Frame) bool {
			return f.Function != "" && f.Function == o.AcquiredAt.Function && f.Module == o.AcquiredAt.Module
		})
	})
}

// sameCode reports whether a thread waits in a function of the program that another one is in, too, within the region
// or task that it executes.
func (b *graphBuilder) sameCode(one, waiter int) bool {
	waits := b.ownFrames(waiter)
	return len(waits) > 0 && slices.ContainsFunc(b.ownFrames(one), func(f picture.Frame) bool {
		return f.Function == waits[0].Function && f.Module == waits[0].Module
	})
}

// ownFrames returns the program's frames of a thread up to the function of its region or task.
func (b *graphBuilder) ownFrames(lwp int) []picture.Frame {
	var own []picture.Frame
	for _, f := range b.frames(lwp) {
		if f.LWP != 0 && f.LWP != lwp {
			break
		}
		if f.Kind == picture.FrameUser && f.Function != "" {
			own = append(own, f)
		}
		if f.Construct != "" {
			break
		}
	}
	return own
}

// mayBeLeftAtEnd reports whether a thread at the end of a region may have left the lock that h may hold: the region's
// code acquires it, and may end without a release.
func (x *index) mayBeLeftAtEnd(h picture.Holder, region picture.ID) bool {
	return h.AcquiredAt != nil && h.AcquiredAt.Construct == "parallel" && !h.ReleasedOnReturn &&
		anyAtEnd(x.facts.Waits, region)
}

// anyAtEnd reports whether a thread waits at the end of a region.
func anyAtEnd(waits []picture.Wait, region picture.ID) bool {
	return slices.ContainsFunc(waits, func(w picture.Wait) bool {
		return w.EndOfRegion && w.Region == region
	})
}

// addHelpers adds the threads and tasks that may release the lock that w waits for and have not acquired it, other than
// the holder that x needs.
func (b *graphBuilder) addHelpers(w *picture.Wait, l *picture.Lock, x *needs) {
	if len(l.Releases) == 0 || !x.never && len(x.bundles) == 0 ||
		slices.ContainsFunc(x.bundles, func(b *bundle) bool { return b.may }) { // they are among the releasers
		return
	}
	h := helpers{known: &bundle{any: true, help: true}}
	held := func(lwp int) bool {
		return slices.ContainsFunc(x.bundles, func(of *bundle) bool {
			return slices.ContainsFunc(of.edges, func(e edge) bool { return e.to == node{lwp: lwp} })
		})
	}
	for _, r := range l.Releases {
		to := node{lwp: r.Thread, task: r.Task}
		switch {
		case to.isThread() && (r.Thread == w.Thread || held(r.Thread)):
		case r.Certainty == picture.Possible:
			h.perhaps = append(h.perhaps, to)
		default:
			h.known.edges = append(h.known.edges, edge{to: to, certainty: picture.Likely, place: r.Frame, help: true,
				evidence: "it may release it" + placeAfter(" in ", r.Frame) + ", though it has not acquired it"})
		}
	}
	x.helpers = h
}

// mayHaveAcquired reports whether a thread that seems to wait for a lock may have just received it, and not left the
// runtime's code.
func (x *index) mayHaveAcquired(w *picture.Wait, l *picture.Lock) bool {
	switch {
	case l.Implementation == "spin":
		return true
	case w.Kind != picture.WaitLock && w.Kind != picture.WaitNestLock:
		return false
	case len(l.Waiters) > 0:
		return !slices.Contains(l.Waiters, w.Thread)
	case l.Waiting != nil:
		return *l.Waiting < len(x.waitersFor(w))
	}
	return l.Implementation == "futex" && !w.Asleep
}

// anyMayHaveAcquired reports whether a thread in a call that acquires a lock may hold it, so that a thread that holds
// the lock by its code has released it.
func (x *index) anyMayHaveAcquired(w *picture.Wait, l *picture.Lock) bool {
	return len(l.Acquiring) > 0 || slices.ContainsFunc(x.waitersFor(w), func(lwp int) bool {
		o := x.locks[lwp]
		return o != nil && o.ID == l.ID && x.mayHaveAcquired(x.waits[lwp], l)
	})
}
