package ompd

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

var _ rtl.BreakpointReader = (*Process)(nil)

// Breakpoints gives all locations at which a debugger can stop the runtime, by
// the standard's names, each with its address and how that is known. A location that was not
// found has its own error. callbacks.Unsupported if the runtime's reader cannot
// tell any.
func (b beyond) Breakpoints() ([]rtl.Breakpoint, error) {
	return query(b.p, "ompd_get_breakpoints", b.p, func(rt rtl.Runtime, _ *Process) ([]rtl.Breakpoint, error) {
		if r, ok := rt.(rtl.BreakpointReader); ok {
			return r.Breakpoints()
		}
		return nil, fmt.Errorf("%s has none of the standard's breakpoint locations: %w", rt.Identity().Name,
			callbacks.Unsupported)
	})
}

// DraftBreakpoints is ompd_get_breakpoints (2013 draft, section 8.9): the four
// locations parallel_pre_execute, parallel_post_execute, task_pre_execute and
// task_post_execute. They are ompd_bp_parallel_begin, ompd_bp_parallel_end,
// ompd_bp_task_begin and ompd_bp_task_end of the standard; the result has both
// names. Those that were not found are left out, and their errors joined.
func (d draft) DraftBreakpoints() ([]rtl.Breakpoint, error) {
	all, err := d.p.Breakpoints()
	if err != nil {
		return nil, err
	}
	var list []rtl.Breakpoint
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
	return list, fail("ompd_get_breakpoints", d.p, errors.Join(errs...))
}
