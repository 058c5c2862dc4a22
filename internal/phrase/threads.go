package phrase

import (
	"fmt"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of the numbers and ranges in a list of threads: their numbers, the LWPs after these, and the LWPs of threads
// without a number.
const (
	maxNumbers = 6
	maxIDs     = 2
	maxLWPs    = 16
)

// Threads names threads by their numbers in their team, with their LWPs: "thread 3 of 8 (LWP 17)", "threads 0-3 of 8
// (LWP 14-17)", "8 threads of 2 teams (LWP 14-21)"; by their LWPs alone outside of parallel regions. Long lists are
// truncated unless all is set. A thread alone has its name in Python, too: `LWP 17 "loader"`.
func Threads(ts []picture.Thread, all bool) string {
	ranges := func(ids []int, most int) string {
		if all {
			most = 0
		}
		return Ranges(ids, most)
	}
	var members []picture.Thread
	var nums, ids, lwps []int
	var gone []string
	teams, sizes := map[picture.ID]bool{}, map[string]bool{}
	for _, t := range ts {
		switch {
		case t.LWP == 0:
			gone = append(gone, ThreadName(t))
		case t.ThreadNum == nil || t.Level == nil || *t.Level == 0:
			lwps = append(lwps, t.LWP)
		default:
			members, nums, ids = append(members, t), append(nums, *t.ThreadNum), append(ids, t.LWP)
			teams[t.Region], sizes[Number(t.TeamSize)] = true, true
		}
	}
	var parts []string
	switch {
	case len(members) == 0:
	case len(teams) == 1 && len(sizes) == 1:
		noun := "threads"
		if len(nums) == 1 {
			noun = "thread"
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s (LWP %s)", noun, ranges(nums, maxNumbers),
			Number(members[0].TeamSize), ranges(ids, maxIDs)))
	default:
		parts = append(parts, fmt.Sprintf("%s of %s (LWP %s)", Count(len(members), "thread"), Count(len(teams), "team"),
			ranges(ids, maxIDs)))
	}
	if len(lwps) > 0 {
		parts = append(parts, "LWP "+ranges(lwps, maxLWPs))
	}
	parts = append(parts, gone...)
	if len(ts) == 1 && ts[0].Name != "" {
		parts[0] += " " + strconv.Quote(ts[0].Name)
	}
	return Some(parts, maxLWPs, len(parts))
}
