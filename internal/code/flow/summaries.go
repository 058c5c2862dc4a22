package flow

import "slices"

// Summaries computes what the functions of a program do from what the functions do that
// they call, and keeps it. Functions that call each other in a circle, a strongly
// connected component of the call graph, are computed together: each starts with the
// least summary, and all are computed anew until none changes. So the answer does not
// depend on which function was asked for first.
//
// S is a summary. It is for one goroutine at a time.
type Summaries[S any] struct {
	// Callees lists the functions whose summaries that of a function depends on.
	Callees func(entry uint64) []uint64
	// Compute is the summary of a function, given those of its callees.
	Compute func(entry uint64, callee func(entry uint64) S) S
	// Equal reports whether two summaries are the same.
	Equal func(a, b S) bool
	// Least is the summary of a function that does nothing, Unknown that of one that
	// may do anything.
	Least, Unknown S
	// Largest bounds the functions of a component that is computed; those of a larger one are Unknown.
	// 0 has no bound.
	Largest int

	known map[uint64]S
	open  map[uint64]*visited // functions of components that are not complete
	stack []uint64            // those, in the order in which they were met
}

// visited is a function that is met for the first time, in Tarjan's algorithm.
type visited struct {
	index, low int // in the order of meeting; the least index that is reached
	callees    []uint64
	next       int // callee to go on with
}

const (
	// maxSummaries bounds the functions of one process that are looked at: those that
	// are met beyond it count as unknown.
	maxSummaries = 1 << 14
	// maxRounds bounds how often a component is computed anew. A summary takes a few
	// steps from least to unknown; one that goes to and fro is unknown.
	maxRounds = 16
)

// SummaryOf returns the summary of the function that begins at entry.
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

// Len returns how many functions have a summary.
func (s *Summaries[S]) Len() int { return len(s.known) }

// enter begins with a function.
func (s *Summaries[S]) enter(work []uint64, entry uint64) []uint64 {
	if len(s.known)+len(s.open) >= maxSummaries {
		s.known[entry] = s.Unknown
		return work
	}
	s.open[entry] = &visited{index: len(s.stack), low: len(s.stack), callees: s.Callees(entry)}
	s.stack = append(s.stack, entry)
	return append(work, entry)
}

// leave ends with a function; work are those that are not done. The function that was
// met first of a component completes it.
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

// complete computes the functions of a component. A single one that does not call itself
// is computed once.
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
		return s.Unknown // none of what Callees listed
	}
	circle = circle || len(component) > 1
	stable, rounds := false, maxRounds
	if s.Largest > 0 && len(component) > s.Largest {
		rounds = 0
	}
	for round := 0; !stable && round < rounds; round++ {
		stable = true
		for _, entry := range component {
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
