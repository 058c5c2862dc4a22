package waits

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxViews bounds the views of one barrier: each thread's view reads the counters of the whole team.
const maxViews = 64

// gatherer finds the facts of one picture. It reads each lock once, and a barrier once for each different view of
// its threads.
type gatherer struct {
	from     *Finder
	pic      *picture.Picture
	waits    []wait
	facts    *picture.Facts
	locks    map[lockKey]int // indices of the facts' locks
	families map[string][]int
	blank    bool     // the stack and thread-local data of a thread are missing
	handed   []uint64 // functions that threads have passed to the runtime; nil before the first use
	mayHand  []uint64 // functions that they may have passed; nil before the first use
	entered  []uint64 // functions on the stacks of threads; nil before the first use
	// beginning are the implicit tasks that threads may be about to execute; nil before the first use.
	beginning []*picture.Task
	// beforeEnd are the regions with a thread that does not wait for the region's end; nil before the first use.
	beforeEnd map[picture.ID]bool
}

// lockKey identifies a lock: waits with the same key share one lock of the facts.
type lockKey struct {
	runtime           string
	kind              picture.WaitKind
	address, variable uint64
	reduction, only   bool
}

func lockID(i int) picture.ID    { return picture.ID(fmt.Sprintf("lock-%d", i+1)) }
func barrierID(i int) picture.ID { return picture.ID(fmt.Sprintf("barrier-%d", i+1)) }

// AddFacts adds the waits of threads to the facts of picture pic, with locks, barriers, and the threads and tasks
// that may end the waits. Facts about the picture's tasks must be set.
func (wf *Finder) AddFacts(pic *picture.Picture, facts *picture.Facts) {
	g := &gatherer{
		from: wf, pic: pic, facts: facts, waits: wf.all(), locks: map[lockKey]int{}, families: map[string][]int{},
		blank: slices.ContainsFunc(wf.Threads.All, func(n *teams.Thread) bool { return n.Missing != nil }),
	}
	for _, n := range wf.Threads.Sorted() {
		wf.Model.ShowRemoved(n)
	}
	g.numberThreads()
	facts.StacksComplete = wf.reach.allStacks()
	facts.Fibers = wf.fiberFacts()
	if text := facts.Fibers.RunByThreads(); text != "" {
		wf.Notes.Warn("%s", text)
	}
	for i := range g.waits {
		facts.Waits = append(facts.Waits, g.describeWait(&g.waits[i]))
	}
	for i := range g.waits {
		g.nameTargetTasks(i)
	}
	g.addWriters()
	if !g.blank { // else a member that arrived looks like one that did not
		g.addBarriers()
	}
	g.addMisplaced()
	g.addReleasers()
	g.addHandovers()
	g.addOwnerFrames()
	g.countWaiters()
	g.addWakers()
	facts.ForkedAt = wf.forkedAt()
}

// numberThreads gives the analysis of code the numbers of the threads in their teams: branches on the number decide
// what a thread does. An untied task may be resumed by another thread.
func (g *gatherer) numberThreads() {
	functions := map[picture.ID]uint64{}
	for _, r := range g.pic.Regions {
		if r.Function != nil && r.Function.Address != nil {
			functions[r.ID] = uint64(*r.Function.Address)
		}
	}
	untied := map[picture.ID]bool{}
	for i := range g.pic.Tasks {
		untied[g.pic.Tasks[i].ID] = slices.Contains(g.pic.Tasks[i].Flags, picture.FlagUntied)
	}
	for i := range g.pic.Threads {
		t := &g.pic.Threads[i]
		n, entry := g.from.Threads.ByLWP[t.LWP], functions[t.Region]
		if n != nil && entry != 0 && t.ThreadNum != nil && !untied[t.Task] {
			g.from.Flows.SetNumber(&n.Thread, *t.ThreadNum, entry)
		}
	}
}

// wordsIn returns the words of n bytes at an address.
func wordsIn(at, n uint64) (words []spin.Word) {
	const size = 8
	for end := at + n; at < end; at += size {
		words = append(words, spin.Word{Address: at, Size: uint8(min(size, end-at))})
	}
	return words
}

// describeWait returns a thread's wait, and adds its lock to the facts.
func (g *gatherer) describeWait(w *wait) picture.Wait {
	out := w.Wait
	out.Address, out.Variable = picture.Address(w.address), picture.Address(w.variable)
	out.Asleep = w.isAsleep()
	regs := w.n.Registers()
	out.Timed = w.timed && regs != nil && arch.HasLimit(regs)
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
		if i, ok := g.lockIndex(w, out.Asleep); ok {
			out.Lock = g.facts.Locks[i].ID
		} else if it, ok := g.from.awaitedIteration(*w); ok {
			out.Awaited, out.Evidence = &picture.Awaited{Tasks: []picture.ID{}, Iteration: it.Values}, it.Evidence
			w.words = wordsIn(it.Posted, it.PostedSize)
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

// nameTargetTasks names the object of a taskwait, or of the end of a taskgroup, if all known tasks that the thread
// waits for are target tasks: those are executed by other threads than the team's, or by a device.
func (g *gatherer) nameTargetTasks(i int) {
	w, t := &g.facts.Waits[i], g.threadOf(i)
	if t == nil || w.Kind != picture.WaitTaskwait && w.Kind != picture.WaitTaskgroup {
		return
	}
	awaits := func(task *picture.Task) bool { return task.Parent == w.Task && task.Unfinished() }
	if w.Awaited != nil && len(w.Awaited.Tasks) > 0 {
		awaits = func(task *picture.Task) bool { return slices.Contains(w.Awaited.Tasks, task.ID) }
	}
	n, at := 0, ""
	for k := range g.pic.Tasks {
		task := &g.pic.Tasks[k]
		if !awaits(task) {
			continue
		}
		if task.Kind != picture.TaskTarget {
			return
		}
		place := ""
		if f := task.Function; f != nil && f.Line != 0 {
			place = fmt.Sprintf(" %s:%d", path.Base(f.File), f.Line)
		}
		if n++; n == 1 {
			at = place
		} else if at != place {
			at = ""
		}
	}
	switch {
	case n == 1:
		t.WaitName = "target task" + at
	case n > 1:
		t.WaitName = fmt.Sprintf("%d target tasks%s", n, at)
	}
}

// lockIndex returns the index of the lock that w waits for in the facts, and adds the lock if it is new. It is not ok
// if the lock is unknown.
func (g *gatherer) lockIndex(w *wait, asleep bool) (int, bool) {
	key := lockKey{kind: w.Kind, address: w.address, variable: w.variable, reduction: w.reduction, only: w.isOnlyOne()}
	if w.n.Runtime != nil && w.address == 0 && w.variable == 0 { // else the address distinguishes it
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

// addBarriers finds the views of the barriers that threads wait at. Threads that are known to have arrived share
// one view.
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

// addViews reads the views that the threads of one barrier have of it.
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

// noTaskPending reports whether no task waits for its execution: the code of such tasks is on no stack.
func (g *gatherer) noTaskPending() bool {
	return !slices.ContainsFunc(g.pic.Tasks, func(t picture.Task) bool { return t.Pending() })
}

// addReleasers finds the threads that may release a lock without a known owner, if all of its holders wait
// themselves.
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
		some[g.facts.Waits[i].Thread] = g.facts.Waits[i].Kind != picture.WaitSleep // it ends by itself
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
			Threads: g.releasers(family), Incomplete: g.blank || l.Shared || g.joiningMayRelease(family),
		}
		l.Leaks = g.from.holders.findLeaks(*w, family, same)
		g.countReaders(w, l, same)
	}
}

// waitedFor identifies an awaited thing across runtimes.
type waitedFor struct {
	kind    picture.WaitKind
	address uint64
}

// waiters returns the waiting threads of each awaited thing.
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

// ownerWaits reports whether the owner that a lock names seems to wait for the lock, and does not sleep. Whether
// it owns the lock is then unknown.
func (g *gatherer) ownerWaits(l *picture.Lock) bool {
	return slices.ContainsFunc(g.facts.Waits, func(w picture.Wait) bool {
		return w.Lock == l.ID &&
			w.Thread == l.Owner && !w.Asleep
	})
}

// ownerLeft reports whether the owner that a lock names waits itself, and its code does not show that it still is
// in the function that acquired the lock.
func (g *gatherer) ownerLeft(w *wait, l *picture.Lock, waits map[int]bool) bool {
	return l.Held && l.Owner != 0 && l.InvalidReason == "" && waits[l.Owner] && !g.ownerWaits(l) &&
		!slices.ContainsFunc(g.from.holders.find(*w, *l), func(h picture.Holder) bool {
			return h.Thread == l.Owner && h.Certainty != picture.Possible
		})
}

// releasers returns the threads that may come to a release of a lock of a family, by their code.
func (g *gatherer) releasers(family string) []int {
	all, ok := g.families[family]
	if !ok {
		all = append([]int{}, g.from.reach.threads(family)...)
		if lockflow.OfOpenMP(family) {
			asleep := map[int]bool{}
			for i := range g.waits {
				asleep[g.waits[i].Thread] = asleep[g.waits[i].Thread] || g.waits[i].isAsleep()
			}
			all = slices.DeleteFunc(all, func(lwp int) bool { return asleep[lwp] && g.isPoolThread(lwp, family) })
		}
		g.families[family] = all
	}
	return all
}

// isPoolThread reports whether a thread that sleeps until another thread wakes it has no structure of a runtime, and is
// in code that names no function on locks of a family, as an idle thread of a library's pool is. It may call functions
// through pointers: the thread that passes it such a function, and wakes it, counts instead.
func (g *gatherer) isPoolThread(lwp int, family string) bool {
	n := g.from.Threads.ByLWP[lwp]
	return n != nil && n.Missing == nil && n.Runtime == nil && g.from.reach.isWithoutLocks(n, family)
}

// addWakers finds the threads and tasks that may wake waiters of condition variables, or fulfil events of detached
// tasks.
func (g *gatherer) addWakers() {
	if slices.ContainsFunc(g.waits, func(w wait) bool {
		return w.Kind == picture.WaitCondition &&
			w.address != 0
	}) {
		g.facts.Wakers = &picture.Candidates{
			Threads:    g.mayRelease(rtl.FamilyCondition),
			Tasks:      g.tasksThatMayRelease((*picture.Task).Pending, rtl.FamilyCondition),
			Incomplete: g.from.reach.hasHandlers() && g.from.reach.handlersUse(rtl.FamilyCondition),
		}
	}
	g.facts.Handled = slices.ContainsFunc(g.waits, func(w wait) bool { return w.Kind == picture.WaitFutex }) &&
		g.from.reach.hasHandlers()
	detached := slices.ContainsFunc(g.pic.Tasks, func(t picture.Task) bool { return t.AwaitsEvent() })
	g.facts.EventMakers = g.eventMakers()
	if !detached && len(g.facts.EventMakers) == 0 {
		return
	}
	g.facts.Fulfillers = &picture.Candidates{
		Threads: g.mayRelease(rtl.FamilyEvent),
		Tasks:   g.tasksThatMayRelease((*picture.Task).Unbegun, rtl.FamilyEvent),
	}
}

// tasksThatMayRelease returns the tasks of a kind that may release a lock of a family when they are executed.
func (g *gatherer) tasksThatMayRelease(of func(*picture.Task) bool, family string) (ids []picture.ID) {
	for i := range g.pic.Tasks {
		if t := &g.pic.Tasks[i]; of(t) && g.from.reach.taskMayRelease(t, family) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// eventMakers returns the threads that wait for tasks and make detached tasks in their code. The runtime counts
// children of their current task and does not list them.
func (g *gatherer) eventMakers() []int {
	// A blocked child may depend on a detached one.
	listed, blocked, tasks := map[picture.ID]bool{}, map[picture.ID]int{}, map[picture.ID]*picture.Task{}
	for i := range g.pic.Tasks {
		t := &g.pic.Tasks[i]
		tasks[t.ID] = t
		switch {
		case t.Kind == picture.TaskImplicit || t.State == picture.TaskCompleted:
		case t.State == picture.TaskBlocked:
			blocked[t.Parent]++
		default:
			listed[t.Parent] = true
		}
	}
	counted := func(t *picture.Task) bool {
		return t != nil && t.IncompleteChildren != nil && *t.IncompleteChildren > blocked[t.ID]
	}
	var out []int
	for i, w := range g.waits {
		switch w.Kind {
		case picture.WaitTaskwait, picture.WaitTaskgroup, picture.WaitBarrier:
			t := tasks[w.Task]
			if !counted(t) || listed[w.Task] {
				continue
			}
			if calls := g.from.reach.eventCalls(w.Thread, t); len(calls) > 0 {
				out = append(out, w.Thread)
				g.facts.Waits[i].Evidence = rtl.JoinEvidence(w.Evidence, g.creationText(calls))
			}
		}
	}
	return out
}

// maxCreations bounds the constructs of detached tasks that evidence names.
const maxCreations = 3

// creationText names the constructs that create detached tasks by calls with the given return addresses; "" if none has
// a known line.
func (g *gatherer) creationText(calls []uint64) string {
	var at []string
	for _, pc := range calls {
		frames := g.from.Code.FramesAt(pc, false)
		if len(frames) == 0 || frames[0].Line == 0 || len(at) == maxCreations {
			continue
		}
		if p := frames[0].Place(); !slices.Contains(at, p) {
			at = append(at, p)
		}
	}
	if len(at) == 0 {
		return ""
	}
	return "its code creates detached tasks at " + strings.Join(at, ", ")
}
