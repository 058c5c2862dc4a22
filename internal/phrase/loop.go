package phrase

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Loop is "dynamic, chunk 5: 10 to 208 step 2, 100 iterations, 90 left".
func Loop(l picture.Loop) string {
	s := l.Schedule
	if l.Ordered {
		s += " ordered"
	}
	if l.Chunk != nil {
		s += fmt.Sprintf(", chunk %d", *l.Chunk)
	}
	var parts []string
	if l.Last != nil && l.Step != nil {
		values := fmt.Sprintf("to %d step %d", *l.Last, *l.Step)
		if l.First != nil {
			values = fmt.Sprintf("%d %s", *l.First, values)
		}
		parts = append(parts, values)
	}
	if l.Iterations != nil {
		parts = append(parts, fmt.Sprintf("%d iterations", *l.Iterations))
	}
	if l.Left != nil {
		parts = append(parts, fmt.Sprintf("%d left", *l.Left))
	}
	if l.From != nil && l.To != nil {
		parts = append(parts, fmt.Sprintf("has %d to %d", *l.From, *l.To))
	}
	if l.At != nil {
		parts = append(parts, fmt.Sprintf("is in %d", *l.At))
		if l.To != nil && l.Step != nil && *l.Step != 0 {
			parts = append(parts, fmt.Sprintf("%d more after it", (*l.To-*l.At) / *l.Step))
		}
	}
	if len(parts) == 0 {
		return s
	}
	return s + ": " + strings.Join(parts, ", ")
}
