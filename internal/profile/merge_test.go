package profile_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// rankOf returns the profile of a rank: samples of Work, and of a wait in MPI.
func rankOf(t *testing.T, num, work, mpi int) profile.Rank {
	t.Helper()
	var pics []*picture.Picture
	other := member(1, picture.StateBarrierExplicit, 9)
	for range work {
		pics = append(pics, holding(member(0, picture.StateWorkParallel, 7), other))
	}
	for range mpi {
		pics = append(pics, holding(member(0, picture.StateMPI, 8), other))
	}
	return profile.Rank{Rank: num, Host: "n1", Profile: profiled(t, 1, pics...)}
}

// TestMerge merges the profiles of four ranks, of which one works for longer. The times are sums, and the page names
// the rank.
func TestMerge(t *testing.T) {
	list := []profile.Rank{rankOf(t, 3, 60, 0), rankOf(t, 0, 15, 45), rankOf(t, 1, 15, 45), rankOf(t, 2, 18, 42)}
	p := profile.Merge(list, "missing: n2: no answer")
	work, all := 0., 0.
	for i, r := range p.Ranks {
		if r.Rank != i || r.Host != "n1" || r.Samples != 60 || math.Abs(r.Work+r.Wait-r.ThreadSeconds) > 1e-6 {
			t.Errorf("row %d: %+v", i, r)
		}
		work, all = work+r.Work, all+r.ThreadSeconds
	}
	for name, got := range map[string][2]float64{
		"work": {p.Work, work}, "all": {p.ThreadSeconds, all}, "classes": {p.Work + p.Wait, all},
		"seconds": {p.Seconds, 6}, "span": {p.Barriers[0].Span, 4 * 6}, "late": {p.Barriers[0].Late[0].Seconds, 4 * 6},
		"MPI": {p.Ranks[0].MPI, 4.5},
	} {
		if math.Abs(got[0]-got[1]) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
	}
	stacks := 0.
	for _, s := range p.Stacks {
		stacks += s.Seconds
	}
	if math.Abs(stacks-all) > 1e-6 || len(p.Stacks) != 3 || p.Samples != 60 || p.Threads != 8 || len(p.Warnings) != 1 {
		t.Errorf("%v s in %d stacks, %d samples, %d threads, %q", stacks, len(p.Stacks), p.Samples, p.Threads,
			p.Warnings)
	}
	f := find(p, picture.FindingRanks)
	if f == nil || !strings.Contains(f.Text, "rank 3 works for 50 % of its thread time, the other 3 ranks for 13 %") {
		t.Errorf("%+v", p.Findings)
	}
}

// TestMergeHealthy merges ranks that work for nearly equal times, and ranks of different work that no other waits for.
func TestMergeHealthy(t *testing.T) {
	for name, list := range map[string][]profile.Rank{
		"equal":       {rankOf(t, 0, 30, 30), rankOf(t, 1, 34, 26), rankOf(t, 2, 27, 33), rankOf(t, 3, 31, 29)},
		"independent": {rankOf(t, 0, 60, 0), rankOf(t, 1, 60, 0)},
		"one":         {rankOf(t, 0, 10, 50)},
	} {
		if p := profile.Merge(list); find(p, picture.FindingRanks) != nil {
			t.Errorf("%s: %+v", name, p.Findings)
		}
	}
}
