package phrase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Some returns the first names of a list and the number of the others: "a, b and 3 more".
// Most is how many are named; total may be more than there are words for.
func Some(words []string, most, total int) string {
	words = words[:min(len(words), most)]
	return strings.Join(words, ", ") + more(" and", total-len(words))
}

// Clauses is Some for clauses, which contain commas: "a waits, b holds; and 3 more".
func Clauses(clauses []string, most, total int) string {
	clauses = clauses[:min(len(clauses), most)]
	return strings.Join(clauses, "; ") + more("; and", total-len(clauses))
}

func more(and string, n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %d more", and, n)
}

// minRun is the number of consecutive numbers that form a range.
const minRun = 3

// span is the numbers low to high.
type span struct{ low, high int }

func (s span) count() int { return s.high - s.low + 1 }

// spans returns the ranges of a list of numbers, in ascending order; a repeated number counts once.
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

// Ranges formats numbers in ascending order, as in "3, 5-9". With more than most pieces it counts the rest; 0 means no
// limit.
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
