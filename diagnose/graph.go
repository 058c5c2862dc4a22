package diagnose

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// node is a thread or a task that may go on.
type node struct {
	lwp  int
	task inspect.ID
}

func (n node) isThread() bool { return n.lwp != 0 }

// edge says that a node cannot go on before another did.
type edge struct {
	to        node
	certainty string
	evidence  string
	taken     *inspect.Frame // where the other took what the node waits for
}

// needs is what a node needs to go on.
type needs struct {
	all []edge // each of these
	any []edge // one of these, if there are any
	// never tells that nothing will let it go on, whatever others do.
	never bool
	// free tells that it goes on by itself, or that what it needs is not known.
	free bool
}

// graph is who waits for whom in one picture.
type graph struct {
	in      *inspect.Inspector
	pic     *inspect.Picture
	threads map[int]*inspect.Thread
	regions map[inspect.ID]*inspect.Region
	tasks   map[inspect.ID]*inspect.Task
	waits   map[int]inspect.Wait
	order   []int // LWPs of waits
	locks   map[int]*inspect.Lock
	groups  []*group
	at      map[int]*group // LWP → the barrier that it waits at
	nodes   map[node]*needs
	stuck   map[node]bool
	sharing map[int]int            // LWP → the processor that it was told to share
	told    map[int]bool           // threads of rings that were told
	wakers  func() []int           // threads that may wake those at condition variables
	fulfil  func() []edge          // fulfillers, once
	back    func() map[node][]node // awaitedBy, once
}

// group is the threads that wait at one barrier.
type group struct {
	waits   []inspect.Wait
	barrier map[int]inspect.Barrier // by LWP, for those of which it is known
	missing []int                   // members that have not arrived; the first view that knows
	size    int
}

// maxViews bounds the threads of one barrier that are asked for their view of it:
// each reads the counters of the whole team.
const maxViews = 64

func newGraph(in *inspect.Inspector, pic *inspect.Picture) *graph {
	g := &graph{
		in: in, pic: pic, threads: map[int]*inspect.Thread{}, regions: map[inspect.ID]*inspect.Region{},
		tasks: map[inspect.ID]*inspect.Task{}, waits: map[int]inspect.Wait{}, locks: map[int]*inspect.Lock{},
		at: map[int]*group{}, nodes: map[node]*needs{}, stuck: map[node]bool{}, told: map[int]bool{}, sharing: map[int]int{},
	}
	g.wakers, g.fulfil = sync.OnceValue(in.MayWake), sync.OnceValue(g.fulfillers)
	g.back = sync.OnceValue(g.awaitedBy)
	for i := range pic.Threads {
		g.threads[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	for i := range pic.Regions {
		g.regions[pic.Regions[i].ID] = &pic.Regions[i]
	}
	for i := range pic.Tasks {
		g.tasks[pic.Tasks[i].ID] = &pic.Tasks[i]
	}
	for _, w := range in.Waits() {
		g.waits[w.LWP] = w
		g.order = append(g.order, w.LWP)
	}
	g.gather()
	for _, lwp := range g.order {
		g.node(node{lwp: lwp})
	}
	g.reduce()
	return g
}

// gather groups the threads that wait at barriers.
func (g *graph) gather() {
	type barrier struct {
		address uint64
		end     bool
	}
	by := map[barrier]*group{}
	for _, lwp := range g.order {
		w := g.waits[lwp]
		if w.Kind != inspect.WaitBarrier || w.Address == 0 {
			continue
		}
		at := barrier{w.Address, w.End}
		b := by[at]
		if b == nil {
			b = &group{barrier: map[int]inspect.Barrier{}}
			by[at] = b
			g.groups = append(g.groups, b)
		}
		b.waits = append(b.waits, w)
		g.at[lwp] = b
	}
	for _, b := range g.groups {
		g.view(b)
	}
}

// view asks threads of a barrier what they wait for. What one that is proven to
// have arrived sees, all such see.
func (g *graph) view(b *group) {
	asked := 0
	for _, w := range b.waits {
		if _, known := b.barrier[w.LWP]; known || asked == maxViews {
			continue
		}
		asked++
		info, err := g.in.Barrier(w)
		if err != nil {
			continue
		}
		b.size = info.TeamSize
		b.barrier[w.LWP] = info
		if len(info.Missing) == 0 {
			continue
		}
		for _, lwp := range info.Arrived {
			if g.at[lwp] == b {
				b.barrier[lwp] = info
			}
		}
		if b.missing == nil {
			for _, lwp := range info.Missing {
				if g.at[lwp] != b { // one that waits at it has arrived, and gathers others
					b.missing = append(b.missing, lwp)
				}
			}
		}
	}
}

// node returns what n needs, and enters all that it leads to.
func (g *graph) node(n node) *needs {
	if x := g.nodes[n]; x != nil {
		return x
	}
	x := &needs{}
	g.nodes[n] = x
	if n.isThread() {
		g.threadNeeds(n.lwp, x)
	} else {
		g.taskNeeds(n.task, x)
	}
	if len(x.all) == 0 && len(x.any) == 0 && !x.never {
		x.free = true
	}
	for _, e := range slices.Concat(x.all, x.any) {
		g.node(e.to)
	}
	return x
}

func (g *graph) threadNeeds(lwp int, x *needs) {
	w, ok := g.waits[lwp]
	if !ok {
		return
	}
	switch w.Kind {
	case inspect.WaitBarrier:
		g.barrierNeeds(w, x)
	case inspect.WaitTaskwait:
		ids, depends := g.in.Dependences(w)
		for _, id := range ids {
			x.all = append(x.all, g.taskEdge(id))
		}
		if depends { // it waits for some of the children only
			return
		}
		if d, ok := g.detachedChildren(w); ok && d.unlisted {
			if d.sure {
				g.eventNeeds(w.LWP, x)
			}
			return
		}
		for _, t := range g.pic.Tasks {
			if t.Parent == w.Task && w.Task != "" && t.Kind != "implicit" && t.State != "completed" {
				x.all = append(x.all, g.taskEdge(t.ID))
			}
		}
	case inspect.WaitTaskgroup:
		ids, _ := g.in.GroupTasks(w)
		for _, id := range ids {
			x.all = append(x.all, g.taskEdge(id))
		}
	case inspect.WaitCondition:
		g.conditionNeeds(w, x)
	case inspect.WaitJoin:
		x.all = append(x.all, edge{to: node{lwp: w.On}, certainty: inspect.Certain, evidence: w.Evidence})
	default:
		g.lockNeeds(w, x)
	}
}

// conditionNeeds: one of the threads must come to wake it whose code may do so,
// unless a task may that no thread has begun.
func (g *graph) conditionNeeds(w inspect.Wait, x *needs) {
	if w.Address == 0 || !g.idleRest() {
		return
	}
	others := slices.DeleteFunc(slices.Clone(g.wakers()), func(lwp int) bool { return lwp == w.LWP })
	how := "no code of any other thread comes to a call that wakes who waits on a condition variable"
	if len(others) > 1 {
		how = fmt.Sprintf("it is one of %d threads whose code comes to a call that wakes who waits on a condition variable", len(others))
	}
	for _, lwp := range others {
		x.any = append(x.any, edge{to: node{lwp: lwp}, certainty: inspect.Likely, evidence: how})
	}
}

func (g *graph) taskEdge(id inspect.ID) edge {
	return edge{to: node{task: id}, certainty: inspect.Certain, evidence: "the task is not finished"}
}

func (g *graph) barrierNeeds(w inspect.Wait, x *needs) {
	b := g.at[w.LWP]
	if b == nil {
		return
	}
	info := b.barrier[w.LWP]
	for _, lwp := range info.Missing {
		if g.at[lwp] == b { // has arrived too, and is not counted yet
			continue
		}
		x.all = append(x.all, edge{to: node{lwp: lwp}, certainty: inspect.Certain, evidence: "it has not arrived: " + info.Evidence})
	}
	if !info.Tasks {
		return
	}
	for _, t := range g.pic.Tasks {
		if t.Kind == "explicit" && t.Region == w.Region && t.Thread != 0 && t.Thread != w.LWP {
			x.all = append(x.all, g.taskEdge(t.ID))
		}
	}
}

// lockNeeds finds who has a lock or a mutex.
func (g *graph) lockNeeds(w inspect.Wait, x *needs) {
	l := g.lock(w)
	switch {
	case l != nil && l.Gone != "":
		switch h, known := g.holderOfGone(w, l); {
		case !known:
		case h == 0 || h == w.LWP:
			x.never = true
		default:
			x.all = append(x.all, edge{to: node{lwp: h}, certainty: inspect.Likely, evidence: "it had the lock before " + l.Gone})
		}
	case l == nil || !l.Held:
	case l.OwnerGone:
		x.never = true
	case l.Owner == w.LWP:
		x.never = true
	case l.Owner != 0:
		x.all = append(x.all, edge{to: node{lwp: l.Owner}, certainty: inspect.Certain, evidence: l.Evidence})
	default:
		if h, ok := oneHolder(l.Holders); ok {
			if h.LWP == w.LWP {
				x.never = true
				return
			}
			x.all = append(x.all, edge{node{lwp: h.LWP}, h.Certainty, h.Evidence, h.Taken})
		}
	}
}

// lock is what is known of the lock that w waits for, nil if nothing is.
func (g *graph) lock(w inspect.Wait) *inspect.Lock {
	l, ok := g.locks[w.LWP]
	if !ok {
		if got, err := g.in.Lock(w); err == nil {
			l = &got
		}
		g.locks[w.LWP] = l
	}
	return l
}

// oneHolder picks the thread that has a lock, if the code shows one and no
// second one as surely.
func oneHolder(hs []inspect.Holder) (inspect.Holder, bool) {
	if len(hs) == 0 || hs[0].Certainty == inspect.Possible {
		return inspect.Holder{}, false
	}
	return hs[0], len(hs) == 1 || hs[1].Certainty != hs[0].Certainty
}

// reduce finds the nodes that can never go on: it takes away those that can,
// until no more can.
func (g *graph) reduce() {
	for n := range g.nodes {
		g.stuck[n] = true
	}
	for changed := true; changed; {
		changed = false
		for n, x := range g.nodes {
			if g.stuck[n] && g.goesOn(x) {
				delete(g.stuck, n)
				changed = true
			}
		}
	}
}

func (g *graph) goesOn(x *needs) bool {
	switch {
	case x.never:
		return false
	case x.free:
		return true
	case slices.ContainsFunc(x.all, func(e edge) bool { return g.stuck[e.to] }):
		return false
	}
	return len(x.any) == 0 || slices.ContainsFunc(x.any, func(e edge) bool { return !g.stuck[e.to] })
}
