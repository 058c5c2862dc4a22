package diagnose

import "github.com/ompd-inspect/ompd-inspect/picture"

// ring is a strongly connected component of the stuck nodes: all of them wait for each
// other, directly or not, or it is one node alone.
type ring struct {
	nodes []node
	// own is the least sure of the edges to stuck nodes that begin in the ring.
	own picture.Certainty
	// weakest is the least sure of the edges that can be reached from the ring.
	weakest picture.Certainty
}

// vertex is a node or a bundle: bundles are vertices of their own while rings are looked
// for, so that no pair of nodes is visited for each bundle that they share.
type vertex struct {
	node   node
	bundle *bundle
}

// tarjan is one run of Tarjan's algorithm, without recursion: chains of tasks are long.
type tarjan struct {
	*graph
	index, low map[vertex]int
	on         map[vertex]bool // on the stack of vertices whose component is not complete
	stack      []vertex
	of         map[vertex]*ring
	rings      map[node]*ring
	counts     func(*bundle) bool // the bundles that count
}

// visit is a vertex on the path of the search, and its next successor.
type visit struct {
	v    vertex
	next int
}

// findRings finds the strongly connected components of the stuck nodes by the bundles that count.
func (g *graph) findRings(counts func(*bundle) bool) map[node]*ring {
	t := &tarjan{graph: g, index: map[vertex]int{}, low: map[vertex]int{}, on: map[vertex]bool{},
		of: map[vertex]*ring{}, rings: map[node]*ring{}, counts: counts}
	for _, n := range g.entered {
		if v := (vertex{node: n}); g.stuck[n] && t.of[v] == nil {
			t.search(v)
		}
	}
	return t.rings
}

// successor is the i-th successor of a vertex; not ok if it has no more, skip if it does
// not count.
func (t *tarjan) successor(v vertex, i int) (to vertex, skip, ok bool) {
	if v.bundle == nil {
		bs := t.nodes[v.node].all()
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
		case t.on[to]:
			t.low[at.v] = min(t.low[at.v], t.index[to])
		}
	}
}

// open numbers a vertex, from 1, and puts it on the stack.
func (t *tarjan) open(v vertex) vertex {
	t.index[v] = len(t.index) + 1
	t.low[v] = t.index[v]
	t.stack, t.on[v] = append(t.stack, v), true
	return v
}

// close makes a ring of the stack down to root. All that can be reached from it is closed
// already.
func (t *tarjan) close(root vertex) {
	r := &ring{own: picture.Certain, weakest: picture.Certain}
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	members := t.stack[at:]
	for _, v := range members {
		t.on[v], t.of[v] = false, r
	}
	for _, v := range members {
		if v.bundle == nil {
			r.nodes = append(r.nodes, v.node)
			t.rings[v.node] = r
			if c := t.nodes[v.node].verdict; c != "" {
				r.own, r.weakest = r.own.Weaker(c), r.weakest.Weaker(c)
			}
			if t.doubt[v.node] {
				r.own, r.weakest = picture.Possible, picture.Possible
			}
			for _, b := range t.nodes[v.node].all() {
				if o := t.of[vertex{bundle: b}]; o != nil && o != r {
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
			if o := t.of[vertex{node: e.to}]; o != r {
				r.weakest = r.weakest.Weaker(o.weakest)
			}
		}
	}
	t.stack = t.stack[:at]
}
