package rtl

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Loop detects a cycle in a linked list after at most three times as many steps as the list has nodes, without
// memory for the nodes: it keeps one node, and replaces it when the walk is twice as long (Brent's method). The
// zero Loop is ready.
type Loop struct {
	kept        callbacks.Address
	steps, next int
}

// Visit records that the walk is at the node at a. It returns an error if the walk was there before.
func (l *Loop) Visit(a callbacks.Address) error {
	if l.steps > 0 && a == l.kept {
		return fmt.Errorf("a list comes back to %v: %w", a, callbacks.Incomplete)
	}
	if l.steps == l.next {
		l.kept, l.next = a, 2*l.next+1
	}
	l.steps++
	return nil
}
