package dap

import (
	"context"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// waitGraph is the wait-for graph of a picture: threads, and the items they wait for, with edges to those that
// must make progress first.
type waitGraph struct {
	Nodes []graphNode `json:"nodes"`
	Edges []graphEdge `json:"edges"`
	// Cycles lists the cycles in deadlock verdicts: threads, each waiting for the next, and the last for the
	// first.
	Cycles [][]string `json:"cycles"`
}

// graphNode is a thread, a lock or a barrier.
type graphNode struct {
	ID       string             `json:"id"`
	Kind     waitgraph.Kind     `json:"kind"` // thread, lock, barrier, other
	Name     string             `json:"name"`
	ThreadID int                `json:"threadId,omitempty"` // number of a thread in the answer to `threads`
	WaitKind picture.WaitKind   `json:"waitKind,omitempty"` // of a lock
	Address  *picture.Hex       `json:"address,omitempty"`
	Frame    *picture.Frame     `json:"frame,omitempty"` // the thread's place in the program
	State    *picture.StateName `json:"state,omitempty"`
}

// graphEdge leads from a waiting node to the one that must make progress first.
type graphEdge struct {
	From      string             `json:"from"`
	To        string             `json:"to"`
	Kind      waitgraph.Relation `json:"kind"` // waits for, held by, lacks, depends on
	Certainty picture.Certainty  `json:"certainty,omitempty"`
	Evidence  string             `json:"evidence,omitempty"`
	Frame     *picture.Frame     `json:"frame,omitempty"` // place at which the holder acquired the lock
}

// waitGraph returns the graph of the picture in the client's form.
func (v *view) waitGraph(context.Context, nothing) (waitGraph, error) {
	g := waitgraph.NewGraph(v.pic)
	out := waitGraph{Nodes: []graphNode{}, Edges: []graphEdge{}, Cycles: [][]string{}}
	for _, n := range g.Nodes {
		out.Nodes = append(out.Nodes, v.graphNode(n))
	}
	for _, e := range g.Edges {
		out.Edges = append(out.Edges, graphEdge{e.From, e.To, e.Relation, e.Certainty, e.Evidence, e.At})
	}
	for _, lwps := range g.Cycles {
		var cycle []string
		for _, lwp := range lwps {
			cycle = append(cycle, fmt.Sprintf("thread:%d", lwp))
		}
		out.Cycles = append(out.Cycles, cycle)
	}
	return out, nil
}

// graphNode returns a node with the client's names.
func (v *view) graphNode(n waitgraph.Node) graphNode {
	if n.Kind != waitgraph.Thread {
		name := n.Target.Name
		if name == "" || n.Kind == waitgraph.Barrier {
			name = waitText(picture.Wait{Kind: n.Target.Kind, Name: n.Target.Name, Address: n.Target.Address})
		}
		return graphNode{ID: n.ID, Kind: n.Kind, Name: name, WaitKind: n.Target.Kind, Address: n.Target.Address}
	}
	out := graphNode{ID: n.ID, Kind: n.Kind, Name: fmt.Sprintf("LWP %d", n.LWP)}
	if t := v.lwps[n.LWP]; t != nil {
		out.ThreadID, out.Name, out.Frame = t.id, v.threadName(t), t.innermostFrame()
		if t.State != nil {
			out.State = &t.State.Name
		}
	}
	return out
}
