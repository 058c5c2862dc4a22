package phrase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minRun is how many consecutive numbers are a range; fewer are named each.
const minRun = 3

// span is the numbers low to high.
type span struct{ low, high int }

func (s span) count() int { return s.high - s.low + 1 }

// spans are the ranges that a list of numbers is made of, in ascending order; a number
// that is listed twice counts once.
func spans(ids []int) []span {
	var out []span
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if n := len(out) - 1; n >= 0 && out[n].high == id-1 {
			out[n].high = id
			continue
		}
		out = append(out, span{id, id})
	}
	return out
}

// Ranges is a list of numbers in ascending order, as in "3, 5-9". Of more than most
// pieces the rest is counted; 0 means all.
func Ranges(ids []int, most int) string {
	var parts []string
	named, total := 0, 0
	for _, s := range spans(ids) {
		total += s.count()
		if most > 0 && len(parts) >= most {
			continue
		}
		named += s.count()
		switch {
		case s.count() >= minRun:
			parts = append(parts, fmt.Sprintf("%d-%d", s.low, s.high))
		default:
			for id := s.low; id <= s.high; id++ {
				parts = append(parts, strconv.Itoa(id))
			}
		}
	}
	return strings.Join(parts, ", ") + more(" and", total-named)
}
