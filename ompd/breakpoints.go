package ompd

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// breakpoints are the symbols of OpenMP 6.0 at which a debugger stops to see
// something begin or end (section 42), in the specification's order.
var breakpoints = []string{
	"ompd_bp_parallel_begin", "ompd_bp_parallel_end", "ompd_bp_teams_begin", "ompd_bp_teams_end",
	"ompd_bp_task_begin", "ompd_bp_task_end", "ompd_bp_thread_begin", "ompd_bp_thread_end",
	"ompd_bp_device_begin", "ompd_bp_device_end", "ompd_bp_target_begin", "ompd_bp_target_end",
}

// Breakpoint is a breakpoint location of a runtime.
type Breakpoint struct {
	Name    string
	Address callbacks.Address // null if the runtime, as it is at hand, has no such symbol
}

// Breakpoints is ompd_get_breakpoints (2013 draft, section 8.9): all breakpoint
// locations by name. A runtime that was stripped has lost most.
func (p *Process) Breakpoints() ([]Breakpoint, error) {
	return query(p, "ompd_get_breakpoints", p, func(rt rtl.Runtime, _ *Process) ([]Breakpoint, error) {
		file := ""
		if m := rt.Identity().Module; m != nil {
			file = m.Path
		}
		out := make([]Breakpoint, len(breakpoints))
		for i, name := range breakpoints {
			a, err := p.target.Symbol(name, file)
			if err != nil && !errors.Is(err, callbacks.ErrNoSymbol) {
				return nil, err
			}
			if out[i].Name = name; err == nil {
				out[i].Address = a
			}
		}
		return out, nil
	})
}
