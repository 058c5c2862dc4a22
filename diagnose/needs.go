package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// graphBuilder finds the needs of threads and tasks, and builds the wait-for graph of them.
type graphBuilder struct {
	*index
	groups    map[int]*group         // the barrier that a thread waits at, by LWP
	missing   map[picture.ID]*bundle // the members that have not arrived, by the view of a barrier
	teams     map[picture.ID]*team
	started   map[picture.ID]*bundle // explicit tasks of a region that threads execute or that wait for their event
	wakers    [2]*bundle             // for threads that are no wakers themselves, and for those that are
	fulfil    *bundle
	unlisted  map[picture.ID]bool       // detached tasks that the runtime lists only as predecessors of others
	releasers map[*picture.Lock]*bundle // nil if they are unknown
	shared    map[string]*bundle        // bundles of releasers, by their members
}

// newWaitGraph returns the wait-for graph of a picture, reduced.
func newWaitGraph(x *index, groups []*group) *waitGraph {
	b := &graphBuilder{
		index: x, groups: map[int]*group{}, missing: map[picture.ID]*bundle{}, teams: map[picture.ID]*team{},
		releasers: map[*picture.Lock]*bundle{}, shared: map[string]*bundle{}, unlisted: unlistedPredecessors(x),
	}
	for _, gr := range groups {
		for _, w := range gr.waits {
			b.groups[w.Thread] = gr
		}
	}
	b.addStartedTasks()
	b.addSignallers()
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
	g.addNodes(b.needsOf, start...)
	g.reduce()
	if left := b.leftWaiters(g); len(left) > 0 {
		g.separate(left)
	}
	return g
}

// needsOf returns the needs of a node.
func (b *graphBuilder) needsOf(n node) *needs {
	x := &needs{}
	if n.isThread() {
		b.addThreadNeeds(n.lwp, x)
	} else {
		b.addTaskNeeds(n.task, x)
	}
	return x
}

func (b *graphBuilder) addThreadNeeds(lwp int, x *needs) {
	w := b.waits[lwp]
	if w == nil || b.takesTask(w) {
		return
	}
	switch w.Kind.Traits().Need {
	case picture.NeedTeam:
		b.addBarrierNeeds(w, x)
	case picture.NeedChildren:
		b.addTaskwaitNeeds(w, x)
	case picture.NeedGroup:
		if w.Awaited != nil {
			x.add(newTaskBundle(w.Awaited.Tasks))
		}
		b.addUnlistedTasks(w, x)
	case picture.NeedSignal:
		b.addConditionNeeds(w, x)
	case picture.NeedThread:
		x.addEdge(edge{to: node{lwp: w.WaitOn}, certainty: picture.Certain, evidence: w.Evidence})
	case picture.NeedThreads:
		for _, of := range w.Threads {
			x.addEdge(edge{to: node{lwp: of}, certainty: picture.Certain, evidence: w.Evidence})
		}
	case picture.NeedWrite, picture.NeedOther: // see findNeverWoken, findSpinning and findBlockedOutside
	default:
		if len(awaitedIteration(w)) > 0 {
			b.addDoacrossNeeds(w, x)
			return
		}
		b.addLockNeeds(w, x)
	}
}

func (b *graphBuilder) addTaskwaitNeeds(w *picture.Wait, x *needs) {
	if w.Awaited != nil {
		if x.add(newTaskBundle(w.Awaited.Tasks)); w.Awaited.OnlyThese {
			return
		}
	}
	if b.addUnlistedTasks(w, x) || w.Task == "" {
		return
	}
	var ids []picture.ID
	for _, t := range b.children[w.Task] {
		if t.Unfinished() {
			ids = append(ids, t.ID)
		}
	}
	x.add(newTaskBundle(ids))
}

// addUnlistedTasks adds the needs of detached tasks that w waits for and that the runtime only counts: a thread or a
// task that fulfils their events. It reports whether there are such tasks.
func (b *graphBuilder) addUnlistedTasks(w *picture.Wait, x *needs) bool {
	d, ok := detachedTasks(b.index, w)
	if !ok || !d.unlisted {
		return false
	}
	if d.sure {
		b.addEventNeeds(w.Thread, x)
	}
	return true
}

// unlistedPredecessors returns the detached tasks that the runtime lists only as tasks on which others depend. All
// members of their team wait, so that no thread is about to execute one.
func unlistedPredecessors(x *index) map[picture.ID]bool {
	regions := map[picture.ID]bool{}
	for _, w := range x.waits {
		if d, ok := detachedTasks(x, w); ok && d.unlisted && d.sure && d.blocked > 0 {
			regions[w.Region] = true
		}
	}
	out := map[picture.ID]bool{}
	for i := range x.pic.Tasks {
		if t := &x.pic.Tasks[i]; t.State == picture.TaskBlocked && regions[t.Region] {
			for _, id := range t.WaitsFor {
				out[id] = x.tasks[id] == nil
			}
		}
	}
	return out
}

func taskEdge(id picture.ID) edge {
	return edge{to: node{task: id}, certainty: picture.Certain, evidence: "the task is not finished"}
}

func newTaskBundle(ids []picture.ID) *bundle {
	b := &bundle{}
	for _, id := range ids {
		b.edges = append(b.edges, taskEdge(id))
	}
	return b
}

// mayFulfil is the evidence of a thread that may fulfil the event of a detached task.
const mayFulfil = "it may still call omp_fulfill_event"

// addSignallers creates the bundles of the threads and tasks that may wake others or fulfil events.
func (b *graphBuilder) addSignallers() {
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
		b.fulfil = &bundle{any: true}
		for _, lwp := range c.Threads {
			b.fulfil.edges = append(b.fulfil.edges,
				edge{to: node{lwp: lwp}, certainty: picture.Likely, evidence: mayFulfil})
		}
		for _, id := range c.Tasks {
			b.fulfil.edges = append(b.fulfil.edges,
				edge{to: node{task: id}, certainty: picture.Likely, evidence: mayFulfil})
		}
	}
}

// addConditionNeeds adds the threads and the tasks that may wake the waiter, by their code: one of them must. That code
// does not show which of the C++ library's objects it wakes.
func (b *graphBuilder) addConditionNeeds(w *picture.Wait, x *needs) {
	c := b.facts.Wakers
	if !w.Asleep || w.Address == nil || c == nil || c.Incomplete || b.facts.TasksTruncated ||
		sleepingClassOf(b.frames(w.Thread)) != nil {
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

// addBarrierNeeds adds the members that have not arrived, and the tasks that the barrier waits for.
func (b *graphBuilder) addBarrierNeeds(w *picture.Wait, x *needs) {
	gr := b.groups[w.Thread]
	if gr == nil {
		return
	}
	v := gr.views[w.Barrier]
	if v == nil {
		return
	}
	if b.missing[w.Barrier] == nil {
		missing := &bundle{}
		for _, lwp := range v.Missing {
			if b.groups[lwp] != gr { // else it has arrived, too, and is not counted yet
				missing.edges = append(missing.edges,
					edge{to: node{lwp: lwp}, certainty: picture.Certain, evidence: "it has not arrived: " + v.Evidence})
			}
		}
		b.missing[w.Barrier] = missing
	}
	x.add(b.missing[w.Barrier])
	if !v.WaitsForTasks {
		return
	}
	tasks := b.started[w.Region]
	own := func(e edge) bool { return b.tasks[e.to.task].Thread == w.Thread }
	if tasks != nil && slices.ContainsFunc(tasks.edges, own) {
		tasks = &bundle{edges: slices.DeleteFunc(slices.Clone(tasks.edges), own)}
	}
	x.add(tasks)
	b.addUnlistedTasks(w, x)
}

// addStartedTasks lists the explicit tasks that threads execute, or that wait for their event, by region.
func (b *graphBuilder) addStartedTasks() {
	b.started = map[picture.ID]*bundle{}
	for i := range b.pic.Tasks {
		t := &b.pic.Tasks[i]
		if t.Kind != picture.TaskExplicit || t.Thread == 0 && !t.AwaitsEvent() {
			continue
		}
		if b.started[t.Region] == nil {
			b.started[t.Region] = &bundle{}
		}
		b.started[t.Region].edges = append(b.started[t.Region].edges, taskEdge(t.ID))
	}
}

// takesTask reports whether a thread at a barrier of its own has taken a task there: it is about to execute the task,
// or has just done so, and proceeds by itself.
func (x *index) takesTask(w *picture.Wait) bool {
	t := x.tasks[w.Task]
	if w.Kind != picture.WaitBarrier || w.Asleep || t == nil || t.Kind != picture.TaskExplicit ||
		t.Thread != w.Thread && t.State != picture.TaskCompleted {
		return false
	}
	_, in := x.taskAtBarrier(w)
	return !in
}

// addDoacrossNeeds adds the other members of the team: one of them must post the iteration that the waiter waits for.
func (b *graphBuilder) addDoacrossNeeds(w *picture.Wait, x *needs) {
	r := b.regions[w.Region]
	if r == nil || len(r.Threads) < r.TeamSize {
		return
	}
	if len(r.Threads) == 1 {
		x.never = true
		return
	}
	b.addOneOf(r.Threads, w.Thread, w.Evidence, x)
}

// addTaskNeeds adds the needs of a task until it is finished.
func (b *graphBuilder) addTaskNeeds(id picture.ID, x *needs) {
	t := b.tasks[id]
	if t == nil {
		if b.unlisted[id] {
			b.addEventNeeds(0, x)
		}
		return
	}
	switch {
	case t.AwaitsEvent():
		b.addEventNeeds(0, x)
	case t.State == picture.TaskBlocked:
		for _, p := range t.WaitsFor {
			x.addEdge(edge{
				to: node{task: p}, certainty: picture.Certain,
				evidence: "a task that it depends on is not finished",
			})
		}
	case (t.State == picture.TaskRunning || t.State == picture.TaskWaiting) && t.Thread != 0:
		x.addEdge(edge{to: node{lwp: t.Thread}, certainty: picture.Certain, evidence: "it runs the task"})
	case t.State == picture.TaskQueued:
		b.addQueuedNeeds(t, x)
	}
}

func isUntied(t *picture.Task) bool { return slices.Contains(t.Flags, picture.FlagUntied) }

// team is a team of waiting members, and the queued tasks that they may execute.
type team struct {
	// members has an edge to each member: one of them must proceed first. It is nil if a member may execute any task.
	members *bundle
	// awaited are the tasks in which members wait for other tasks: they may execute descendants of these.
	awaited map[picture.ID]bool
	mayRun  map[picture.ID]bool // whether a member may execute the task, for the tasks that were looked up
}

// addQueuedNeeds adds the team of a queued task: one of its members must come to execute it, unless one waits where it
// may do so.
func (b *graphBuilder) addQueuedNeeds(t *picture.Task, x *needs) {
	if t.Kind != picture.TaskExplicit || b.facts.TasksTruncated {
		return
	}
	if m := b.teamOf(t.Region); m.members != nil && (len(m.awaited) == 0 || !isUntied(t) && !b.descends(t, m)) {
		x.add(m.members)
	}
}

// teamOf returns the team of a region, made once.
func (b *graphBuilder) teamOf(region picture.ID) *team {
	m, ok := b.teams[region]
	if !ok {
		m = b.newTeam(region)
		b.teams[region] = m
	}
	return m
}

// newTeam returns the team of a region by the waits of its members.
func (b *graphBuilder) newTeam(id picture.ID) *team {
	m := &team{awaited: map[picture.ID]bool{}, mayRun: map[picture.ID]bool{}}
	r := b.regions[id]
	if r == nil || len(r.Threads) < r.TeamSize {
		return m
	}
	members := &bundle{any: true}
	for _, lwp := range r.Threads {
		how := "it may run the task"
		switch b.waitKind(lwp) {
		case picture.WaitBarrier, "":
			return m
		case picture.WaitTaskwait, picture.WaitTaskgroup:
			if b.waits[lwp].Task == "" { // it is unknown which tasks it may execute
				return m
			}
			m.awaited[b.waits[lwp].Task] = true
			how = "it waits in a task that is no ancestor of the queued one, and may not run it"
		}
		members.edges = append(members.edges, edge{to: node{lwp: lwp}, certainty: picture.Certain, evidence: how})
	}
	m.members = members
	return m
}

// descends reports whether t descends from a task that a member waits in, or may do so: that member may execute t
// meanwhile (the task scheduling constraints of OpenMP).
func (b *graphBuilder) descends(t *picture.Task, m *team) bool {
	var path []picture.ID
	may := true // in a circle of parents, which is damaged
	for {
		if known, ok := m.mayRun[t.ID]; ok {
			may = known
			break
		}
		m.mayRun[t.ID] = true // until the answer is known
		path = append(path, t.ID)
		if m.awaited[t.Parent] {
			break
		}
		p := b.tasks[t.Parent]
		if p == nil {
			may = t.Kind == picture.TaskExplicit // its parent is finished, and therefore unknown
			break
		}
		t = p
	}
	for _, id := range path {
		m.mayRun[id] = may
	}
	return may
}

// addEventNeeds adds the threads and the tasks that may fulfil the event of a detached task, by their code: one of
// them must. waiter is a thread that cannot, or 0.
func (b *graphBuilder) addEventNeeds(waiter int, x *needs) {
	if b.fulfil == nil { // the code is unknown
		return
	}
	others := len(b.fulfil.edges)
	if waiter != 0 && slices.ContainsFunc(b.fulfil.edges, func(e edge) bool { return e.to.lwp == waiter }) {
		others--
	}
	if others > 0 {
		x.add(b.fulfil)
		return
	}
	x.never = !b.facts.TasksTruncated
}
