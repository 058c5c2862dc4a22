package libomp

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// teamOf returns the team to which a task binds: its own, or, for a task of the hidden helpers, the team of the
// innermost enclosing task that does not belong to them.
func (rs *records) teamOf(t *task) (callbacks.Address, error) {
	if !t.explicit || !rs.isHelped(t) {
		return t.team, nil
	}
	var passed []callbacks.Address
	var loop rtl.Loop
	var b binding
	for a := t.parent; ; {
		known, ok := rs.bindings.Get(a.Offset)
		if ok {
			b = known
			break
		}
		passed = append(passed, a)
		p, err := rs.task(a)
		if err = errors.Join(err, loop.Visit(a)); err == nil && len(passed) > maxTaskDepth {
			err = fmt.Errorf("more than %d target tasks around it: %w", maxTaskDepth, callbacks.StaleHandle)
		}
		if err != nil || !p.explicit || !rs.isHelped(p) {
			if b.err = err; err == nil {
				b.team = p.team
			}
			break
		}
		a = p.parent
	}
	for _, a := range passed {
		rs.bindings.Put(a.Offset, b)
	}
	if b.err != nil {
		return b.team, fmt.Errorf("parent of the target task at %v: %w", t.addr, b.err)
	}
	return b.team, nil
}

// binding is the team to which a parent task binds, or the reason why the team is unknown.
type binding struct {
	team callbacks.Address
	err  error
}
