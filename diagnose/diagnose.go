// Package diagnose draws conclusions from a picture: why the program hangs, why
// it died, why only one thread works. docs/verdicts.md says what each verdict
// means, how it is known, and when it is not given.
//
// A verdict is a fact about the one moment that the picture shows, or says how
// likely it is. What is only unusual is information and no verdict of a hang: a
// program that is slow looks like one that hangs, but is not told to.
package diagnose

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// Parts are the parts of a picture that Run needs.
func Parts() inspect.Parts {
	return inspect.Parts{Threads: true, Regions: true, Tasks: true}
}

// Run returns the verdicts on what in looks at, the worst first. pic is in's
// picture, with the threads, regions and tasks.
func Run(in *inspect.Inspector, pic *inspect.Picture) []inspect.Verdict {
	g := newGraph(in, pic)
	var out []inspect.Verdict
	for _, draw := range []func(*graph) []inspect.Verdict{crashes, deadlocks, selfDeadlocks, freedLocks, orphans, starved, barriers, fewer, runtimesLoaded, forked, sharedProcessors, oversubscribed} {
		out = append(out, draw(g)...)
	}
	out = append(out, g.called(out)...)
	slices.SortStableFunc(out, func(a, b inspect.Verdict) int {
		return cmp.Or(cmp.Compare(severityRank[a.Severity], severityRank[b.Severity]),
			cmp.Compare(certaintyRank[a.Certainty], certaintyRank[b.Certainty]))
	})
	return out
}

// severityRank and certaintyRank order verdicts as people should read them.
var (
	severityRank = map[string]int{
		inspect.SeverityCrash: 0, inspect.SeverityHang: 1, inspect.SeverityWarning: 2, inspect.SeverityInfo: 3,
	}
	certaintyRank = map[string]int{inspect.Certain: 0, inspect.Likely: 1, inspect.Possible: 2}
)

// Hangs tells whether a verdict says that the program hangs, and is more than a
// possibility.
func Hangs(v inspect.Verdict) bool {
	return v.Severity == inspect.SeverityHang && v.Certainty != inspect.Possible
}

// weaker is the less certain of two certainties.
func weaker(a, b string) string {
	if certaintyRank[a] >= certaintyRank[b] {
		return a
	}
	return b
}

// Kinds are the kinds of verdicts, in the order of docs/verdicts.md.
func Kinds() []string {
	return []string{
		inspect.VerdictDeadlock, inspect.VerdictSelfDeadlock, inspect.VerdictLockOrphaned, inspect.VerdictLockFreed,
		inspect.VerdictBarrierDivergent, inspect.VerdictBarrierMissing, inspect.VerdictTaskStarved,
		inspect.VerdictStackOverflow, inspect.VerdictCrash, inspect.VerdictOneThread,
		inspect.VerdictForkChild, inspect.VerdictTwoRuntimes, inspect.VerdictOversubscribed,
		inspect.VerdictSharedProcessor,
	}
}
