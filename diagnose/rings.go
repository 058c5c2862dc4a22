package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ring is a strongly connected component of the stuck nodes: all of them wait for each other, directly or not, or it is
// a single node.
type ring struct {
	nodes []node
	// own is the certainty of the least certain edge from the ring to a stuck node.
	own picture.Certainty
	// weakest is the certainty of the least certain edge that can be reached from the ring.
	weakest picture.Certainty
}

// vertex is a node or a bundle: in the search for rings, bundles are vertices of their own, so that no pair of nodes is
// visited for each bundle that they share.
type vertex struct {
	node   node
	bundle *bundle
}

// tarjan is one run of Tarjan's algorithm, without recursion: chains of tasks are long.
type tarjan struct {
	*waitGraph
	index, low map[vertex]int
	onStack    map[vertex]bool
	stack      []vertex // vertices of incomplete components
	ringOf     map[vertex]*ring
	rings      map[node]*ring
	counts     func(*bundle) bool // the bundles that count
}

// visit is a vertex on the path of the search, and its next successor.
type visit struct {
	v    vertex
	next int
}

// findRings returns the ring of each stuck node by the bundles that count.
func (g *waitGraph) findRings(counts func(*bundle) bool) map[node]*ring {
	t := &tarjan{waitGraph: g, index: map[vertex]int{}, low: map[vertex]int{}, onStack: map[vertex]bool{},
		ringOf: map[vertex]*ring{}, rings: map[node]*ring{}, counts: counts}
	for _, n := range g.inOrder {
		if v := (vertex{node: n}); g.stuck[n] && t.ringOf[v] == nil {
			t.search(v)
		}
	}
	return t.rings
}

// successor returns the i-th successor of a vertex, and skip if that does not count; not ok after the last one.
func (t *tarjan) successor(v vertex, i int) (to vertex, skip, ok bool) {
	if v.bundle == nil {
		bs := t.nodes[v.node].allBundles()
		if i == len(bs) {
			return vertex{}, false, false
		}
		return vertex{bundle: bs[i]}, !t.counts(bs[i]), true
	}
	if i == len(v.bundle.edges) {
		return vertex{}, false, false
	}
	n := v.bundle.edges[i].to
	return vertex{node: n}, !t.stuck[n], true
}

// search finds the components that can be reached from a vertex.
func (t *tarjan) search(start vertex) {
	path := []visit{{v: t.open(start)}}
	for len(path) > 0 {
		at := &path[len(path)-1]
		to, skip, ok := t.successor(at.v, at.next)
		at.next++
		switch {
		case !ok:
			done := at.v
			if path = path[:len(path)-1]; len(path) > 0 {
				up := path[len(path)-1].v
				t.low[up] = min(t.low[up], t.low[done])
			}
			if t.low[done] == t.index[done] {
				t.close(done)
			}
		case skip:
		case t.index[to] == 0:
			path = append(path, visit{v: t.open(to)})
		case t.onStack[to]:
			t.low[at.v] = min(t.low[at.v], t.index[to])
		}
	}
}

// open numbers a vertex, from 1, and pushes it on the stack.
func (t *tarjan) open(v vertex) vertex {
	t.index[v] = len(t.index) + 1
	t.low[v] = t.index[v]
	t.stack, t.onStack[v] = append(t.stack, v), true
	return v
}

// close makes a ring of the stack down to root. The components that can be reached from it are closed already.
func (t *tarjan) close(root vertex) {
	r := &ring{own: picture.Certain, weakest: picture.Certain}
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	members := t.stack[at:]
	for _, v := range members {
		t.onStack[v], t.ringOf[v] = false, r
	}
	for _, v := range members {
		if v.bundle == nil {
			r.nodes = append(r.nodes, v.node)
			t.rings[v.node] = r
			if c := t.nodes[v.node].verdict; c != "" {
				r.own, r.weakest = r.own.Weaker(c), r.weakest.Weaker(c)
			}
			if t.doubtful[v.node] {
				r.own, r.weakest = picture.Possible, picture.Possible
			}
			for _, b := range t.nodes[v.node].allBundles() {
				if o := t.ringOf[vertex{bundle: b}]; o != nil && o != r {
					r.own, r.weakest = r.own.Weaker(o.own), r.weakest.Weaker(o.weakest)
				}
			}
			continue
		}
		for _, e := range v.bundle.edges {
			if !t.stuck[e.to] {
				continue
			}
			r.own, r.weakest = r.own.Weaker(e.certainty), r.weakest.Weaker(e.certainty)
			if o := t.ringOf[vertex{node: e.to}]; o != r {
				r.weakest = r.weakest.Weaker(o.weakest)
			}
		}
	}
	t.stack = t.stack[:at]
}

// allBundles returns the bundles that a node needs, with that of its helpers.
func (x *needs) allBundles() []*bundle {
	if x.helpers.known == nil || len(x.helpers.known.edges) == 0 {
		return x.bundles
	}
	return append(slices.Clip(x.bundles), x.helpers.known)
}
