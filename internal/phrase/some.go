package phrase

import (
	"fmt"
	"strings"
)

// Some names the first of some things, and says how many more there are: "a, b and 3 more".
// Most is how many are named; total may be more than there are words for.
func Some(words []string, most, total int) string {
	words = words[:min(len(words), most)]
	return strings.Join(words, ", ") + more(" and", total-len(words))
}

// Clauses is Some of what has commas in it: "a waits, b holds; and 3 more".
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
