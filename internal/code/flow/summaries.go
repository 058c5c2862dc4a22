package flow

import "slices"

// Summaries computes summaries of functions from the summaries of their callees, and caches them. Mutually
// recursive functions (a strongly connected component of the call graph) are computed together: each starts with
// the least summary, and all are computed again until there are no changes. So the answer does not depend on the
// order of questions.
//
// S is a summary. It is for one goroutine at a time.
type Summaries[S any] struct {
	// Callees lists the functions that the summary of a function depends on.
	Callees func(entry uint64) []uint64
	// Compute returns the summary of a function, given those of its callees.
	Compute func(entry uint64, callee func(entry uint64) S) S
	// Equal reports whether two summaries are the same.
	Equal func(a, b S) bool
	// Least is the summary of a function without any effect, Unknown that of a function with any possible
	// effect.
	Least, Unknown S
	// Largest bounds the size of a component (0: unlimited). Functions of a larger one are Unknown.
	Largest int

	known map[uint64]S
	open  map[uint64]*visited // functions of incomplete components
	stack []uint64            // the same, in the order of visits
}

// visited is a function visited in Tarjan's algorithm.
type visited struct {
	index, low int // position in the order of visits; lowest position reached
	callees    []uint64
	next       int // next callee to visit
}

const (
	// maxSummaries bounds the functions of one process that are summarized: any further ones are unknown.
	maxSummaries = 1 << 14
	// maxRounds bounds the iterations of a component. A summary takes a few steps from least to unknown; if it
	// alternates, it is unknown.
	maxRounds = 16
)

// SummaryOf returns the summary of the function that starts at entry.
func (s *Summaries[S]) SummaryOf(entry uint64) S {
	if v, ok := s.known[entry]; ok {
		return v
	}
	if s.known == nil {
		s.known = map[uint64]S{}
	}
	s.open, s.stack = map[uint64]*visited{}, nil
	work := s.enter(nil, entry)
	for len(work) > 0 {
		entry := work[len(work)-1]
		v := s.open[entry]
		if v.next == len(v.callees) {
			work = work[:len(work)-1]
			s.leave(entry, v, work)
			continue
		}
		callee := v.callees[v.next]
		v.next++
		if _, done := s.known[callee]; done {
			continue
		}
		if c, seen := s.open[callee]; seen {
			v.low = min(v.low, c.index)
			continue
		}
		work = s.enter(work, callee)
	}
	return s.known[entry]
}

// Len returns the number of functions with a summary.
func (s *Summaries[S]) Len() int { return len(s.known) }

// enter starts the visit of a function.
func (s *Summaries[S]) enter(work []uint64, entry uint64) []uint64 {
	if len(s.known)+len(s.open) >= maxSummaries {
		s.known[entry] = s.Unknown
		return work
	}
	s.open[entry] = &visited{index: len(s.stack), low: len(s.stack), callees: s.Callees(entry)}
	s.stack = append(s.stack, entry)
	return append(work, entry)
}

// leave ends the visit of a function; work are the unfinished ones. The first visited function of a component
// completes it.
func (s *Summaries[S]) leave(entry uint64, v *visited, work []uint64) {
	if len(work) > 0 {
		caller := s.open[work[len(work)-1]]
		caller.low = min(caller.low, v.low)
	}
	if v.low != v.index {
		return
	}
	s.complete(s.stack[v.index:], slices.Contains(v.callees, entry))
	s.stack = s.stack[:v.index]
}

// complete computes the functions of a component. A single one that is not recursive is computed once.
func (s *Summaries[S]) complete(component []uint64, circle bool) {
	now := map[uint64]S{}
	for _, entry := range component {
		now[entry] = s.Least
	}
	of := func(entry uint64) S {
		if v, ok := s.known[entry]; ok {
			return v
		}
		if v, ok := now[entry]; ok {
			return v
		}
		return s.Unknown // not listed by Callees
	}
	circle = circle || len(component) > 1
	stable, rounds := false, maxRounds
	if s.Largest > 0 && len(component) > s.Largest {
		rounds = 0
	}
	for round := 0; !stable && round < rounds; round++ {
		stable = true
		for _, entry := range slices.Backward(component) { // callees mostly before their callers
			v := s.Compute(entry, of)
			stable = stable && (!circle || s.Equal(v, now[entry]))
			now[entry] = v
		}
	}
	for _, entry := range component {
		if !stable {
			now[entry] = s.Unknown
		}
		s.known[entry] = now[entry]
		delete(s.open, entry)
	}
}
