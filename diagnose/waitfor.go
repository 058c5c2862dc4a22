package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The wait-for graph: threads and tasks, and what each needs to proceed. What many need is
// one bundle of edges for all of them, so that the graph grows with the threads and tasks
// and not with their pairs; all of its algorithms visit a bundle once.

// node is a thread or a task.
type node struct {
	lwp  int
	task picture.ID
}

func (n node) isThread() bool { return n.lwp != 0 }

// edge says that a node cannot proceed before another did.
type edge struct {
	to        node
	certainty picture.Certainty
	evidence  string
	taken     *picture.Frame // where the other acquired, or may release, what the node waits for
	help      bool           // the other has not acquired what the node waits for, and may release it
}

// bundle is a set of edges that nodes share: each of them must be satisfied, or any one.
// An edge from a node to itself does not count.
type bundle struct {
	edges []edge
	any   bool
	// may is set for those who may do what the nodes wait for, where it is not known who must.
	// That none of them can keeps the nodes for ever, but it makes no circle of threads.
	may bool
	// help is set for those of whom any one lets the nodes proceed, whatever else they need.
	help  bool
	users []node // who has it among its needs
	least picture.Certainty
}

// needs are what a node needs to proceed: all of the bundles. Without any, it proceeds by
// itself, or what it needs is not known.
type needs struct {
	bundles []*bundle
	helpers helpers
	// never is set if nothing will let it proceed, whatever others do.
	never bool
	// verdict is the certainty of the verdict that says so; empty if it follows by itself.
	verdict picture.Certainty
}

// leastSure is the least sure of the edges.
func (b *bundle) leastSure() picture.Certainty {
	if b.least == "" {
		b.least = picture.Certain
		for _, e := range b.edges {
			b.least = b.least.Weaker(e.certainty)
		}
	}
	return b.least
}

func (x *needs) add(bs ...*bundle) {
	for _, b := range bs {
		if b != nil && len(b.edges) > 0 {
			x.bundles = append(x.bundles, b)
		}
	}
}

// one adds a single edge that must be satisfied.
func (x *needs) one(e edge) { x.add(&bundle{edges: []edge{e}}) }

// graph is who waits for whom.
type graph struct {
	nodes   map[node]*needs
	entered []node             // as they were entered
	into    map[node][]*bundle // the bundles that have an edge to a node, one for each edge
	stuck   map[node]bool      // nodes that can never proceed; after reduce
	rings   map[node]*ring     // of stuck nodes, by what they must have; after reduce
	reach   map[node]*ring     // the same, by what may help them, too
	aided   map[node]*ring     // the same, by those who may release a lock that they have not acquired, too
	doubt   map[node]bool      // stuck nodes that others may let proceed, which is not known
	linked  map[*bundle]bool
	perhaps map[node][]node // the nodes that a node may help
}

func newGraph() *graph {
	return &graph{
		nodes: map[node]*needs{}, into: map[node][]*bundle{}, stuck: map[node]bool{},
		linked: map[*bundle]bool{}, perhaps: map[node][]node{},
	}
}

// all are the bundles that a node needs, with that of its helpers.
func (x *needs) all() []*bundle {
	if x.helpers.known == nil || len(x.helpers.known.edges) == 0 {
		return x.bundles
	}
	return append(slices.Clip(x.bundles), x.helpers.known)
}

// enter adds nodes, with what they need as of tells, and all that they lead to.
func (g *graph) enter(of func(node) *needs, start ...node) {
	for queue := start; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if g.nodes[n] != nil {
			continue
		}
		x := of(n)
		g.nodes[n] = x
		g.entered = append(g.entered, n)
		for _, m := range x.helpers.perhaps {
			g.perhaps[m] = append(g.perhaps[m], n)
			queue = append(queue, m)
		}
		for _, b := range x.all() {
			b.users = append(b.users, n)
			if g.linked[b] {
				continue
			}
			g.linked[b] = true
			for _, e := range b.edges {
				g.into[e.to] = append(g.into[e.to], b)
				queue = append(queue, e.to)
			}
		}
	}
}

// reduce finds the nodes that can never proceed.
func (g *graph) reduce() {
	g.stuck = g.stuckIf()
	g.findDoubt()
	may, help := false, false
	for b := range g.linked {
		may, help = may || b.may, help || b.help
	}
	g.rings = g.findRings(func(b *bundle) bool { return !b.may && !b.help })
	g.reach, g.aided = g.rings, g.rings
	if may {
		g.reach = g.findRings(func(b *bundle) bool { return !b.help })
	}
	if help {
		g.aided = g.findRings(func(b *bundle) bool { return !b.may })
	}
}

// findDoubt finds the stuck nodes that would not be if those helped them who perhaps do.
func (g *graph) findDoubt() {
	if g.doubt = map[node]bool{}; len(g.perhaps) == 0 {
		return
	}
	sure := g.fixpoint(nil, func(node) bool { return false }, anyHelp)
	for n := range g.stuck {
		if !sure[n] {
			g.doubt[n] = true
		}
	}
}

// never enters that some threads can never proceed, as a verdict says.
func (g *graph) never(c picture.Certainty, lwps []int) {
	for _, lwp := range lwps {
		if x := g.nodes[node{lwp: lwp}]; x != nil {
			x.never, x.verdict = true, c
		}
	}
	g.reduce()
}

// stuckIf finds the nodes that can never proceed if some do not.
func (g *graph) stuckIf(never ...node) map[node]bool {
	held := map[node]bool{}
	for _, n := range never {
		held[n] = true
	}
	return g.fixpoint(held, func(node) bool { return false }, knownHelp)
}

// fixpoint finds the nodes that can never proceed if those that are held do not, and those
// that are free do: it takes away those that can, until no more can. Of the helpers those count that help names.
func (g *graph) fixpoint(held map[node]bool, free func(node) bool, help helpWith) map[node]bool {
	stuck := map[node]bool{}
	open := map[*bundle]int{} // edges that are to be satisfied yet
	left := map[node]int{}    // bundles that are to be satisfied yet
	var queue []node
	for _, n := range g.entered {
		x := g.nodes[n]
		stuck[n] = true
		left[n] = len(x.bundles)
		for _, b := range x.bundles {
			if open[b] = len(b.edges); b.any {
				open[b] = 1
			}
		}
		if free(n) || left[n] == 0 && !x.never && !held[n] {
			queue = append(queue, n)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if !stuck[queue[0]] {
			continue
		}
		delete(stuck, queue[0])
		if help == anyHelp {
			queue = append(queue, g.perhaps[queue[0]]...)
		}
		for _, b := range g.into[queue[0]] {
			if b.help && help != noHelp {
				queue = append(queue, b.users...)
			}
			if b.help {
				continue
			}
			if open[b]--; open[b] != 0 {
				continue
			}
			for _, u := range b.users {
				if left[u]--; left[u] == 0 && !g.nodes[u].never && !held[u] {
					queue = append(queue, u)
				}
			}
		}
	}
	return stuck
}

// waitersOf are the stuck nodes that wait for one of some stuck nodes, directly or not.
func (g *graph) waitersOf(of ...node) map[node]bool {
	seen, done := map[node]bool{}, map[*bundle]bool{}
	for queue := of; len(queue) > 0; queue = queue[1:] {
		if !g.stuck[queue[0]] {
			continue
		}
		for _, b := range g.into[queue[0]] {
			if done[b] {
				continue
			}
			done[b] = true
			for _, u := range b.users {
				if u != queue[0] && g.stuck[u] && !seen[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return seen
}

// edgeTo is the edge from one node to another that must be satisfied, if there is one.
func (g *graph) edgeTo(from, to node) (edge, bool) {
	for _, b := range g.nodes[from].bundles {
		if i := slices.IndexFunc(b.edges, func(e edge) bool { return e.to == to }); i >= 0 && !b.any {
			return b.edges[i], true
		}
	}
	return edge{}, false
}

// hop is an edge from one node to the next.
type hop struct {
	from node
	edge edge
}

// cycle is the shortest path from n back to n over stuck nodes, by the edges that rings were found by: those to
// helpers count if help is set. It is nil if there is none.
func (g *graph) cycle(n node, rings map[node]*ring, help bool) []hop {
	ring := rings[n]
	if ring == nil || len(ring.nodes) < 2 {
		return nil
	}
	closing := map[*bundle]edge{} // the first edge to n of each bundle that has one
	for _, b := range g.into[n] {
		if _, has := closing[b]; !has && (help || !b.help) {
			closing[b] = b.edges[slices.IndexFunc(b.edges, func(e edge) bool { return e.to == n })]
		}
	}
	came, done := map[node]hop{}, map[*bundle]bool{}
	for queue := []node{n}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, b := range g.nodes[at].all() {
			if b.may || b.help && !help {
				continue
			}
			if e, closes := closing[b]; closes && at != n {
				return unwind(n, hop{at, e}, came)
			}
			if done[b] {
				continue
			}
			done[b] = true
			for _, e := range b.edges {
				if _, seen := came[e.to]; !seen && e.to != n && rings[e.to] == ring {
					came[e.to] = hop{at, e}
					queue = append(queue, e.to)
				}
			}
		}
	}
	return nil
}

func unwind(start node, last hop, came map[node]hop) []hop {
	path := []hop{last}
	for last.from != start {
		last = came[last.from]
		path = append(path, last)
	}
	slices.Reverse(path)
	return path
}

// weakest is how sure it is that a stuck node can never proceed: the least sure of all that
// it waits for, directly or not.
func (g *graph) weakest(n node) picture.Certainty {
	c := picture.Certain
	if g.doubt[n] {
		return picture.Possible
	}
	if r := g.reach[n]; r != nil {
		c = r.weakest
	}
	for _, b := range g.nodes[n].bundles {
		c = c.Weaker(b.leastSure())
	}
	return c
}
