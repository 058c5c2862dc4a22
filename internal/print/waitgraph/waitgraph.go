// Package waitgraph builds the wait-for graph of a picture for drawings: threads, the objects that they wait for, and
// edges to the threads that must make progress first.
package waitgraph

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Kind is the kind of a node.
type Kind string

// Kinds of nodes.
const (
	Thread  Kind = "thread"
	Lock    Kind = "lock" // or another object that one thread holds at a time
	Barrier Kind = "barrier"
	Other   Kind = "other" // an object in a verdict only, not in the facts: tasks, an iteration
)

// Relation is the meaning of an edge.
type Relation string

// Relations, from the waiting node to the node that must make progress first.
const (
	WaitsFor Relation = "waits for"
	HeldBy   Relation = "held by"
	Lacks    Relation = "lacks" // a barrier, the thread that has not arrived
	NeedsOf  Relation = "depends on"
	Releases Relation = "may be released by" // a lock, a thread that has not acquired it
)

// Graph is the wait-for graph of a picture.
type Graph struct {
	Nodes []Node // each once, in the order of the facts
	Edges []Edge
	// Cycles are the cycles in deadlock verdicts: LWPs, each waiting for the next, the last for the first.
	Cycles [][]int
}

// Node is a thread, or an object that threads wait for.
type Node struct {
	ID   string // unique in the graph
	Kind Kind
	LWP  int // of a thread
	// Target is the object of waits; empty for a thread.
	Target picture.WaitTarget
	// Cyclic is set if the node is on one of the cycles.
	Cyclic bool
}

// Edge leads from a waiting node to the node that must make progress first.
type Edge struct {
	From, To  string // IDs of nodes
	Relation  Relation
	Certainty picture.Certainty // missing if the wait itself shows it
	Evidence  string
	At        *picture.Frame // place where the holder acquired it
	Cyclic    bool           // the edge is part of one of the cycles
}

// NewGraph builds the graph of a picture from its facts and the cycles of its verdicts.
func NewGraph(pic *picture.Picture) Graph {
	b := builder{
		at: map[string]int{}, edges: map[[2]string]int{},
		barriers: map[picture.ID]string{}, places: map[string]string{},
	}
	if pic.Facts != nil {
		b.facts(pic.Facts)
	}
	for _, v := range pic.Verdicts {
		b.cycle(v.Cycle)
	}
	return b.out
}

// builder builds a graph with each node and each edge once.
type builder struct {
	at    map[string]int    // indices of nodes
	edges map[[2]string]int // indices of edges

	barriers map[picture.ID]string // their nodes
	places   map[string]string     // the nodes of barriers by address and region
	out      Graph
}

// facts adds the objects that threads wait for, and their holders.
func (b *builder) facts(f *picture.Facts) {
	for i := range f.Waits {
		w := &f.Waits[i]
		if w.Kind == picture.WaitSleep || w.Thread == f.EndingThread() { // it waits for no thread
			continue
		}
		from := b.thread(w.Thread)
		switch {
		case w.Lock != "":
			to := b.node(Node{ID: lockID(w.Lock), Kind: Lock, Target: target(w)})
			b.edge(Edge{From: from, To: to, Relation: WaitsFor})
		case w.Barrier != "":
			to := b.barrier(w)
			b.edge(Edge{From: from, To: to, Relation: WaitsFor})
		}
		if w.WaitOn != 0 {
			b.edge(Edge{From: from, To: b.thread(w.WaitOn), Relation: WaitsFor, Evidence: w.Evidence})
		}
	}
	for _, l := range f.Locks {
		if b.contains(lockID(l.ID)) { // only objects that threads wait for
			b.holders(l)
		}
	}
	for _, r := range f.Barriers {
		from, ok := b.barriers[r.ID]
		for _, lwp := range r.Missing {
			if to := b.thread(lwp); ok && !b.waits(to, from) { // it may wait for others there
				b.edge(Edge{From: from, To: to, Relation: Lacks, Evidence: r.Evidence})
			}
		}
	}
}

// barrier returns the node of the barrier at which a thread waits. Threads may see one barrier in different
// states, as its release passes through a tree: it is one node.
func (b *builder) barrier(w *picture.Wait) string {
	if id, ok := b.barriers[w.Barrier]; ok {
		return id
	}
	n := Node{ID: "barrier:" + string(w.Barrier), Kind: Barrier, Target: target(w)}
	if w.Address != nil {
		key := fmt.Sprint(*w.Address, " ", w.Region)
		if id, ok := b.places[key]; ok {
			n.ID = id
		}
		b.places[key] = n.ID
	}
	b.barriers[w.Barrier] = n.ID
	return b.node(n)
}

// waits reports whether there is an edge between two nodes.
func (b *builder) waits(from, to string) bool {
	_, ok := b.edges[[2]string{from, to}]
	return ok
}

// holders adds the holders of a lock: the recorded owner, and the threads that hold it according to their code.
func (b *builder) holders(l picture.Lock) {
	for _, h := range l.Holders {
		b.edge(Edge{
			From: lockID(l.ID), To: b.thread(h.Thread), Relation: HeldBy,
			Certainty: h.Certainty, Evidence: h.Evidence, At: h.AcquiredAt,
		})
	}
	if l.Owner != 0 {
		b.edge(Edge{
			From: lockID(l.ID), To: b.thread(l.Owner), Relation: HeldBy,
			Certainty: picture.Certain, Evidence: l.Evidence, At: l.OwnerAt,
		})
	}
	for _, r := range l.Releases {
		if r.Thread != 0 && r.Certainty != picture.Possible {
			b.edge(Edge{
				From: lockID(l.ID), To: b.thread(r.Thread), Relation: Releases, Certainty: r.Certainty,
				Evidence: "its code comes to a release, and to no call before that acquires it", At: r.Frame,
			})
		}
	}
}

// cycle marks the nodes and edges of a cycle, and adds those that are missing in the facts.
func (b *builder) cycle(steps []picture.CycleStep) {
	var lwps []int
	for _, s := range steps {
		from, to := b.thread(s.Thread), b.thread(s.HeldBy)
		lwps = append(lwps, s.Thread)
		b.out.Nodes[b.at[from]].Cyclic = true
		via := b.relationBetween(from, to)
		if via == "" {
			if _, direct := b.edges[[2]string{from, to}]; direct {
				b.mark(from, to)
				continue
			}
			via = b.node(Node{ID: fmt.Sprintf("wait:%d", s.Thread), Kind: Other, Target: s.WaitsFor})
			b.edge(Edge{From: from, To: via, Relation: WaitsFor})
			b.edge(Edge{From: via, To: to, Relation: NeedsOf, Evidence: s.HeldEvidence, At: s.HeldAt})
		}
		b.out.Nodes[b.at[via]].Cyclic = true
		b.mark(from, via)
		b.mark(via, to)
	}
	if len(lwps) > 0 {
		b.out.Cycles = append(b.out.Cycles, lwps)
	}
}

// relationBetween returns the node on the path from one node to another, or "".
func (b *builder) relationBetween(from, to string) string {
	for _, e := range b.out.Edges {
		if e.From != from || b.out.Nodes[b.at[e.To]].Kind == Thread {
			continue
		}
		if _, ok := b.edges[[2]string{e.To, to}]; ok {
			return e.To
		}
	}
	return ""
}

// mark marks an edge as part of a cycle.
func (b *builder) mark(from, to string) {
	b.out.Edges[b.edges[[2]string{from, to}]].Cyclic = true
}

// edge adds an edge, unless there is one between the two.
func (b *builder) edge(e Edge) {
	key := [2]string{e.From, e.To}
	if _, ok := b.edges[key]; !ok {
		b.edges[key] = len(b.out.Edges)
		b.out.Edges = append(b.out.Edges, e)
	}
}

// node adds a node, unless it exists, and returns its ID.
func (b *builder) node(n Node) string {
	if !b.contains(n.ID) {
		b.at[n.ID] = len(b.out.Nodes)
		b.out.Nodes = append(b.out.Nodes, n)
	}
	return n.ID
}

func (b *builder) contains(id string) bool {
	_, ok := b.at[id]
	return ok
}

func (b *builder) thread(lwp int) string {
	return b.node(Node{ID: fmt.Sprintf("thread:%d", lwp), Kind: Thread, LWP: lwp})
}

func lockID(id picture.ID) string { return "lock:" + string(id) }

// target returns the object of a wait.
func target(w *picture.Wait) picture.WaitTarget {
	return picture.WaitTarget{Kind: w.Kind, Name: w.Name, Address: w.Address}
}
