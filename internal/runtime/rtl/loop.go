package rtl

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Loop recognises a linked list that comes back to where it was, at the latest after
// three times as many steps as it has nodes, and needs no memory for that: it keeps
// one node, and takes a later one whenever the walk is twice as far (Brent's method).
// The zero Loop is ready.
type Loop struct {
	kept        callbacks.Address
	steps, next int
}

// Visit notes that the walk comes to the node at a. That it was there before is an
// error.
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
