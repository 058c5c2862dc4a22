package profile

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// titles are the headings of findings.
var titles = map[picture.ProfileFindingKind]string{
	picture.FindingNoProgress: "NO PROGRESS",
	picture.FindingContention: "CONTENTION", picture.FindingImbalance: "IMBALANCE", picture.FindingBarrier: "BARRIER",
	picture.FindingSerial: "SERIAL PART", picture.FindingFewThreads: "FEW THREADS", picture.FindingTasks: "TASKS",
	picture.FindingOther: "WAIT", picture.FindingOverhead: "OVERHEAD", picture.FindingStarved: "NO PROCESSOR",
	picture.FindingWork: "WORK", picture.FindingUnknown: "UNKNOWN", picture.FindingTooFew: "TOO FEW SAMPLES",
	picture.FindingRanks: "RANK IMBALANCE",
}

// Title returns the heading of findings of a kind.
func Title(kind picture.ProfileFindingKind) string {
	return cmp.Or(titles[kind], strings.ToUpper(string(kind)))
}

// endTexts are the reasons for the ends of profiles in words.
var endTexts = map[picture.ProfileEnd]string{
	picture.ProfileTimeOver:    "the time of --for or the number of --samples was reached",
	picture.ProfileInterrupted: "it was interrupted",
	picture.ProfileExited:      "the process ended", picture.ProfileExec: "the process executed another program",
	picture.ProfileFailed: "a sample failed",
}

// EndText returns the reason for the end of a profile, as a clause.
func EndText(end picture.ProfileEnd) string { return cmp.Or(endTexts[end], string(end)) }

// ShareText returns a part of the thread time in per cent; "" if there is no time.
func ShareText(seconds float64, r *picture.Profile) string {
	if r.ThreadSeconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*seconds/r.ThreadSeconds)
}

// RanksByWork returns the ranks of a job, those with the largest share of Work first.
func RanksByWork(p *picture.Profile) []picture.ProfileRank {
	work := func(r picture.ProfileRank) float64 { return r.Work / max(r.ThreadSeconds, math.SmallestNonzeroFloat64) }
	return slices.SortedStableFunc(slices.Values(p.Ranks), func(a, b picture.ProfileRank) int {
		return cmp.Compare(work(b), work(a))
	})
}

// RankShare formats a part of the thread time of a rank.
func RankShare(seconds float64, r *picture.ProfileRank) string {
	return ShareText(seconds, &picture.Profile{ThreadSeconds: r.ThreadSeconds})
}

// RegionText names a parallel region by its place.
func RegionText(c *picture.Code) string {
	if c != nil && c.File != "" && c.Line != 0 {
		return fmt.Sprintf("%s:%d", filepath.Base(c.File), c.Line)
	}
	return phrase.CodeName(c)
}

// maxLastShown bounds the threads in one row.
const maxLastShown = 4

// LastText names the threads that come last at a barrier, with their shares of the time in which others waited.
func LastText(b *picture.ProfileBarrier) string {
	last := lastOf(b)
	switch {
	case len(b.Late) == 0 || b.Span <= 0:
		return ""
	case len(last) == 0:
		return fmt.Sprintf("varies: thread %d most, in %s", b.Late[0].ThreadNum, percent(b.Late[0].Seconds/b.Span))
	}
	var words []string
	for _, l := range last {
		words = append(words, fmt.Sprintf("%d (%s)", l.ThreadNum, percent(l.Seconds/b.Span)))
	}
	noun := "thread "
	if len(words) > 1 {
		noun = "threads "
	}
	return noun + phrase.Some(words, maxLastShown, len(words))
}
