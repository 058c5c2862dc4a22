package analyze

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// birth is the creation of an explicit task.
type birth struct {
	id, parent uint64
	thread     *trace.Thread
	at         uint64
	depends    bool // it has a depend clause
	listed     bool // its dependences are known
	undeferred bool // its creator waits for it
}

// tasks contains the explicit tasks of a recording, with the constructs that order them.
type tasks struct {
	births   map[uint64]*birth
	implicit map[uint64]bool
	next     map[node][]node
	joins    uint64
	waits    []uint64 // times at which a task or iteration waited for others by a dependence
}

// node is a task, or a point between all tasks of one group and all of the next.
type node struct {
	id   uint64
	join bool
}

// birthsMax bounds the kept tasks, edgesMax the edges between them, and ancestorsMax the tasks around one.
const birthsMax, edgesMax, ancestorsMax = 1 << 20, 1 << 20, 64

// newTasks returns the tasks that were created since a time.
func newTasks(rec *trace.Recording, since uint64) *tasks {
	k := &tasks{births: map[uint64]*birth{}, implicit: map[uint64]bool{}, next: map[node][]node{}}
	if rec.Words(nil).Addresses { // IDs are reused: tasks cannot be identified
		return k
	}
	lists := map[uint64][]trace.Dependence{}
	edges := 0
	for _, t := range rec.Threads {
		k.addCurrent(t)
		for e := range t.Events(since) {
			switch {
			case e.Code == trace.ImplicitTask:
				k.implicit[e.Task()] = true
			case e.Code == trace.TaskCreate && len(k.births) < birthsMax:
				k.births[e.Task()] = &birth{
					id: e.Task(), parent: e.Creator(), thread: t, at: e.Time, depends: e.Kind != 0,
					undeferred: trace.TaskFlags(e.Value).Undeferred(),
				}
			case e.Code == trace.TaskSchedule && e.Kind == waitComplete && len(k.waits) < keptMax:
				k.waits = append(k.waits, e.Time)
			case e.Code == trace.TaskDependence && edges < edgesMax:
				edges++
				k.edge(node{id: e.A}, node{id: e.B})
			case e.Code == trace.Dependences && len(lists) < birthsMax:
				if list := e.Dependences(); len(list) == int(e.Value) && !e.Cut {
					lists[e.Task()] = list
				}
				if isLoopWait(e.Dependences()) {
					k.waits = append(k.waits, e.Time)
				}
			}
		}
	}
	k.order(lists)
	return k
}

// addCurrent records which of a thread's current tasks are implicit: the outermost of a region.
func (k *tasks) addCurrent(t *trace.Thread) {
	for i, task := range t.Tasks {
		if i == 0 || task.Region != t.Tasks[i-1].Region {
			k.implicit[task.ID] = true
		}
	}
}

// Values of ompt_dependence_type_t.
const (
	dependIn       = 1
	dependSource   = 5
	dependSink     = 6
	dependInoutset = 7
)

// waitComplete is ompt_taskwait_complete: the end of a taskwait with dependences.
const waitComplete = 8

// isLoopWait reports whether dependences are those of a loop's iterations: depend(source) and depend(sink).
func isLoopWait(list []trace.Dependence) bool {
	return slices.ContainsFunc(list, func(d trace.Dependence) bool {
		return d.Type == dependSource || d.Type == dependSink
	})
}

// location is a storage location of the dependences of one task's children.
type location struct{ parent, variable uint64 }

// group contains consecutive tasks that a location does not order.
type group struct {
	kind    uint16
	entry   node
	members []uint64
}

// order adds an edge between two children of one task that name the same location, in the order of their
// creation, unless both only read it. Tasks with mutexinoutset exclude each other, which has the same effect
// here.
func (k *tasks) order(lists map[uint64][]trace.Dependence) {
	var all []*birth
	for id := range lists {
		if b := k.births[id]; b != nil {
			b.listed = true
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *birth) int { return cmp.Compare(a.at, b.at) })
	groups := map[location]*group{}
	for _, b := range all {
		for _, d := range lists[b.id] {
			if d.Type > dependInoutset { // omp_all_memory, or an unknown type
				b.listed = false
				continue
			}
			at := location{b.parent, d.Variable}
			g := groups[at]
			if g == nil || g.kind != d.Type || d.Type != dependIn && d.Type != dependInoutset {
				groups[at] = k.newGroup(g, d.Type)
				g = groups[at]
			}
			k.edge(g.entry, node{id: b.id})
			g.members = append(g.members, b.id)
		}
	}
}

// newGroup starts a group after another one, which may be nil.
func (k *tasks) newGroup(g *group, kind uint16) *group {
	k.joins++
	out := &group{kind: kind, entry: node{k.joins, true}}
	if g != nil {
		for _, id := range g.members {
			k.edge(node{id: id}, out.entry)
		}
	}
	return out
}

func (k *tasks) edge(from, to node) { k.next[from] = append(k.next[from], to) }

// ancestors returns a task and the explicit tasks in which it was created, the innermost first. ok is false if
// one of them, or its order, is not known.
func (k *tasks) ancestors(id uint64) (out []*birth, ok bool) {
	for range ancestorsMax {
		b := k.births[id]
		if b == nil {
			return out, k.implicit[id]
		}
		out = append(out, b)
		if b.depends && !b.listed {
			return out, false
		}
		id = b.parent
	}
	return out, false
}

// leads reports whether a task precedes another one by dependences.
func (k *tasks) leads(from, to uint64) bool {
	seen := map[node]bool{}
	queue := []node{{id: from}}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, m := range k.next[n] {
			if !m.join && m.id == to {
				return true
			}
			if !seen[m] {
				seen[m] = true
				queue = append(queue, m)
			}
		}
		if len(seen) > pathsMax {
			return true // treated as unknown
		}
	}
	return false
}

// pathsMax bounds the tasks that are visited to find whether one precedes another.
const pathsMax = 1 << 12

// isOrdered reports whether the task of the second step could not start before the end of the first step, or
// whether that is not known: it was created after it, by the same thread or after a barrier, or waited for its
// task.
func (o *orders) isOrdered(first, second *Step) bool {
	if !second.explicit || second.began <= first.At {
		return false
	}
	chain, ok := o.tasks.ancestors(second.task)
	if !ok || o.known.all > first.At {
		return true
	}
	depends := false
	for _, b := range chain {
		depends = depends || b.depends
		made := &Step{thread: b.thread, region: second.region, firstBegins: b.at}
		if b.thread == first.thread && b.at >= first.At || o.barriers.ranBetween(first, made) {
			return true
		}
	}
	if !depends || !first.explicit && first.task != 0 {
		return false
	}
	before, ok := o.tasks.ancestors(first.task)
	if !ok {
		return true
	}
	for _, a := range before {
		for _, b := range chain {
			if o.tasks.leads(a.id, b.id) {
				return true
			}
		}
	}
	return false
}
