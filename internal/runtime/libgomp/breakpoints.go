package libgomp

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

var _ handles.BreakpointReader = (*runtime)(nil)

// equivalent is a set of functions that replaces a location of the standard: each path to the event calls one of
// them.
type equivalent struct {
	functions []string
	event     string
}

// equivalents returns the replacements of each location. Some functions are exported; others have symbols only
// in static executables.
func equivalents() map[string][]equivalent {
	return map[string][]equivalent{
		"ompd_bp_parallel_begin": {
			{[]string{"gomp_team_start"}, "the thread that meets a parallel construct has a team for it, and starts " +
				"its threads"},
			{append(forkFunctions(), "GOMP_parallel_start", "GOMP_parallel_loop_static_start",
				"GOMP_parallel_loop_dynamic_start",
				"GOMP_parallel_loop_guided_start", "GOMP_parallel_loop_runtime_start", "GOMP_parallel_sections_start"),
				"the thread that meets a parallel construct enters it, before it has a team; the compiler chooses " +
					"one of these functions"},
		},
		"ompd_bp_parallel_end": {{[]string{"gomp_team_end"}, "the primary thread has executed the region and waits " +
			"for the others"}},
		"ompd_bp_teams_begin": {{[]string{"GOMP_teams_reg"}, "the thread that meets a teams construct on the host " +
			"enters it, before it has a league"}},
		"ompd_bp_task_begin": {{[]string{"GOMP_task", "GOMP_taskloop", "GOMP_taskloop_ull"},
			"a thread meets a task construct: the task is made, and may begin later"}},
		"ompd_bp_thread_begin": {{[]string{"gomp_thread_start"}, "a thread of the runtime begins"}},
	}
}

// bodyEntries returns the functions to which compilers pass the bodies of regions or tasks as the first
// argument.
func (rt *base) bodyEntries(location string) []handles.BodyEntry {
	var out []handles.BodyEntry
	for _, e := range equivalents()[location] {
		for _, name := range e.functions {
			if a, err := layout.SymbolIn(rt.target, rt.id.Module, name); err == nil &&
				strings.HasPrefix(name, "GOMP_") {
				out = append(out, handles.BodyEntry{Function: name, Address: a})
			}
		}
	}
	return out
}

// Breakpoints returns functions that replace the standard's locations: this runtime does not have those
// locations.
func (rt *base) Breakpoints() ([]handles.Breakpoint, error) {
	all := equivalents()
	var out []handles.Breakpoint
	for _, name := range handles.StandardBreakpoints() {
		b := handles.Breakpoint{BreakpointName: name, Entries: rt.bodyEntries(name.Name)}
		for _, e := range all[name.Name] {
			if rt.stopAt(&b, e) {
				break
			}
		}
		if b.How == "" {
			b.Err = fmt.Errorf("%s: this runtime has neither this location nor a function that is known to stand for "+
				"it: %w", name.Name, callbacks.Unsupported)
		}
		out = append(out, b)
	}
	return out, nil
}

// stopAt completes b with the functions of e that the runtime has. It returns false if the first function is
// missing.
func (rt *base) stopAt(b *handles.Breakpoint, e equivalent) bool {
	first, err := layout.SymbolIn(rt.target, rt.id.Module, e.functions[0])
	if err != nil {
		return false
	}
	b.Address, b.How, b.Function, b.Evidence, b.Active = first, handles.BreakpointEquivalent, e.functions[0],
		e.event, true
	seen := map[callbacks.Address]bool{}
	for _, name := range e.functions {
		if a, err := layout.SymbolIn(rt.target, rt.id.Module, name); err == nil && !seen[a] {
			seen[a] = true
			b.Sites = append(b.Sites, a)
		}
	}
	return true
}
