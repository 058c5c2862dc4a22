package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// releaserNeeds adds those who may release a lock of which no holder is known: the threads
// that may hold it, those whose code may still come to a release, and the tasks that are
// about to be run. One of them must proceed. Of those who wait for the lock themselves it
// does not matter: they need the same.
func (b *builder) releaserNeeds(w *picture.Wait, l *picture.Lock, x *needs) {
	may, asked := b.free[l]
	if !asked {
		if c := l.MayRelease; c != nil && !c.Incomplete && !b.facts.TasksTruncated && b.allWait(l, b.sameTarget(w)) {
			may = b.releasersOf(l)
		}
		b.free[l] = may
	}
	if may == nil {
		return
	}
	h, ok := b.soleHolder(w, l, may)
	h.Certainty, h.Evidence = picture.Likely, h.Evidence+", and no other thread's code may have it"
	if ok && h.Thread == w.Thread {
		own := *l
		own.Holders = []picture.Holder{h}
		b.locks[w.Thread], x.never, x.verdict = &own, true, picture.Likely
	} else if ok {
		x.one(heldBy(h))
	} else {
		x.bundles, x.verdict = append(x.bundles, may), picture.Likely
	}
}

// releasersOf is the bundle of those who may release a lock, which locks with the same share. Of one who waits,
// and may have it, but whose code comes to no release any more, it does not matter what lets it proceed.
func (b *builder) releasersOf(l *picture.Lock) *bundle {
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
		b.shared[key] = b.releasers(lwps, l.MayRelease.Tasks)
	}
	return b.shared[key]
}

// releasers is the bundle of those who may release something; it may be empty.
func (b *builder) releasers(lwps []int, tasks []picture.ID) *bundle {
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
	for i := range b.pic.Tasks {
		if t := &b.pic.Tasks[i]; t.Pending() {
			add(node{task: t.ID}, "it is about to be run")
		}
	}
	return may
}

// allWait reports whether all threads that seem to wait for a lock do, and none of them has
// just acquired it and not left the runtime's code: the lock counts as many, or each sleeps.
func (x *index) allWait(l *picture.Lock, lwps []int) bool {
	if l.Waiting != nil {
		return len(lwps) <= *l.Waiting
	}
	return !slices.ContainsFunc(lwps, func(lwp int) bool { return x.waits[lwp] == nil || !x.waits[lwp].Asleep })
}

// orphan is what nobody will release: one lock, or several that were left in the same way.
type orphan struct {
	waits   []*picture.Wait // of one thread each
	locks   []*picture.Lock
	targets []picture.WaitTarget
	threads []int
}

// orphans finds locks that nobody will release: whose owner is no thread any more, or that
// no code which may still run gives back.
func orphans(d *drawer) []picture.Verdict {
	var gone, left []*orphan
	seen := map[target]bool{}
	nobody := d.nobodyReleases()
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || !l.Held || l.InvalidReason != "" || seen[targetOf(w)] {
			continue
		}
		o := &orphan{
			waits: []*picture.Wait{w}, locks: []*picture.Lock{l}, targets: []picture.WaitTarget{d.target(w)},
			threads: slices.Clone(d.sameTarget(w)),
		}
		switch {
		case l.OwnerEnded:
			gone = append(gone, o)
		case nobody[lwp]:
			left = joined(left, o)
		default:
			continue
		}
		seen[targetOf(w)] = true
	}
	var out []picture.Verdict
	for _, o := range gone {
		out = append(out, o.ownerGone(d))
	}
	shown := slices.ContainsFunc(left, func(o *orphan) bool { return leftAt(o.locks[0]) != "" })
	for _, o := range left {
		if threads, evidence, ok := o.entangled(d); ok && !shown {
			out = append(out, o.entanglement(d, threads, evidence))
		} else {
			out = append(out, o.leftBehind(d))
		}
	}
	return out
}

// joined adds what nobody will release to a list: to one of its kind that was left at the
// same places, if there is one.
func joined(list []*orphan, o *orphan) []*orphan {
	i := slices.IndexFunc(list, func(p *orphan) bool {
		return p.targets[0].Kind == o.targets[0].Kind && leftAt(p.locks[0]) == leftAt(o.locks[0])
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

// nobodyReleases finds the threads that wait for a lock which nobody will release, by its
// releasers, even if all that other verdicts say never proceed did. One of the releasers may sleep
// until another thread comes to a barrier of the C library, or, if the code shows where the lock is
// left, until another thread does anything: while those who wait for the lock do not, nobody will.
func (d *drawer) nobodyReleases() map[int]bool {
	told := func(n node) bool {
		return d.reported[n.lwp] || d.nodes[n].never && !(n.isThread() && d.helped(n.lwp))
	}
	waits := func(stuck map[node]bool, lwp int) bool {
		return stuck[node{lwp: lwp}] && slices.ContainsFunc(d.nodes[node{lwp: lwp}].bundles, func(b *bundle) bool {
			return b.may
		})
	}
	out := map[int]bool{}
	stuck := d.fixpoint(nil, told, knownHelp)
	for _, lwp := range d.order {
		if waits(stuck, lwp) {
			out[lwp] = true
		}
	}
	meeting, asleep := unwoken(d)
	for _, sleeping := range [][]node{meeting, asleep} {
		stuck := d.fixpoint(setOf(sleeping), told, knownHelp)
		for _, lwp := range d.order {
			l := d.locks[lwp]
			if out[lwp] || !waits(stuck, lwp) || len(sleeping) > len(meeting) && len(l.Leaks) == 0 {
				continue
			}
			out[lwp] = true
			for _, n := range sleeping {
				d.behind[n.lwp] = true
			}
		}
	}
	if len(d.behind) > 0 {
		d.never(picture.Likely, slices.Sorted(maps.Keys(d.behind)))
	}
	return out
}

func setOf(nodes []node) map[node]bool {
	out := map[node]bool{}
	for _, n := range nodes {
		out[n] = true
	}
	return out
}

// unwoken are the sleepers that nobody wakes, as long as those who cannot proceed without them do
// not either: those at barriers of the C library, and all. There are none if one may be woken.
func unwoken(d *drawer) (meeting, all []node) {
	asleep, after, ok := sleepers(d)
	for _, n := range asleep {
		w := d.waits[n.lwp]
		if !ok || !d.nobodyWakes(w, after) {
			return nil, nil
		}
		if w.Kind == picture.WaitThreads {
			meeting = append(meeting, n)
		}
	}
	return meeting, asleep
}

// ownerGone is the verdict on a lock whose owner is no thread any more.
func (o *orphan) ownerGone(d *drawer) picture.Verdict {
	v := o.verdict(d, picture.Certain)
	v.Explanation = fmt.Sprintf("The thread that acquired %s ended without releasing it, and no other thread can.",
		phrase.Awaited(o.targets[0]))
	v.Evidence = []string{o.locks[0].Evidence}
	if o.waits[0].Kind != picture.WaitMutex {
		v.Evidence = append(v.Evidence, "the runtime has no thread with that number")
	}
	return v
}

// leftBehind is the verdict on locks that were left without a release.
func (o *orphan) leftBehind(d *drawer) picture.Verdict {
	v := o.verdict(d, d.certaintyOf(o.threads))
	v.Explanation = fmt.Sprintf("Some thread acquired %s earlier, and left the code that acquires it without "+
		"releasing it%s.", phrase.Awaited(o.targets[0]), leftAt(o.locks[0]))
	if n := len(o.targets); n > 1 {
		v.Explanation = fmt.Sprintf("Threads acquired these %d earlier, and left the code that acquires them "+
			"without releasing them%s.", n, leftAt(o.locks[0]))
	}
	others := slices.DeleteFunc(slices.Clone(o.locks[0].MayRelease.Threads), func(lwp int) bool {
		return slices.Contains(o.threads, lwp)
	})
	switch {
	case leftAt(o.locks[0]) != "" && !mayHold(o.locks[0], others):
	case len(others) > 0:
		o.tellOthers(d, &v, others)
	case o.targets[0].Kind == picture.WaitLock && o.locks[0].Implementation == "futex":
		where := "where"
		if len(o.locks[0].Holders) > 0 {
			where = "on which path"
		}
		v.Explanation += " The code does not show " + where + "; memory that was never initialized as a lock looks " +
			"the same, and so does a lock of GNU's runtime that was destroyed while others waited."
		v.Fix += ", and initialize each lock (omp_init_lock) before its first use"
	}
	why := "no code that a thread may still reach releases it, except after acquiring it"
	if len(others) > 0 {
		why = "each thread whose code may still reach a release waits for what none of them will release"
	}
	if o.locks[0].Evidence != "" { // a futex of which no runtime knows has none of its own
		v.Evidence = append(v.Evidence, o.locks[0].Evidence)
	}
	v.Evidence = append(v.Evidence, o.shownToHold(), why)
	return v
}

// tellOthers says of the threads whose code may still release a lock what they wait for. One of
// them may hold it: the frame that acquired it is gone if it ended in a tail call.
func (o *orphan) tellOthers(d *drawer, v *picture.Verdict, others []int) {
	var who []string
	for _, lwp := range others[:min(len(others), maxNamed)] {
		text := d.who(lwp)
		if w := d.waits[lwp]; w != nil {
			text += ", which waits for " + phrase.Awaited(d.target(w))
		}
		who = append(who, text)
	}
	v.Explanation = fmt.Sprintf("By the code of all threads, only these may still release %s, and none of them can "+
		"proceed before that: %s.", phrase.Awaited(o.targets[0]), phrase.Clauses(who, maxNamed, len(others)))
	v.Fix = "acquire locks in the same order everywhere, hold none while waiting for others, and release each on " +
		"every path out of the code that acquires it"
	if goes := goesOn(o.locks[0], phrase.Awaited(o.targets[0])); goes != "" {
		v.Explanation = strings.TrimSpace(goes) + " " + v.Explanation
		v.Fix = "release the lock on every path out of the code that acquires it; also acquire locks in the same " +
			"order everywhere, and hold none while waiting for others"
	}
}

// mayHold reports whether the code shows that one of some threads may hold a lock.
func mayHold(l *picture.Lock, lwps []int) bool {
	return slices.ContainsFunc(l.Holders, func(h picture.Holder) bool { return slices.Contains(lwps, h.Thread) })
}

// verdict is what all verdicts on orphaned locks say.
func (o *orphan) verdict(d *drawer, c picture.Certainty) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictLockOrphaned, Severity: picture.SeverityHang, Certainty: c, Threads: o.threads,
		Summary: fmt.Sprintf("%s for %s, which nobody will release", d.wait(o.threads), phrase.Awaited(o.targets[0])),
		Fix:     "release the lock on every path out of the code that acquires it, also before a thread ends",
	}
	if len(o.targets) > 1 {
		v.Summary = fmt.Sprintf("%s for %s, which nobody will release", d.wait(o.threads), several(o.targets))
	}
	for _, lwp := range o.threads {
		d.reported[lwp] = true
	}
	d.addBlocked(&v)
	for _, lwp := range d.order {
		if d.behind[lwp] && !slices.Contains(v.Waiting, lwp) {
			v.Waiting = append(v.Waiting, lwp)
		}
	}
	slices.Sort(v.Waiting)
	return v
}

// several names the first of several targets, and how many more there are.
func several(targets []picture.WaitTarget) string {
	var names []string
	for _, t := range targets[:min(len(targets), maxNamed)] {
		names = append(names, phrase.Awaited(t))
	}
	return phrase.Some(names, maxNamed, len(targets))
}

// shownToHold says which threads the code shows to hold an orphaned lock, or that may.
func (o *orphan) shownToHold() string {
	l := o.locks[0]
	if len(l.Holders) == 0 {
		return "no frame of any thread is between a call that acquires it and one that releases it"
	}
	goes := func(h picture.Holder) bool { // it may go on, but comes to no release any more
		return !slices.Contains(o.threads, h.Thread) && !slices.Contains(l.MayRelease.Threads, h.Thread)
	}
	some := l.MayRelease != nil && slices.ContainsFunc(l.Holders, goes)
	first := l.Holders[0]
	one := fmt.Sprintf("LWP %d: %s", first.Thread, first.Evidence)
	if at := first.AcquiredAt; at != nil && at.Line != 0 {
		one += " (" + at.Place() + ")"
	}
	switch many := count(len(l.Holders)); {
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
