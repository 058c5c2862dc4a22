package waitgraph

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// End is a thread at the end of chains of waits: it waits for no other known thread.
type End struct {
	LWP     int
	Waiters []int // LWPs of the threads that wait for it, directly or through others
}

// Ends lists the ends of the chains of waits, those with the most waiters first. A possible holder is not
// followed.
func (g *Graph) Ends() []End {
	into, out := map[string][]string{}, map[string]bool{}
	for _, e := range g.Edges {
		if e.Certainty != picture.Possible {
			into[e.To] = append(into[e.To], e.From)
			out[e.From] = true
		}
	}
	lwps := map[string]int{}
	for _, n := range g.Nodes {
		if n.Kind == Thread {
			lwps[n.ID] = n.LWP
		}
	}
	var ends []End
	for _, n := range g.Nodes {
		if n.Kind != Thread || out[n.ID] || len(into[n.ID]) == 0 {
			continue
		}
		end, seen := End{LWP: n.LWP}, map[string]bool{n.ID: true}
		for next := []string{n.ID}; len(next) > 0; next = next[1:] {
			for _, from := range into[next[0]] {
				if seen[from] {
					continue
				}
				seen[from] = true
				next = append(next, from)
				if lwp := lwps[from]; lwp != 0 {
					end.Waiters = append(end.Waiters, lwp)
				}
			}
		}
		slices.Sort(end.Waiters)
		ends = append(ends, end)
	}
	slices.SortStableFunc(ends, func(a, b End) int { return cmp.Compare(len(b.Waiters), len(a.Waiters)) })
	return ends
}
