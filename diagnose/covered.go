package diagnose

import "github.com/ompd-inspect/ompd-inspect/picture"

// covered is the part of a hang that verdicts already explain. Each family adds to it and leaves out what it contains,
// so that one hang has one verdict.
type covered struct {
	threads  map[int]bool        // LWPs in a ring of waits, or waiting for a lock that no thread will release
	sleepers map[int]bool        // LWPs that sleep until a thread wakes them that waits for such a lock
	regions  map[picture.ID]bool // regions with a barrier in an explicit task
}

func newCovered() *covered {
	return &covered{threads: map[int]bool{}, sleepers: map[int]bool{}, regions: map[picture.ID]bool{}}
}

// addRing covers the threads of a ring.
func (c *covered) addRing(r *ring) {
	for _, n := range r.nodes {
		c.threads[n.lwp] = true
	}
}

// withDependents returns the covered nodes, and those that wait for the covered threads.
func (c *covered) withDependents(g *waitGraph) map[node]bool {
	var threads []node
	for lwp := range c.threads {
		threads = append(threads, node{lwp: lwp})
	}
	out := g.dependents(threads...)
	for _, n := range threads {
		out[n] = true
	}
	for lwp := range c.sleepers {
		out[node{lwp: lwp}] = true
	}
	return out
}
