// Package diagnose draws verdicts from a picture: why the program hangs, why it crashed, why only one thread works.
// docs/verdicts has a page for each kind: its meaning, its evidence, and when it is not reported.
//
// Verdicts follow from the picture and its facts alone, so that a saved picture can be diagnosed again.
//
// A verdict states a fact about the snapshot, or how likely it is. Unusual is not wrong: a slow program looks like one
// that hangs, and must not be reported as a hang; such a fact has the severity info. Unknown facts never make a hang.
//
// Run goes through the families of verdicts. Each is one file with a type or a few functions over two things: the
// index, which finds the parts of a picture by their keys, and the wait-for graph (graph.go; needs.go builds it). A
// family leaves out the threads that an earlier one has covered; the value covered passes that on.
package diagnose

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Run returns the verdicts on a picture with threads, regions, tasks and facts, the worst first. It returns few for a
// picture without facts.
func Run(pic *picture.Picture) []picture.Verdict {
	x := newIndex(pic)
	groups := groupBarriers(x)
	d := &dependencies{x, newWaitGraph(x, groups)}
	r := report{}

	ended := r.add(findCrash(d))
	r.add(findOverwrittenMemory(x))
	r.add(findOverruns(x, ended))

	c := newCovered()
	r.add(findStuckDoacross(d, c))
	r.add(findUnordered(d, c))
	r.add((&deadlocks{d, c}).find())
	r.add((&selfDeadlocks{d}).find())
	r.add(findFreedLocks(d))
	r.add((&orphans{d, c}).find())
	r.add((&orphans{d, c}).findHeldByParent())
	r.add(findNeverWoken(d, c))
	r.add(findSpinning(d, c))
	r.add((&illegalBarriers{d, groups, c}).find())
	r.add(findStarvedTasks(d, c))
	left := r.add(findEndedThreads(x, groups))
	r.add((&barriers{d, threadsOf(left), r.shiftedRegions()}).find(groups))
	r.verdicts = joinShiftToCrash(x, r.verdicts)
	r.add(findBlockedOutside(d))
	r.add(findHandedOverLocks(d))

	sizes := (&teamSizes{x}).find()
	r.verdicts, sizes = joinTeamSizes(x, r.verdicts, sizes)
	r.add(sizes)
	r.add(findTwoRuntimes(pic))
	r.add(findHostFallbacks(x))
	if !slices.ContainsFunc(r.verdicts, isForkedChild) {
		r.add(findMissingMembers(x, groups, r.add(findForkedChild(x, threadsOf(left)))))
	}
	shared := r.add(findSharedProcessors(d))
	if !slices.ContainsFunc(r.verdicts, isHang) { // else the threads wait for ever, and processors do not matter
		r.add((&processors{d, threadsOf(shared)}).findOversubscription())
	}

	r.add(findInHistory(d))
	r.verdicts = joinOverruns(x, r.verdicts)

	r.add((&selfDeadlocks{d}).findRemaining(r.verdicts))
	r.add(findSelfAbort(d, r.verdicts))
	for i := range r.verdicts {
		x.addRecorded(&r.verdicts[i], x.facts.Recorded)
	}
	slices.SortStableFunc(r.verdicts, func(a, b picture.Verdict) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			cmp.Compare(a.Certainty.Rank(), b.Certainty.Rank()))
	})
	return r.verdicts
}

// report is the verdicts drawn so far.
type report struct{ verdicts []picture.Verdict }

// add appends verdicts and returns them.
func (r *report) add(vs []picture.Verdict) []picture.Verdict {
	r.verdicts = append(r.verdicts, vs...)
	return vs
}

// shiftedRegions returns the regions with a verdict on members that hang at different barriers.
func (r *report) shiftedRegions() map[picture.ID]bool {
	out := map[picture.ID]bool{}
	for _, v := range r.verdicts {
		if v.Kind == picture.VerdictBarrierDivergent || v.Kind == picture.VerdictIllegalBarrier && Hangs(v) {
			out[v.Region] = true
		}
	}
	return out
}

// threadsOf returns the LWPs of the threads that verdicts are about.
func threadsOf(vs []picture.Verdict) map[int]bool {
	out := map[int]bool{}
	for _, v := range vs {
		for _, lwp := range v.Threads {
			out[lwp] = true
		}
	}
	return out
}

// Heading returns the heading of a verdict: the title of its kind, or a more specific one.
func Heading(v *picture.Verdict) string {
	return cmp.Or(exceptionTitle(v), teamSizeTitle(v), unreleasedTitle(v), unorderedTitle(v), Title(v.Kind))
}
