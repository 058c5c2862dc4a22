package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// taskNeeds is what a task needs to be finished.
func (b *builder) taskNeeds(id picture.ID, x *needs) {
	t := b.tasks[id]
	if t == nil {
		return
	}
	switch {
	case t.AwaitsEvent():
		b.eventNeeds(0, x)
	case t.State == picture.TaskBlocked:
		for _, p := range t.WaitsFor {
			x.one(edge{
				to: node{task: p}, certainty: picture.Certain,
				evidence: "a task that it depends on is not finished",
			})
		}
	case (t.State == picture.TaskRunning || t.State == picture.TaskWaiting) && t.Thread != 0:
		x.one(edge{to: node{lwp: t.Thread}, certainty: picture.Certain, evidence: "it runs the task"})
	case t.State == picture.TaskQueued:
		b.queuedNeeds(t, x)
	}
}

func untied(t *picture.Task) bool { return slices.Contains(t.Flags, picture.FlagUntied) }

// team is which of a region's queued tasks its members may run, all of whom wait.
type team struct {
	// members are those of whom one must proceed first; nil if one may run any task.
	members *bundle
	// awaited are the tasks that members wait in for other tasks: they may run what
	// descends from these.
	awaited map[picture.ID]bool
	mayRun  map[picture.ID]bool // one of them may run the task, as far as it was asked for
}

// queuedNeeds: one of the team must come to run the task. Those that wait where they may
// run it do.
func (b *builder) queuedNeeds(t *picture.Task, x *needs) {
	if t.Kind != picture.TaskExplicit || b.facts.TasksTruncated {
		return
	}
	m, ok := b.teams[t.Region]
	if !ok {
		m = b.team(t.Region)
		b.teams[t.Region] = m
	}
	if m.members != nil && (len(m.awaited) == 0 || !untied(t) && !b.descends(t, m)) {
		x.add(m.members)
	}
}

// team says what the members of a region wait for.
func (b *builder) team(id picture.ID) *team {
	m := &team{awaited: map[picture.ID]bool{}, mayRun: map[picture.ID]bool{}}
	r := b.regions[id]
	if r == nil || len(r.Threads) < r.TeamSize {
		return m
	}
	members := &bundle{any: true}
	for _, lwp := range r.Threads {
		how := "it may run the task"
		switch b.waitsAs(lwp) {
		case picture.WaitBarrier, "":
			return m
		case picture.WaitTaskwait, picture.WaitTaskgroup:
			if b.waits[lwp].Task == "" { // it is not known what it may run
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

// descends reports whether t descends from a task that a member waits in, so that this
// member may run t meanwhile (the task scheduling constraints of OpenMP), or whether that
// is not known.
func (b *builder) descends(t *picture.Task, m *team) bool {
	var path []picture.ID
	may := true // of a circle nothing is known
	for {
		if known, ok := m.mayRun[t.ID]; ok {
			may = known
			break
		}
		m.mayRun[t.ID] = true // until it is known better
		path = append(path, t.ID)
		if m.awaited[t.Parent] {
			break
		}
		p := b.tasks[t.Parent]
		if p == nil {
			may = t.Kind == picture.TaskExplicit // its parent is finished, and so unknown
			break
		}
		t = p
	}
	for _, id := range path {
		m.mayRun[id] = may
	}
	return may
}

// eventNeeds: one of the threads must come to fulfil the event of a detached task whose
// code may do so, or one of the tasks that are not begun. waiter is a thread that cannot, 0
// if there is none.
func (b *builder) eventNeeds(waiter int, x *needs) {
	if b.fulfil == nil { // nothing is known of it
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
