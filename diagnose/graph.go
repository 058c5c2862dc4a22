package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The wait-for graph consists of threads and tasks, and of what each needs to proceed. Needs that many have in common
// are one bundle of edges for all of them, so that the graph grows with the threads and tasks and not with their
// pairs; all of its algorithms visit a bundle once.

// node is a thread or a task.
type node struct {
	lwp  int
	task picture.ID
}

func (n node) isThread() bool { return n.lwp != 0 }

// edge means that a node cannot proceed before another one has.
type edge struct {
	to        node
	certainty picture.Certainty
	evidence  string
	place     *picture.Frame // where the other node acquired, or may release, the object of the wait
	help      bool           // the other node has not acquired that object, and may release it
}

// bundle is a set of edges that nodes share: all of them must be satisfied, or any one.
// An edge from a node to itself does not count.
type bundle struct {
	edges []edge
	any   bool
	// may is set where the edges lead to all nodes that may end the wait, and it is unknown which one must. If no
	// such node can, the users wait for ever, but that is no circle of threads.
	may bool
	// help is set if any one of the edges lets the users proceed, whatever else they need.
	help  bool
	users []node // the nodes that need the bundle
	least picture.Certainty
}

// needs are the bundles that a node needs to proceed, all of them. Without any, it proceeds by itself, or its needs are
// unknown.
type needs struct {
	bundles []*bundle
	helpers helpers
	// never is set if no event lets the node proceed, whatever others do.
	never bool
	// verdict is the certainty of the verdict that set never; "" if never follows from the wait itself.
	verdict picture.Certainty
}

// helpers are the threads and tasks that may release a lock which they have not acquired. One of them lets the
// thread that waits for the lock proceed, whatever the lock's holder does.
type helpers struct {
	// known has an edge to each helper that releases this very lock.
	known *bundle
	// perhaps are those that release some lock of the same kind.
	perhaps []node
}

// helpWith selects the helpers that count.
type helpWith uint8

const (
	noHelp helpWith = iota
	knownHelp
	anyHelp
)

// leastCertainty returns the certainty of the least certain edge.
func (b *bundle) leastCertainty() picture.Certainty {
	if b.least == "" {
		b.least = picture.Certain
		for _, e := range b.edges {
			b.least = b.least.Weaker(e.certainty)
		}
	}
	return b.least
}

// add adds bundles; an empty one does not count.
func (x *needs) add(bs ...*bundle) {
	for _, b := range bs {
		if b != nil && len(b.edges) > 0 {
			x.bundles = append(x.bundles, b)
		}
	}
}

// addEdge adds a single edge that must be satisfied.
func (x *needs) addEdge(e edge) { x.add(&bundle{edges: []edge{e}}) }

// waitGraph is the graph of the nodes that wait for each other. The results of reduce are valid after it.
type waitGraph struct {
	nodes    map[node]*needs
	inOrder  []node             // the nodes in the order in which they were added
	incoming map[node][]*bundle // the bundles that have an edge to a node, one for each edge
	linked   map[*bundle]bool   // all bundles
	perhaps  map[node][]node    // the nodes that a node may help

	stuck       map[node]bool  // nodes that can never proceed; by reduce
	rings       map[node]*ring // of stuck nodes, without bundles of may or help; by reduce
	mayRings    map[node]*ring // the same, with bundles of may
	helpedRings map[node]*ring // the same, with bundles of help
	doubtful    map[node]bool  // stuck nodes that a possible helper may let proceed
	left        map[node]bool  // threads that wait for a lock that code left without a release; by separate
}

func newGraph() *waitGraph {
	return &waitGraph{
		nodes: map[node]*needs{}, incoming: map[node][]*bundle{}, stuck: map[node]bool{},
		linked: map[*bundle]bool{}, perhaps: map[node][]node{},
	}
}

// addNodes adds nodes with their needs, and all nodes that these lead to.
func (g *waitGraph) addNodes(needsOf func(node) *needs, start ...node) {
	for queue := start; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if g.nodes[n] != nil {
			continue
		}
		x := needsOf(n)
		g.nodes[n] = x
		g.inOrder = append(g.inOrder, n)
		for _, m := range x.helpers.perhaps {
			g.perhaps[m] = append(g.perhaps[m], n)
			queue = append(queue, m)
		}
		for _, b := range x.allBundles() {
			b.users = append(b.users, n)
			if g.linked[b] {
				continue
			}
			g.linked[b] = true
			for _, e := range b.edges {
				g.incoming[e.to] = append(g.incoming[e.to], b)
				queue = append(queue, e.to)
			}
		}
	}
}

// reduce finds the nodes that can never proceed.
func (g *waitGraph) reduce() {
	g.stuck = g.stuckWithout()
	g.findDoubtful()
	may, help := false, false
	for b := range g.linked {
		may, help = may || b.may, help || b.help
	}
	g.rings = g.findRings(func(b *bundle) bool { return !b.may && !b.help })
	g.mayRings, g.helpedRings = g.rings, g.rings
	if may {
		g.mayRings = g.findRings(func(b *bundle) bool { return !b.help })
	}
	if help {
		g.helpedRings = g.findRings(func(b *bundle) bool { return !b.may })
	}
}

// findDoubtful finds the stuck nodes that would proceed if all possible helpers helped them.
func (g *waitGraph) findDoubtful() {
	if g.doubtful = map[node]bool{}; len(g.perhaps) == 0 {
		return
	}
	sure := g.fixpoint(nil, func(node) bool { return false }, anyHelp)
	for n := range g.stuck {
		if !sure[n] {
			g.doubtful[n] = true
		}
	}
}

// markStuck marks threads that can never proceed by a verdict of a certainty, and reduces the graph again.
func (g *waitGraph) markStuck(c picture.Certainty, lwps []int) {
	for _, lwp := range lwps {
		if x := g.nodes[node{lwp: lwp}]; x != nil {
			x.never, x.verdict = true, c
		}
	}
	g.reduce()
}

// stuckWithout returns the nodes that can never proceed if some others do not.
func (g *waitGraph) stuckWithout(others ...node) map[node]bool {
	return g.fixpoint(setOf(others), func(node) bool { return false }, knownHelp)
}

func setOf(nodes []node) map[node]bool {
	out := map[node]bool{}
	for _, n := range nodes {
		out[n] = true
	}
	return out
}

// separate removes the needs of threads that can never proceed, because code left the lock that they wait for. The
// threads whose code comes to some release do not hold that lock, and a ring of these does not explain its waiters.
func (g *waitGraph) separate(left []node) {
	g.left = setOf(left)
	for _, n := range left {
		x := g.nodes[n]
		for _, b := range x.bundles {
			b.users = slices.DeleteFunc(b.users, func(u node) bool { return u == n })
		}
		x.bundles, x.never, x.verdict = nil, true, picture.Likely
	}
	g.reduce()
}

// behindLeft returns the stuck nodes that would proceed if the threads did that wait for locks that were left.
func (g *waitGraph) behindLeft() map[node]bool {
	out := map[node]bool{}
	if len(g.left) == 0 {
		return out
	}
	stuck := g.fixpoint(nil, func(n node) bool { return g.left[n] }, knownHelp)
	for n := range g.stuck {
		out[n] = !stuck[n]
	}
	return out
}

// fixpoint returns the nodes that can never proceed if the held nodes do not, and the free ones do: it removes the
// nodes that can proceed until no more can. help selects the helpers that count.
func (g *waitGraph) fixpoint(held map[node]bool, free func(node) bool, help helpWith) map[node]bool {
	stuck := map[node]bool{}
	open := map[*bundle]int{} // edges to be satisfied yet
	left := map[node]int{}    // bundles to be satisfied yet
	var queue []node
	for _, n := range g.inOrder {
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
		for _, b := range g.incoming[queue[0]] {
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

// dependents returns the stuck nodes that wait for one of some stuck nodes, directly or not.
func (g *waitGraph) dependents(nodes ...node) map[node]bool {
	seen, done := map[node]bool{}, map[*bundle]bool{}
	for queue := nodes; len(queue) > 0; queue = queue[1:] {
		if !g.stuck[queue[0]] {
			continue
		}
		for _, b := range g.incoming[queue[0]] {
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

// findEdge returns the edge from one node to another that must be satisfied.
func (g *waitGraph) findEdge(from, to node) (edge, bool) {
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

// shortestCycle returns the shortest path from n back to n within a ring, or nil. Edges to helpers count if help
// is set.
func (g *waitGraph) shortestCycle(n node, rings map[node]*ring, help bool) []hop {
	ring := rings[n]
	if ring == nil || len(ring.nodes) < 2 {
		return nil
	}
	closing := map[*bundle]edge{} // the first edge to n of each bundle that has one
	for _, b := range g.incoming[n] {
		if _, has := closing[b]; !has && (help || !b.help) {
			closing[b] = b.edges[slices.IndexFunc(b.edges, func(e edge) bool { return e.to == n })]
		}
	}
	came, done := map[node]hop{}, map[*bundle]bool{}
	for queue := []node{n}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, b := range g.nodes[at].allBundles() {
			if b.may || b.help && !help {
				continue
			}
			if e, closes := closing[b]; closes && at != n {
				return pathTo(n, hop{at, e}, came)
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

// pathTo returns the path from start that ends with last; came has the hop by which each node was reached.
func pathTo(start node, last hop, came map[node]hop) []hop {
	path := []hop{last}
	for last.from != start {
		last = came[last.from]
		path = append(path, last)
	}
	slices.Reverse(path)
	return path
}

// certainty returns how certain it is that a stuck node can never proceed: that of the least certain edge that it
// depends on, directly or not.
func (g *waitGraph) certainty(n node) picture.Certainty {
	c := picture.Certain
	if g.doubtful[n] {
		return picture.Possible
	}
	if r := g.mayRings[n]; r != nil {
		c = r.weakest
	}
	for _, b := range g.nodes[n].bundles {
		c = c.Weaker(b.leastCertainty())
	}
	return c
}
