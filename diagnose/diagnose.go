// Package diagnose draws conclusions from a picture: why the program hangs, why
// it died, why only one thread works. docs/verdicts.md says what each verdict
// means, how it is known, and when it is not given.
//
// Verdicts follow from the picture alone, with its facts: it may be one that was saved.
//
// A verdict is a fact about the one moment that the picture shows, or says how
// likely it is. What is only unusual is information and no verdict of a hang: a
// program that is slow looks like one that hangs, but is not told to. What is not known
// leads to no verdict of a hang.
package diagnose

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Run returns the verdicts on a picture that has threads, regions, tasks and facts, the
// worst first. Of a picture without facts there are few.
func Run(pic *picture.Picture) []picture.Verdict {
	d := newDrawer(pic)
	var out []picture.Verdict
	for _, k := range Kinds() {
		if k.draw != nil {
			out = append(out, k.draw(d)...)
		}
	}
	out = append(out, untoldSelfDeadlocks(d, out)...)
	out = append(out, d.called(out)...)
	for i := range out {
		if pic.Facts != nil && !isHistory(out[i].Kind) {
			withRecorded(&out[i], pic.Facts.Recorded)
		}
	}
	slices.SortStableFunc(out, func(a, b picture.Verdict) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			cmp.Compare(a.Certainty.Rank(), b.Certainty.Rank()))
	})
	return out
}

// drawer draws verdicts.
type drawer struct {
	*index
	*graph
	groups   []*group
	sharing  map[int]int         // LWP → the processor that a verdict says it shares
	reported map[int]bool        // threads of rings that a verdict is on
	atEnded  map[int]bool        // threads that wait for one that ended in its region
	behind   map[int]bool        // threads that sleep while those do not proceed who wait for a lock that was left
	inTasks  map[picture.ID]bool // regions of which a verdict tells that a barrier is in an explicit task
}

func newDrawer(pic *picture.Picture) *drawer {
	x := newIndex(pic)
	groups := x.barrierGroups()
	return &drawer{index: x, graph: graphOf(x, groups), groups: groups,
		sharing: map[int]int{}, reported: map[int]bool{}, atEnded: map[int]bool{},
		behind: map[int]bool{}, inTasks: map[picture.ID]bool{}}
}

// isStuck reports whether a thread can never proceed.
func (d *drawer) isStuck(lwp int) bool { return d.stuck[node{lwp: lwp}] }

// Hangs reports whether a verdict says that the program hangs, and is more than a
// possibility.
func Hangs(v picture.Verdict) bool {
	return v.Severity == picture.SeverityHang && v.Certainty != picture.Possible
}
