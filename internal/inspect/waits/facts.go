package waits

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxViews bounds the threads of one barrier that are asked for their view of it:
// each reads the counters of the whole team.
const maxViews = 64

// gatherer finds the facts of one picture. Each lock is asked for once, and each
// barrier as often as its threads see it differently.
type gatherer struct {
	from     *Finder
	pic      *picture.Picture
	waits    []wait
	facts    *picture.Facts
	locks    map[lockKey]int // index among the facts' locks
	families map[string][]int
	blank    bool     // a thread's stack and thread-local data are missing
	handed   []uint64 // functions that threads have handed to the runtime; nil before they are asked for
	entered  []uint64 // functions that threads are in; nil before they are asked for
}

// lockKey tells apart what threads wait for as locks. Threads to which the same is
// known of it are told the same.
type lockKey struct {
	runtime           string
	kind              picture.WaitKind
	address, variable uint64
	reduction, only   bool
}

func lockID(i int) picture.ID    { return picture.ID(fmt.Sprintf("lock-%d", i+1)) }
func barrierID(i int) picture.ID { return picture.ID(fmt.Sprintf("barrier-%d", i+1)) }

// AddFacts adds to the facts of picture pic the waits of its threads, with locks, barriers, and the threads and tasks
// that may end the waits. It takes the facts about the picture's tasks from facts.
func (wf *Finder) AddFacts(pic *picture.Picture, facts *picture.Facts) {
	g := &gatherer{
		from: wf, pic: pic, facts: facts, waits: wf.all(), locks: map[lockKey]int{}, families: map[string][]int{},
		blank: slices.ContainsFunc(wf.Threads.All, func(n *teams.Thread) bool { return n.Missing != nil }),
	}
	facts.StacksComplete = wf.reach.allStacks()
	for i := range g.waits {
		facts.Waits = append(facts.Waits, g.describeWait(&g.waits[i]))
	}
	if !g.blank { // else a member that arrived looks like one that did not
		g.addBarriers()
	}
	g.addMisplaced()
	g.addReleasers()
	g.addHandovers()
	g.addOwnerFrames()
	g.countWaiters()
	g.addWakers()
}

// describeWait is what one thread waits for, with its lock.
func (g *gatherer) describeWait(w *wait) picture.Wait {
	out := w.Wait
	out.Address, out.Variable = picture.Address(w.address), picture.Address(w.variable)
	out.Asleep = w.isAsleep()
	switch w.Kind.Traits().Need {
	case picture.NeedWrite:
		out.Lock = g.signalledLock(w)
	case picture.NeedChildren:
		if tasks, only := g.from.dependences(*w); only || len(tasks) > 0 {
			out.Awaited = &picture.Awaited{Tasks: append([]picture.ID{}, tasks...), OnlyThese: only}
		}
	case picture.NeedGroup:
		if tasks, _ := g.from.groupTasks(*w); len(tasks) > 0 {
			out.Awaited = &picture.Awaited{Tasks: tasks}
		}
	case picture.NeedHolder:
		if i, ok := g.lockOf(w, out.Asleep); ok {
			out.Lock = g.facts.Locks[i].ID
		} else if it, ok := g.from.awaitedIteration(*w); ok {
			out.Awaited, out.Evidence = &picture.Awaited{Tasks: []picture.ID{}, Iteration: it.Values}, it.Evidence
		}
	}
	if at := g.from.interruptedFrame(w.n); at != nil {
		var awaits picture.Awaited
		if out.Awaited != nil {
			awaits = *out.Awaited
		}
		awaits.Tasks, awaits.Interrupted = append([]picture.ID{}, awaits.Tasks...), at
		out.Awaited = &awaits
	}
	return out
}

// lockOf finds the lock that w waits for among the facts, or adds it. A waiter that knows
// nothing of it has none.
func (g *gatherer) lockOf(w *wait, asleep bool) (int, bool) {
	key := lockKey{kind: w.Kind, address: w.address, variable: w.variable, reduction: w.reduction, only: w.isOnlyOne()}
	if w.n.Runtime != nil {
		key.runtime = w.n.Runtime.ID
	}
	i, ok := g.locks[key]
	if !ok {
		l, err := g.from.lock(*w)
		if err != nil {
			return 0, false
		}
		i = len(g.facts.Locks)
		g.locks[key] = i
		l.ID = lockID(i)
		g.facts.Locks = append(g.facts.Locks, l)
	}
	if l := &g.facts.Locks[i]; l.Owner == w.Thread && !asleep && l.Holders == nil && (!l.Nested ||
		l.InvalidReason != "") {
		// It may have just acquired the lock.
		l.Holders = g.from.holders.find(*w, picture.Lock{Nested: l.Nested})
	}
	return i, true
}

// addBarriers finds the views of the barriers that threads wait at. What one thread that is
// proven to have arrived sees, all such see.
func (g *gatherer) addBarriers() {
	type barrier struct {
		address uint64
		end     bool
	}
	var order []barrier
	at := map[barrier][]int{} // indices of waits
	for i, w := range g.waits {
		if w.Kind != picture.WaitBarrier || w.address == 0 {
			continue
		}
		b := barrier{w.address, w.EndOfRegion}
		if at[b] == nil {
			order = append(order, b)
		}
		at[b] = append(at[b], i)
	}
	for _, b := range order {
		g.addViews(at[b])
	}
}

// addViews asks the threads of one barrier for their view of it.
func (g *gatherer) addViews(waits []int) {
	index, asked := map[int]int{}, 0
	for _, i := range waits {
		index[g.waits[i].Thread] = i
	}
	for _, i := range waits {
		if g.facts.Waits[i].Barrier != "" || asked == maxViews {
			continue
		}
		asked++
		b, err := g.from.barrier(g.waits[i])
		if err != nil {
			continue
		}
		b.ID = barrierID(len(g.facts.Barriers))
		g.facts.Barriers = append(g.facts.Barriers, b)
		g.facts.Waits[i].Barrier = b.ID
		if len(b.Missing) == 0 {
			continue
		}
		for _, lwp := range b.Arrived {
			if j, ok := index[lwp]; ok {
				g.facts.Waits[j].Barrier = b.ID
			}
		}
	}
}

// noTaskPending reports whether no task is about to be run: code of tasks cannot be seen from the
// stacks.
func (g *gatherer) noTaskPending() bool {
	return !slices.ContainsFunc(g.pic.Tasks, func(t picture.Task) bool { return t.Pending() })
}

// addReleasers finds who may release the locks of which no owner is known, and no holder but
// such as wait for the lock themselves.
func (g *gatherer) addReleasers() {
	if len(g.locks) == 0 {
		return
	}
	index, first := map[picture.ID]int{}, map[picture.ID]bool{}
	for i, l := range g.facts.Locks {
		index[l.ID] = i
	}
	waiting, some := g.waiters(), map[int]bool{}
	for i := range g.waits {
		some[g.facts.Waits[i].Thread] = g.facts.Waits[i].Kind != picture.WaitSleep // it goes on by itself
	}
	for i := range g.waits {
		w, id := &g.waits[i], g.facts.Waits[i].Lock
		if id == "" || first[id] {
			continue
		}
		first[id] = true
		l := &g.facts.Locks[index[id]]
		same := waiting[waitedFor{w.Kind, w.address}]
		family, ok := lockFamily(*w, picture.Lock{Nested: l.Nested})
		if ok && g.ownerLeft(w, l, some) {
			l.Leaks = g.from.holders.findLeaks(*w, family, same)
			continue
		}
		if !ok || family == rtl.FamilyStatic || !l.Held || l.OwnerEnded || l.InvalidReason != "" ||
			!l.HoldersWait(some) ||
			l.Owner != 0 && !g.ownerWaits(l) {
			continue
		}
		l.MayRelease = &picture.Candidates{
			Threads: g.releasers(family), Incomplete: g.blank || g.joiningMayRelease(family),
		}
		l.Leaks = g.from.holders.findLeaks(*w, family, same)
		g.countReaders(w, l, same)
	}
}

// waitedFor is what threads wait for, whichever runtime knows of it.
type waitedFor struct {
	kind    picture.WaitKind
	address uint64
}

// waiters are the threads that wait for the same.
func (g *gatherer) waiters() map[waitedFor]map[int]bool {
	out := map[waitedFor]map[int]bool{}
	for i := range g.waits {
		w := &g.waits[i]
		key := waitedFor{w.Kind, w.address}
		if out[key] == nil {
			out[key] = map[int]bool{}
		}
		out[key][w.Thread] = true
	}
	return out
}

// ownerWaits reports whether the owner that a lock names seems to wait for it, and does
// not sleep: whether it owns the lock is then not known.
func (g *gatherer) ownerWaits(l *picture.Lock) bool {
	return slices.ContainsFunc(g.facts.Waits, func(w picture.Wait) bool {
		return w.Lock == l.ID &&
			w.Thread == l.Owner && !w.Asleep
	})
}

// ownerLeft reports whether the owner that a lock names waits itself, and its code does not show that
// it still is where it acquired the lock.
func (g *gatherer) ownerLeft(w *wait, l *picture.Lock, waits map[int]bool) bool {
	return l.Held && l.Owner != 0 && l.InvalidReason == "" && waits[l.Owner] && !g.ownerWaits(l) &&
		!slices.ContainsFunc(g.from.holders.find(*w, *l), func(h picture.Holder) bool {
			return h.Thread == l.Owner && h.Certainty != picture.Possible
		})
}

// releasers are the threads whose code may come to a call that releases something of a
// family.
func (g *gatherer) releasers(family string) []int {
	all, ok := g.families[family]
	if !ok {
		all = append([]int{}, g.from.reach.threads(family)...)
		g.families[family] = all
	}
	return all
}

// addWakers finds who may wake threads that wait on condition variables, and who may fulfil
// events of detached tasks.
func (g *gatherer) addWakers() {
	if slices.ContainsFunc(g.waits, func(w wait) bool {
		return w.Kind == picture.WaitCondition &&
			w.address != 0
	}) {
		g.facts.Wakers = &picture.Candidates{Threads: append([]int{}, g.from.reach.wakers()...),
			Tasks: g.tasksThatMayRelease((*picture.Task).Pending, rtl.FamilyCondition)}
	}
	detached := slices.ContainsFunc(g.pic.Tasks, func(t picture.Task) bool { return t.AwaitsEvent() })
	g.facts.EventMakers = g.eventMakers()
	if !detached && len(g.facts.EventMakers) == 0 {
		return
	}
	g.facts.Fulfillers = &picture.Candidates{Threads: append([]int{}, g.from.reach.fulfillers()...),
		Tasks: g.tasksThatMayRelease((*picture.Task).Unbegun, rtl.FamilyEvent)}
}

// tasksThatMayRelease are the tasks of a kind whose code may give back something of a family when they are executed.
func (g *gatherer) tasksThatMayRelease(of func(*picture.Task) bool, family string) (ids []picture.ID) {
	for i := range g.pic.Tasks {
		if t := &g.pic.Tasks[i]; of(t) && g.from.reach.taskMayRelease(t, family) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// eventMakers are the threads that wait for tasks and whose code makes detached ones, of
// those whose task has children that the runtime counts and does not list.
func (g *gatherer) eventMakers() []int {
	listed, counted := map[picture.ID]bool{}, map[picture.ID]bool{}
	for i := range g.pic.Tasks {
		t := &g.pic.Tasks[i]
		listed[t.Parent] = listed[t.Parent] || t.Kind != picture.TaskImplicit && t.State != picture.TaskCompleted
		counted[t.ID] = t.IncompleteChildren != nil && *t.IncompleteChildren > 0
	}
	var out []int
	for _, w := range g.waits {
		switch w.Kind {
		case picture.WaitTaskwait, picture.WaitTaskgroup, picture.WaitBarrier:
			if w.Task != "" && counted[w.Task] && !listed[w.Task] && g.from.reach.makesEvents(w.Thread) {
				out = append(out, w.Thread)
			}
		}
	}
	return out
}
