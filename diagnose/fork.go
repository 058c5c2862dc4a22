package diagnose

import "github.com/ompd-inspect/ompd-inspect/picture"

// fork is what decided on the size of a region, with unknown for numbers that could not be
// read.
type fork struct {
	*picture.Fork
	clause   int // 0 if the construct has none
	nthreads int
	maxLevel int
	limit    int
	procs    int
}

func forkOf(f *picture.Fork) *fork {
	number := func(n *int) int {
		if n == nil {
			return unknown
		}
		return *n
	}
	out := &fork{Fork: f, nthreads: number(f.NThreads), maxLevel: number(f.MaxActiveLevels),
		limit: number(f.ThreadLimit), procs: number(f.NumProcs)}
	if f.Clause {
		out.clause = number(f.ClauseValue)
	}
	return out
}
