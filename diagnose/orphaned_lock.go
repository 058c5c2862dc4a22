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

// orphans draws the verdicts on locks that no thread will release: their owner has ended, or no code that may still be
// executed releases them.
type orphans struct {
	*dependencies
	covered *covered
}

// orphan is a lock that no thread will release, or several that were left in the same way.
type orphan struct {
	waits   []*picture.Wait // of one thread for each lock
	locks   []*picture.Lock
	targets []picture.WaitTarget
	threads []int // all that wait
}

// find returns one verdict for each group of orphaned locks, and covers the threads that wait for them.
func (d *orphans) find() []picture.Verdict {
	var gone, left []*orphan
	seen := map[waitKey]bool{}
	unreleased := d.unreleased()
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || !l.Held || l.InvalidReason != "" || seen[keyOf(w)] {
			continue
		}
		o := &orphan{
			waits: []*picture.Wait{w}, locks: []*picture.Lock{l}, targets: []picture.WaitTarget{d.waitTarget(w)},
			threads: slices.Clone(d.waitersFor(w)),
		}
		switch {
		case l.OwnerEnded:
			gone = append(gone, o)
		case unreleased[lwp]:
			left = addOrphan(left, o)
		default:
			continue
		}
		seen[keyOf(w)] = true
	}
	var out []picture.Verdict
	for _, o := range gone {
		if v, ok := d.explainHeldByParent(o); ok {
			out = append(out, v)
			continue
		}
		out = append(out, d.explainEndedOwner(o))
	}
	shown := slices.ContainsFunc(left, func(o *orphan) bool { return !onlyFailedChecks(o.locks[0]) })
	for _, o := range left {
		if threads, evidence, ok := d.entangled(o); ok && !shown {
			out = append(out, d.explainEntangled(o, threads, evidence))
		} else if holders := d.heldByWaiters(o); len(holders) > 0 && !shown {
			out = append(out, d.explainHeldByWaiter(o, holders))
		} else if v, ok := d.explainHeldByParent(o); ok {
			out = append(out, v)
		} else {
			out = append(out, d.explainLeft(o))
		}
	}
	return out
}

// addOrphan adds an orphan to a list, or its locks to an orphan of the same kind that was left at the same places.
func addOrphan(list []*orphan, o *orphan) []*orphan {
	i := slices.IndexFunc(list, func(p *orphan) bool {
		return p.targets[0].Kind == o.targets[0].Kind && leakPlaces(p.locks[0]) == leakPlaces(o.locks[0])
	})
	if i < 0 {
		return append(list, o)
	}
	list[i].waits = append(list[i].waits, o.waits...)
	list[i].locks = append(list[i].locks, o.locks...)
	list[i].targets = append(list[i].targets, o.targets...)
	list[i].threads = append(list[i].threads, o.threads...)
	return list
}

// unreleased returns the threads that wait for a lock that no releaser will release, even if all threads did
// proceed that other verdicts explain. A releaser may also sleep until another thread comes to a barrier of the C
// library, or, if the code shows where the lock was left, until another thread wakes it: while the threads that
// wait for the lock do not, no thread will. Such sleepers are covered.
func (d *orphans) unreleased() map[int]bool {
	explained := func(n node) bool {
		return d.covered.threads[n.lwp] || d.nodes[n].never && !(n.isThread() && d.isHelped(n.lwp))
	}
	awaitsRelease := func(stuck map[node]bool, lwp int) bool {
		return stuck[node{lwp: lwp}] && slices.ContainsFunc(d.nodes[node{lwp: lwp}].bundles, func(b *bundle) bool {
			return b.may
		})
	}
	out := map[int]bool{}
	stuck := d.fixpoint(nil, explained, knownHelp)
	for _, lwp := range d.order {
		if d.left[node{lwp: lwp}] || awaitsRelease(stuck, lwp) {
			out[lwp] = true
		}
	}
	meeting, asleep := unwokenSleepers(d.dependencies)
	for _, sleeping := range [][]node{meeting, asleep} {
		stuck := d.fixpoint(setOf(sleeping), explained, knownHelp)
		for _, lwp := range d.order {
			l := d.locks[lwp]
			if out[lwp] || !awaitsRelease(stuck, lwp) || len(sleeping) > len(meeting) && len(l.KnownLeaks()) == 0 {
				continue
			}
			out[lwp] = true
			for _, n := range sleeping {
				d.covered.sleepers[n.lwp] = true
			}
		}
	}
	if len(d.covered.sleepers) > 0 {
		d.markStuck(picture.Likely, slices.Sorted(maps.Keys(d.covered.sleepers)))
	}
	return out
}

// unwokenSleepers returns the sleepers that no thread wakes, as long as the threads that cannot proceed without
// them do not either: those at barriers of the C library, and all. It returns nil if one of them may be woken.
func unwokenSleepers(d *dependencies) (meeting, all []node) {
	s := findSleepers(d)
	for _, n := range s.nodes {
		w := d.waits[n.lwp]
		if !s.known || !s.isNeverWoken(w) {
			return nil, nil
		}
		if w.Kind == picture.WaitThreads {
			meeting = append(meeting, n)
		}
	}
	return meeting, s.nodes
}

// explainEndedOwner returns the verdict on a lock with an owner that has ended.
func (d *orphans) explainEndedOwner(o *orphan) picture.Verdict {
	v := d.newVerdict(o, picture.Certain)
	v.Explanation = fmt.Sprintf("The thread that acquired %s ended without releasing it, and no other thread can.",
		phrase.Awaited(o.targets[0]))
	v.Evidence = []string{o.locks[0].Evidence}
	if o.waits[0].Kind != picture.WaitMutex {
		v.Evidence = append(v.Evidence, "the runtime has no thread with that number")
	}
	return v
}

// copiedLock describes memory that looks like a lock that was left.
const copiedLock = "a copy of a lock that was set (in a vector that grew, say)"

// explainLeft returns the verdict on locks that were left without a release.
func (d *orphans) explainLeft(o *orphan) picture.Verdict {
	v := d.newVerdict(o, d.certaintyOfAny(o.threads))
	v.Explanation = fmt.Sprintf("Some thread acquired %s earlier, and left the code that acquires it without "+
		"releasing it%s.", phrase.Awaited(o.targets[0]), leakPlaces(o.locks[0]))
	if n := len(o.targets); n > 1 {
		v.Explanation = fmt.Sprintf("Threads acquired these %d earlier, and left the code that acquires them "+
			"without releasing them%s.", n, leakPlaces(o.locks[0]))
	}
	if leftByException(o.locks[0]) {
		v.Fix += ": a guard object, as a std::lock_guard, releases it also if an exception leaves the code"
	}
	others := slices.DeleteFunc(slices.Clone(o.locks[0].MayRelease.Threads), func(lwp int) bool {
		return slices.Contains(o.threads, lwp)
	})
	switch {
	case d.mayBeHeldByFiber(o):
		d.explainFiber(&v, o)
	case len(o.locks[0].KnownLeaks()) > 0 && !anyMayHold(o.locks[0], others):
	case len(others) > 0:
		d.explainOthers(&v, o, others)
	case o.targets[0].Kind == picture.WaitLock && o.locks[0].Implementation == "futex":
		where := "where"
		if len(o.locks[0].Holders) > 0 {
			where = "on which path"
		}
		says := " The code does not show " + where
		if len(o.locks[0].Leaks) > 0 {
			says = " The code shows no other way out"
		}
		v.Explanation += says + "; memory that was never initialized as a lock looks the same, and so does " +
			copiedLock + ", or a lock of GNU's runtime that was destroyed while others waited."
		v.Fix += ", and initialize each lock (omp_init_lock) before its first use, at the address that it keeps"
	}
	released := func(h picture.Holder) bool { return h.Released }
	if len(others) > 0 && allOf(o.locks[0].Holders, released) && o.locks[0].Implementation == "futex" {
		v.Explanation += " Memory that is " + copiedLock + " looks the same."
	}
	why := "no code that a thread may still reach releases it, except after acquiring it"
	if len(others) > 0 && !d.left[node{lwp: o.threads[0]}] {
		why = "each thread whose code may still reach a release waits for what none of them will release"
	}
	if o.locks[0].Evidence != "" { // a futex that no runtime knows has no evidence of its own
		v.Evidence = append(v.Evidence, o.locks[0].Evidence)
	}
	v.Evidence = append(v.Evidence, d.holdersEvidence(o), why)
	return v
}

// mayBeHeldByFiber reports whether a fiber that no thread executes may hold a lock: the program has fibers, and no code
// that was read leaves the lock.
func (d *orphans) mayBeHeldByFiber(o *orphan) bool {
	return d.pic.Facts.Fibers != nil && len(o.locks[0].Holders) == 0 && len(o.locks[0].KnownLeaks()) == 0
}

// explainFiber explains locks that a fiber may hold: the threads that could continue it wait.
func (d *orphans) explainFiber(v *picture.Verdict, o *orphan) {
	fibers, lock := d.pic.Facts.Fibers, phrase.Awaited(o.targets[0])
	if len(o.targets) > 1 {
		lock = "these locks"
	}
	v.Explanation = fmt.Sprintf("No thread is in code that holds %s. A suspended fiber (coroutine) may hold it, which "+
		"no thread can continue: ", lock)
	if why := fibers.RunByThreads(); why != "" {
		v.Explanation += why + "."
	} else {
		v.Explanation += "the program is linked with " + fibers.Switch + ", and the frames of suspended fibers are " +
			"not seen."
	}
	v.Explanation += " Otherwise a thread left the code that acquires it without releasing it."
	v.Fix = "let no fiber keep a lock while it is suspended (" + cmp.Or(fibers.Switch, "a switch to another stack") +
		"): a thread that waits for the lock cannot continue it; release the lock before, on every path"
}

// explainOthers explains the waits of the threads that may still release a lock, by their code. One of them may
// hold it: the frame that acquired it is gone if it ended in a tail call.
func (d *orphans) explainOthers(v *picture.Verdict, o *orphan, others []int) {
	v.Explanation = fmt.Sprintf("By the code of all threads, only these may still release %s, and none of them can "+
		"proceed before that: %s.", phrase.Awaited(o.targets[0]), d.waitsText(others, ", which waits for "))
	v.Fix = "acquire locks in the same order everywhere, hold none while waiting for others, and release each on " +
		"every path out of the code that acquires it"
	if goes := leakSentence(o.locks[0], phrase.Awaited(o.targets[0])); goes != "" {
		v.Explanation = strings.TrimSpace(goes) + " " + v.Explanation
		v.Fix = "release the lock on every path out of the code that acquires it; also acquire locks in the same " +
			"order everywhere, and hold none while waiting for others"
	}
}

// anyMayHold reports whether one of some threads may hold a lock by its code.
func anyMayHold(l *picture.Lock, lwps []int) bool {
	return slices.ContainsFunc(l.Holders, func(h picture.Holder) bool { return slices.Contains(lwps, h.Thread) })
}

// newVerdict returns the common part of the verdicts on orphaned locks, and covers the threads that wait.
func (d *orphans) newVerdict(o *orphan, c picture.Certainty) picture.Verdict {
	v := newVerdict(picture.VerdictLockOrphaned, c)
	v.Threads = o.threads
	v.Summary = fmt.Sprintf("%s for %s, which nobody will release", d.threadsWait(o.threads), firstTargets(o.targets))
	for _, lwp := range o.threads {
		d.covered.threads[lwp] = true
	}
	d.addBlocked(&v)
	for _, lwp := range d.order {
		if d.covered.sleepers[lwp] && !slices.Contains(v.Waiting, lwp) && !d.isOfOtherLibrary(lwp, v.Threads) {
			v.Waiting = append(v.Waiting, lwp)
		}
	}
	slices.Sort(v.Waiting)
	return v
}

// holdersEvidence names the threads that hold an orphaned lock by their code, or may.
func (d *orphans) holdersEvidence(o *orphan) string {
	l := o.locks[0]
	switch {
	case len(l.Holders) == 0 && l.MayRelease != nil && len(l.MayRelease.Threads) > 0: // their code may be unknown
		return "no frame is known to be between a call that acquires it and one that releases it"
	case len(l.Holders) == 0:
		return "no frame of any thread is between a call that acquires it and one that releases it"
	}
	goes := func(h picture.Holder) bool { // it may continue, but reaches no release any more
		return !slices.Contains(o.threads, h.Thread) && !slices.Contains(l.MayRelease.Threads, h.Thread)
	}
	some := l.MayRelease != nil && slices.ContainsFunc(l.Holders, goes)
	first := l.Holders[0]
	one := fmt.Sprintf("%s: %s", d.threadName(first.Thread), first.Evidence)
	if at := first.AcquiredAt; at != nil && at.Line != 0 {
		one += " (" + at.Place() + ")"
	}
	switch many := threadCount(len(l.Holders)); {
	case len(l.Holders) == 1 && some:
		return "one thread may hold it, from earlier in the same code, and comes to no release any more; " + one
	case len(l.Holders) == 1:
		return "one thread may hold it, from earlier in the same code, and cannot go on before it is released; " + one
	case some:
		return many + " may hold it, from earlier in the same code, and each of them waits for it or comes to no " +
			"release any more; " + one
	default:
		return many + " may hold it, from earlier in the same code, and none of them can go on before it is " +
			"released, whichever does; " + one
	}
}

// entangled finds threads that wait for each other's locks. By the code, each of the locks may be held by a thread
// that waits for another of them, and no code leaves one: they are acquired in a loop, say, by addresses that the
// frames do not keep. A lock that was left would need a second mistake. It is not ok if no thread may hold some
// lock.
func (d *orphans) entangled(o *orphan) (threads []int, evidence []string, ok bool) {
	threads = slices.Clone(o.threads)
	for i, l := range o.locks {
		waiters := d.waitersFor(o.waits[i])
		others := slices.DeleteFunc(slices.Clone(l.Holders), func(h picture.Holder) bool {
			return slices.Contains(waiters, h.Thread) || h.Released || d.locks[h.Thread] == nil ||
				!d.waits[h.Thread].Kind.Exclusive()
		})
		if len(others) == 0 || !onlyFailedChecks(l) {
			return nil, nil, false
		}
		var lwps []int
		for _, h := range others {
			lwps = append(lwps, h.Thread)
		}
		threads = append(threads, lwps...)
		evidence = append(evidence, fmt.Sprintf("%s may be held by %s: %s", phrase.Awaited(o.targets[i]),
			d.oneOf(lwps), others[0].Evidence))
	}
	slices.Sort(threads)
	return slices.Compact(threads), evidence[:min(len(evidence), maxNamed)], true
}

// soleHolders describes, for each lock that such threads wait for, its waiting thread and its only possible holder. It
// is not ok if a lock has several possible holders, or if one of them waits for a lock that is not in o: the pairs
// would not say why that one cannot go on. Each lock is held, so that the only possible holder holds it.
func (d *orphans) soleHolders(o *orphan) (pairs []string, ok bool) {
	for i, l := range o.locks {
		waiters := d.waitersFor(o.waits[i])
		if len(l.Holders) != 1 || len(waiters) == 0 {
			return nil, false
		}
		h := l.Holders[0]
		if slices.Contains(waiters, h.Thread) || !slices.Contains(o.threads, h.Thread) {
			return nil, false
		}
		text := fmt.Sprintf("%s waits for %s", d.threadName(waiters[0]), phrase.Awaited(o.targets[i]))
		if f, ok := innermostWithLine(d.frames(waiters[0])); ok {
			text += " at " + f.Place()
		}
		text += ", which only " + d.threadName(h.Thread) + " may hold"
		if at := h.AcquiredAt; at != nil && at.Line != 0 {
			text += ", since " + at.Place()
		}
		pairs = append(pairs, text)
	}
	return pairs, true
}

// explainEntangled returns the verdict on such threads.
func (d *orphans) explainEntangled(o *orphan, threads []int, evidence []string) picture.Verdict {
	pairs, known := d.soleHolders(o)
	o.threads = threads
	v := d.newVerdict(o, picture.Likely)
	v.Kind = picture.VerdictDeadlock
	v.Summary = fmt.Sprintf("%d threads wait for each other and can never proceed", len(threads))
	v.Explanation = d.waitsText(threads, " waits for ") + ". Each of these locks is held. By the code, only " +
		"threads that wait for another of them can hold it; which thread holds which lock is not known."
	v.Fix = locksFix + "; also release them on every path out of the code that acquires them"
	if known {
		v.Fix = locksFix
		v.Explanation = phrase.Clauses(pairs, maxNamed, len(pairs)) + ". By the code of all threads, no other " +
			"thread may hold these locks."
		evidence = nil
	}
	v.Evidence = append(evidence, "all threads whose code may still release these locks wait for others of them")
	return v
}

// heldByWaiters returns the threads that may hold an orphaned lock if each of them waits for it, in another call than
// the one by which it may have acquired it, and no other thread may release the lock. A lock that was left would need
// a path out of the code that acquires it, and no such path is known. It returns nil if any thread may hold the lock
// in another way, or if that code may return without a release: any thread may have left the lock there.
func (d *orphans) heldByWaiters(o *orphan) []picture.Holder {
	l := o.locks[0]
	if len(o.locks) > 1 || !o.waits[0].Kind.Exclusive() || !onlyFailedChecks(l) || len(l.Holders) == 0 {
		return nil
	}
	waits := func(lwp int) bool { return slices.Contains(o.threads, lwp) }
	if !allOf(l.MayRelease.Threads, waits) || !allOf(l.Holders, func(h picture.Holder) bool {
		return waits(h.Thread) && d.lineAfterAcquisition(h) != 0 && !d.inCall(h.Thread, h.AcquiredAt) &&
			h.ReleasedOnReturn
	}) {
		return nil
	}
	return l.Holders
}

// lineAfterAcquisition returns the line to which a holder has come in the function in which it acquired a lock; 0 if
// the stack does not show it.
func (d *orphans) lineAfterAcquisition(h picture.Holder) int {
	at := h.AcquiredAt
	if at == nil || at.Line == 0 {
		return 0
	}
	fs := d.frames(h.Thread)
	i := slices.IndexFunc(fs, func(f picture.Frame) bool {
		return f.Function == at.Function && f.File == at.File && f.Line != at.Line
	})
	if i < 0 {
		return 0
	}
	return fs[i].Line
}

// isAcrossTasks reports whether a possible holder acquired the lock in the code of a region, and executes an explicit
// task now.
func (d *orphans) isAcrossTasks(h picture.Holder) bool {
	t := d.threads[h.Thread]
	if t == nil || h.AcquiredAt == nil || h.AcquiredAt.Construct != "parallel" {
		return false
	}
	k := d.tasks[t.Task]
	return k != nil && k.Kind == picture.TaskExplicit
}

func allOf[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(e T) bool { return !is(e) })
}

// explainHeldByWaiter returns the verdict on a lock that one of its waiters holds, and which of them is not known.
func (d *orphans) explainHeldByWaiter(o *orphan, holders []picture.Holder) picture.Verdict {
	v := d.newVerdict(o, picture.Likely)
	v.Kind = picture.VerdictSelfDeadlock
	lock := phrase.Awaited(o.targets[0])
	var lwps []int
	for _, h := range holders {
		lwps = append(lwps, h.Thread)
	}
	slices.Sort(lwps)
	how := fmt.Sprintf("acquired %s in %s and waits for it again at line %d.", lock, place(*holders[0].AcquiredAt),
		d.lineAfterAcquisition(holders[0]))
	v.Summary = fmt.Sprintf("%s for %s, which one of them holds itself", d.threadsWait(o.threads), lock)
	name := o.targets[0].Name
	element, across := name == "" || strings.Contains(name, "["), allOf(holders, d.isAcrossTasks)
	which := "The code does not show which of them."
	if element {
		which = "Each of them may have: two indices of an array of locks, say, may select the same lock."
	}
	v.Explanation = fmt.Sprintf("One of LWP %s %s %s", phrase.Ranges(lwps, maxNamed), how, which)
	if len(lwps) == 1 {
		v.Explanation = fmt.Sprintf("%s %s", d.threadName(lwps[0]), how)
	}
	again := o.waits[0].Kind.Traits().AgainFix
	v.Fix = cmp.Or(again, locksFix)
	switch {
	case across:
		v.Fix = "release it before the thread executes other tasks, which acquire it: before a taskwait, the end of " +
			"a taskgroup, a barrier" + ofAnotherTask
	case o.waits[0].Kind == picture.WaitLock && element:
		v.Fix = "acquire the second lock only if it is another one than the first, and locks of an array in the " +
			"order of their indices; or " + again
	}
	if l := o.locks[0]; l.Evidence != "" {
		v.Evidence = append(v.Evidence, l.Evidence)
	}
	v.Evidence = append(v.Evidence, d.holdersEvidence(o),
		"no code that a thread may still reach releases it, except after acquiring it")
	return v
}
