package waitgraph_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

func golden(t *testing.T, name string) *picture.Picture {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/golden/" + name + "/picture.json")
	if err != nil {
		t.Fatal(err)
	}
	pic := new(picture.Picture)
	if err := json.Unmarshal(b, pic); err != nil {
		t.Fatal(err)
	}
	return pic
}

// TestCycles checks that each step of a cycle is a path of marked edges, even if the facts lack it, and that no
// edge is duplicated.
func TestCycles(t *testing.T) {
	for name, via := range map[string]waitgraph.Kind{
		"llvm-deadlock": waitgraph.Lock, "gnu-deadlock": waitgraph.Lock,
		"llvm-deadlock-task": "", "gnu-deadlock-join": "",
	} {
		pic := golden(t, name)
		g := waitgraph.NewGraph(pic)
		if len(g.Cycles) != 1 || len(g.Cycles[0]) != len(pic.Verdicts[0].Cycle) {
			t.Errorf("%s: cycles %v", name, g.Cycles)
			continue
		}
		next, kinds, seen := map[string]string{}, map[string]waitgraph.Kind{}, map[[2]string]bool{}
		for _, n := range g.Nodes {
			kinds[n.ID] = n.Kind
		}
		for _, e := range g.Edges {
			if seen[[2]string{e.From, e.To}] || kinds[e.From] == "" || kinds[e.To] == "" {
				t.Errorf("%s: edge %v is there twice, or leads nowhere", name, e)
			}
			if seen[[2]string{e.From, e.To}] = true; e.Cyclic {
				next[e.From] = e.To
			}
		}
		for _, s := range pic.Verdicts[0].Cycle {
			from, to := nodeOf(g, s.Thread), nodeOf(g, s.HeldBy)
			mid := next[from]
			if mid != to && next[mid] != to || via != "" && kinds[mid] != via {
				t.Errorf("%s: from %s the cycle leads to %s and %s, want %s", name, from, mid, next[mid], to)
			}
		}
	}
}

func nodeOf(g waitgraph.Graph, lwp int) string {
	for _, n := range g.Nodes {
		if n.Kind == waitgraph.Thread && n.LWP == lwp {
			return n.ID
		}
	}
	return ""
}

// TestBarrier checks the waiting threads of a barrier, and the missing ones.
func TestBarrier(t *testing.T) {
	g := waitgraph.NewGraph(golden(t, "llvm-barrier"))
	n := map[waitgraph.Relation]int{}
	for _, e := range g.Edges {
		n[e.Relation]++
	}
	if n[waitgraph.WaitsFor] < 1 || n[waitgraph.Lacks] < 1 || len(g.Cycles) != 0 {
		t.Errorf("edges %v, cycles %v", n, g.Cycles)
	}
}

// TestViews checks that a barrier which threads see in different states is one node, with all its waiters.
func TestViews(t *testing.T) {
	address := picture.Address(64)
	g := waitgraph.NewGraph(&picture.Picture{Facts: &picture.Facts{
		Waits: []picture.Wait{
			{Thread: 1, Kind: picture.WaitBarrier, Barrier: "a", Address: address, Region: "r"},
			{Thread: 2, Kind: picture.WaitBarrier, Barrier: "b", Address: address, Region: "r"},
			{Thread: 4, Kind: picture.WaitBarrier, Barrier: "c", Address: address, Region: "other"},
		},
		Barriers: []picture.Barrier{{ID: "a", Missing: []int{2, 3}}, {ID: "b", Missing: []int{3}}, {ID: "c"}},
	}})
	var got []string
	for _, e := range g.Edges {
		got = append(got, e.From+" "+string(e.Relation)+" "+e.To)
	}
	want := []string{
		"thread:1 waits for barrier:a", "thread:2 waits for barrier:a", "thread:4 waits for barrier:c",
		"barrier:a lacks thread:3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("edges %q, want %q", got, want)
	}
}

// TestEmpty checks that a picture without facts has no graph.
func TestEmpty(t *testing.T) {
	if g := waitgraph.NewGraph(new(picture.Picture)); len(g.Nodes)+len(g.Edges)+len(g.Cycles) != 0 {
		t.Errorf("%+v", g)
	}
}
