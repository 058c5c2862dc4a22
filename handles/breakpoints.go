package handles

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// BreakpointReader is a runtime that returns the places at which a debugger can stop it for the events of the
// standard. OMPD does not require it: there, a debugger looks up the names itself, which a stripped runtime
// lacks.
type BreakpointReader interface {
	// Breakpoints returns every location of StandardBreakpoints, in that order. A location that was not found
	// has an error in place of an address.
	Breakpoints() ([]Breakpoint, error)
}

// BreakpointName is a breakpoint location of the standard.
type BreakpointName struct {
	Name   string // as in OpenMP 5.0 and later: "ompd_bp_parallel_begin"
	Former string // in the 2013 draft: "parallel_pre_execute"; empty if it is newer
	Since  string // version of OpenMP
}

// standardBreakpoints lists the locations in the order of OpenMP 6.0, chapter 42.
var standardBreakpoints = [...]BreakpointName{
	{"ompd_bp_parallel_begin", "parallel_pre_execute", "5.0"},
	{"ompd_bp_parallel_end", "parallel_post_execute", "5.0"},
	{"ompd_bp_teams_begin", "", "6.0"},
	{"ompd_bp_teams_end", "", "6.0"},
	{"ompd_bp_task_begin", "task_pre_execute", "5.0"},
	{"ompd_bp_task_end", "task_post_execute", "5.0"},
	{"ompd_bp_thread_begin", "", "5.0"},
	{"ompd_bp_thread_end", "", "5.0"},
	{"ompd_bp_device_begin", "", "5.0"},
	{"ompd_bp_device_end", "", "5.0"},
	{"ompd_bp_target_begin", "", "6.0"},
	{"ompd_bp_target_end", "", "6.0"},
	{"ompd_dll_locations_valid", "", "5.0"},
}

// StandardBreakpoints lists the locations of OpenMP 6.0, which include those of earlier versions.
func StandardBreakpoints() []BreakpointName { return slices.Clone(standardBreakpoints[:]) }

// BreakpointHow is the method by which a location was found.
type BreakpointHow string

// The methods by which a location is found.
const (
	// BreakpointSymbol: a symbol of the runtime has the name.
	BreakpointSymbol BreakpointHow = "symbol"
	// BreakpointCode: the runtime's code calls it at the event of this location, and at no other.
	BreakpointCode BreakpointHow = "code"
	// BreakpointEquivalent: every such event calls this other function.
	BreakpointEquivalent BreakpointHow = "equivalent"
)

// Breakpoint is a location at which a debugger can stop a runtime.
type Breakpoint struct {
	BreakpointName
	Address  callbacks.Address // null if it was not found
	How      BreakpointHow     // empty if it was not found
	Function string            // symbol at the address, as in the file; may be empty
	Evidence string            // evidence for the address, for users
	// Sites are the places in the runtime's code at which it decides whether to call the location. A thread
	// passes one of them at every such event, even if the program was not started for debugging. The list may be
	// incomplete if the location is known only by its symbol.
	Sites []callbacks.Address
	// Entries are the exported functions of the runtime that are called with the bodies of such regions or
	// tasks.
	Entries []BodyEntry
	// Active means that this process reaches Address when the event happens. Runtimes skip most locations unless
	// the program was started with OMP_DEBUG=enabled.
	Active bool
	Err    error // the reason why the address is missing or some facts are unknown
}

// BodyEntry is an exported function of the runtime that programs, or the runtime itself, call with the body of a
// region or task: the function into which the compiler outlined it.
type BodyEntry struct {
	Function string // its symbol
	Address  callbacks.Address
	// Argument is the index of the argument with the body or task, from 0. All arguments are passed in
	// registers.
	Argument int
	// Task means that the argument is not the body's address but that of a task, which contains the body's
	// address BodyOffset bytes from its start.
	Task       bool
	BodyOffset uint64
	// TaskArgument is the index of the body's argument with the task, from 0; -1 if it is another task than that
	// of the call.
	TaskArgument int
}
