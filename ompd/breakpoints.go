package ompd

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

var _ handles.BreakpointReader = (*Process)(nil)

// Breakpoints returns all locations at which a debugger can stop the runtime, by the standard's names, each with
// its address and the evidence for it. A location that was not found has its own error. The error is
// callbacks.Unsupported if the runtime's reader has no locations.
func (p *Process) Breakpoints() ([]handles.Breakpoint, error) {
	return query(p, "ompd_get_breakpoints", p, func(rt handles.Runtime, _ *Process) ([]handles.Breakpoint, error) {
		if r, ok := rt.(handles.BreakpointReader); ok {
			return r.Breakpoints()
		}
		return nil, fmt.Errorf("%s has none of the standard's breakpoint locations: %w", rt.Identity().Name,
			callbacks.Unsupported)
	})
}

// DraftBreakpoints is ompd_get_breakpoints (2013 draft, section 8.9): it returns the four locations
// parallel_pre_execute, parallel_post_execute, task_pre_execute and task_post_execute. They are
// ompd_bp_parallel_begin, ompd_bp_parallel_end, ompd_bp_task_begin and ompd_bp_task_end of the standard; the
// result has both names. It omits locations that were not found, and joins their errors.
func (p *Process) DraftBreakpoints() ([]handles.Breakpoint, error) {
	all, err := p.Breakpoints()
	if err != nil {
		return nil, err
	}
	var list []handles.Breakpoint
	var errs []error
	for _, b := range all {
		switch {
		case b.Former == "":
		case b.Address.IsNull():
			errs = append(errs, b.Err)
		default:
			list = append(list, b)
		}
	}
	return list, fail("ompd_get_breakpoints", p, errors.Join(errs...))
}
