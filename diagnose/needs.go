package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// builder finds what threads and tasks need to proceed, and makes the graph of it.
type builder struct {
	*index
	groups map[int]*group // LWP → the barrier that it waits at
	views  map[picture.ID]*bundle
	teams  map[picture.ID]*team
	begun  map[picture.ID]*bundle // explicit tasks of a region that threads have
	wakers [2]*bundle             // for those that are not among the wakers themselves, and for those that are
	fulfil *bundle
	free   map[*picture.Lock]*bundle // those who may release a lock; nil if they are not known
	shared map[string]*bundle        // the same, by their names
}

// graphOf is the wait-for graph of a picture, reduced.
func graphOf(x *index, groups []*group) *graph {
	b := &builder{
		index: x, groups: map[int]*group{}, views: map[picture.ID]*bundle{}, teams: map[picture.ID]*team{},
		free: map[*picture.Lock]*bundle{}, shared: map[string]*bundle{},
	}
	for _, gr := range groups {
		for _, w := range gr.waits {
			b.groups[w.Thread] = gr
		}
	}
	b.tasksBegun()
	b.signallers()
	g := newGraph()
	var start []node
	for _, lwp := range x.order {
		start = append(start, node{lwp: lwp})
	}
	releases := slices.ContainsFunc(x.facts.Locks, func(l picture.Lock) bool { return l.MayRelease != nil })
	if releases || x.facts.Wakers != nil {
		for i := range x.pic.Tasks {
			if t := &x.pic.Tasks[i]; t.Pending() {
				start = append(start, node{task: t.ID})
			}
		}
	}
	g.enter(b.needs, start...)
	g.reduce()
	return g
}

// needs are what a node needs.
func (b *builder) needs(n node) *needs {
	x := &needs{}
	if n.isThread() {
		b.threadNeeds(n.lwp, x)
	} else {
		b.taskNeeds(n.task, x)
	}
	return x
}

func (b *builder) threadNeeds(lwp int, x *needs) {
	w := b.waits[lwp]
	if w == nil || b.takesTask(w) {
		return
	}
	switch w.Kind.Traits().Need {
	case picture.NeedTeam:
		b.barrierNeeds(w, x)
	case picture.NeedChildren:
		b.taskwaitNeeds(w, x)
	case picture.NeedGroup:
		if w.Awaited != nil {
			x.add(tasksBundle(w.Awaited.Tasks))
		}
		b.unlistedNeeds(w, x)
	case picture.NeedSignal:
		b.conditionNeeds(w, x)
	case picture.NeedThread:
		x.one(edge{to: node{lwp: w.WaitOn}, certainty: picture.Certain, evidence: w.Evidence})
	case picture.NeedWrite, picture.NeedOther: // see neverWoken, spinning and blockedOutside
	default:
		if len(awaited(w)) > 0 {
			b.doacrossNeeds(w, x)
			return
		}
		b.lockNeeds(w, x)
	}
}

func (b *builder) taskwaitNeeds(w *picture.Wait, x *needs) {
	if w.Awaited != nil {
		if x.add(tasksBundle(w.Awaited.Tasks)); w.Awaited.OnlyThese {
			return
		}
	}
	if b.unlistedNeeds(w, x) || w.Task == "" {
		return
	}
	var ids []picture.ID
	for _, t := range b.children[w.Task] {
		if t.Unfinished() {
			ids = append(ids, t.ID)
		}
	}
	x.add(tasksBundle(ids))
}

// unlistedNeeds adds what the events of detached tasks need that w waits for and that the
// runtime only counts, if there are such tasks: somebody who fulfils them.
func (b *builder) unlistedNeeds(w *picture.Wait, x *needs) bool {
	d, ok := b.detachedTasks(w)
	if !ok || !d.unlisted {
		return false
	}
	if d.sure {
		b.eventNeeds(w.Thread, x)
	}
	return true
}

func taskEdge(id picture.ID) edge {
	return edge{to: node{task: id}, certainty: picture.Certain, evidence: "the task is not finished"}
}

func tasksBundle(ids []picture.ID) *bundle {
	b := &bundle{}
	for _, id := range ids {
		b.edges = append(b.edges, taskEdge(id))
	}
	return b
}

// signallers makes the bundles of the threads and tasks that may wake others or fulfil
// events.
func (b *builder) signallers() {
	if c := b.facts.Wakers; c != nil {
		for among := range b.wakers {
			others := len(c.Threads) - among
			how := "no code that another thread may still reach signals a condition variable"
			if len(c.Tasks) > 0 {
				how = "the code that it may still reach signals a condition variable"
			} else if others > 1 {
				how = fmt.Sprintf("it is one of %d threads that may still reach a call that signals a condition "+
					"variable", others)
			}
			b.wakers[among] = &bundle{any: true}
			for _, lwp := range c.Threads {
				b.wakers[among].edges = append(b.wakers[among].edges,
					edge{to: node{lwp: lwp}, certainty: picture.Likely, evidence: how})
			}
			for _, id := range c.Tasks {
				b.wakers[among].edges = append(b.wakers[among].edges,
					edge{to: node{task: id}, certainty: picture.Likely, evidence: "it may signal a condition variable"})
			}
		}
	}
	if c := b.facts.Fulfillers; c != nil {
		const how = "it may still call omp_fulfill_event"
		b.fulfil = &bundle{any: true}
		for _, lwp := range c.Threads {
			b.fulfil.edges = append(b.fulfil.edges,
				edge{to: node{lwp: lwp}, certainty: picture.Likely, evidence: how})
		}
		for _, id := range c.Tasks {
			b.fulfil.edges = append(b.fulfil.edges,
				edge{to: node{task: id}, certainty: picture.Likely, evidence: how})
		}
	}
}

// conditionNeeds adds the threads of which one must come to wake the waiter: those whose
// code may do so, or tasks of which one must be executed.
func (b *builder) conditionNeeds(w *picture.Wait, x *needs) {
	c := b.facts.Wakers
	if !w.Asleep || w.Address == nil || c == nil || b.facts.TasksTruncated {
		return
	}
	among := 0
	if slices.Contains(c.Threads, w.Thread) {
		among = 1
	}
	if len(c.Threads)+len(c.Tasks) > among {
		x.add(b.wakers[among])
	}
}

// barrierNeeds adds the members that have not arrived, and the tasks that the barrier waits
// for.
func (b *builder) barrierNeeds(w *picture.Wait, x *needs) {
	gr := b.groups[w.Thread]
	if gr == nil {
		return
	}
	v := gr.views[w.Barrier]
	if v == nil {
		return
	}
	if b.views[w.Barrier] == nil {
		missing := &bundle{}
		for _, lwp := range v.Missing {
			if b.groups[lwp] != gr { // else it has arrived too, and is not counted yet
				missing.edges = append(missing.edges,
					edge{to: node{lwp: lwp}, certainty: picture.Certain, evidence: "it has not arrived: " + v.Evidence})
			}
		}
		b.views[w.Barrier] = missing
	}
	x.add(b.views[w.Barrier])
	if !v.WaitsForTasks {
		return
	}
	tasks := b.begun[w.Region]
	own := func(e edge) bool { return b.tasks[e.to.task].Thread == w.Thread }
	if tasks != nil && slices.ContainsFunc(tasks.edges, own) {
		tasks = &bundle{edges: slices.DeleteFunc(slices.Clone(tasks.edges), own)}
	}
	x.add(tasks)
	b.unlistedNeeds(w, x)
}

// tasksBegun lists the explicit tasks that threads have, or that wait for their event, by
// region.
func (b *builder) tasksBegun() {
	b.begun = map[picture.ID]*bundle{}
	for i := range b.pic.Tasks {
		t := &b.pic.Tasks[i]
		if t.Kind != picture.TaskExplicit || t.Thread == 0 && !t.AwaitsEvent() {
			continue
		}
		if b.begun[t.Region] == nil {
			b.begun[t.Region] = &bundle{}
		}
		b.begun[t.Region].edges = append(b.begun[t.Region].edges, taskEdge(t.ID))
	}
}

// lockNeeds adds the thread that holds a lock or a mutex, or those who may release it.
func (b *builder) lockNeeds(w *picture.Wait, x *needs) {
	l := b.locks[w.Thread]
	switch {
	case l != nil && l.InvalidReason != "":
		switch h, known := b.holderOfGone(w, l); {
		case !known:
		case h == 0 || h == w.Thread:
			x.never = true
		default:
			x.one(edge{to: node{lwp: h}, certainty: picture.Likely,
				evidence: "it held the lock before " + l.InvalidReason})
		}
	case l == nil || !l.Held:
	case l.OwnerEnded:
		x.never = true
	case l.Owner == w.Thread:
		x.never = true
	case l.Owner != 0:
		x.one(edge{to: node{lwp: l.Owner}, certainty: picture.Certain, evidence: l.Evidence})
	case w.Kind == picture.WaitOrdered:
		b.turnNeeds(w, l, x)
	case w.Kind == picture.WaitReadWrite && len(sureHolders(l.Holders)) > 0:
		readersNeed(w, l, x)
	default:
		h, ok := oneHolder(l.Holders)
		switch {
		case !ok:
			b.releaserNeeds(w, l, x)
		case l.HandedOver && b.anyHasIt(w, l):
		case h.Thread == w.Thread:
			x.never = true
		default:
			x.one(heldBy(h))
		}
	}
	if l != nil && l.Held && !l.OwnerEnded && l.InvalidReason == "" {
		b.addHelpers(w, l, x)
	}
}

// heldBy is the edge to a thread that holds a lock, as its code shows.
func heldBy(h picture.Holder) edge {
	return edge{to: node{lwp: h.Thread}, certainty: h.Certainty, evidence: h.Evidence, taken: h.AcquiredAt}
}

// turnNeeds adds the members of the team of whom one must come to have the turn in an ordered
// loop: none that is in the loop has it. Those that wait for theirs there do not come to have it
// before, as the iterations of a thread are in order; if all do, they wait for each other.
func (b *builder) turnNeeds(w *picture.Wait, l *picture.Lock, x *needs) {
	r := b.regions[w.Region]
	if r == nil || len(r.Threads) < r.TeamSize {
		return
	}
	turn := map[int]bool{}
	for _, lwp := range b.sameTarget(w) {
		turn[lwp] = true
	}
	come := slices.DeleteFunc(slices.Clone(r.Threads), func(lwp int) bool { return turn[lwp] })
	if len(come) == 0 {
		come = r.Threads
	}
	b.othersNeed(come, w.Thread, l.Evidence, x)
}

// othersNeed adds the others of some threads than the one that waits, of whom one must proceed.
func (b *builder) othersNeed(threads []int, waiter int, evidence string, x *needs) {
	others := &bundle{any: true}
	for _, lwp := range threads {
		if lwp != waiter {
			others.edges = append(others.edges,
				edge{to: node{lwp: lwp}, certainty: picture.Certain, evidence: evidence})
		}
	}
	x.add(others)
}

// oneHolder picks the thread that holds a lock, if the code shows one and no second one as
// surely.
func oneHolder(hs []picture.Holder) (picture.Holder, bool) {
	if len(hs) == 0 || hs[0].Certainty == picture.Possible {
		return picture.Holder{}, false
	}
	return hs[0], len(hs) == 1 || hs[1].Certainty != hs[0].Certainty
}

// readersNeed adds those who have a read-write lock for reading: all of them must release it.
func readersNeed(w *picture.Wait, l *picture.Lock, x *needs) {
	all := &bundle{}
	for _, h := range sureHolders(l.Holders) {
		if h.Thread == w.Thread {
			x.never = true
			return
		}
		all.edges = append(all.edges, heldBy(h))
	}
	x.add(all)
}

// sureHolders are the holders that are more than a possibility.
func sureHolders(hs []picture.Holder) []picture.Holder {
	return slices.DeleteFunc(slices.Clone(hs), func(h picture.Holder) bool { return h.Certainty == picture.Possible })
}
