package handles

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// BreakpointReader is a runtime that can tell where a debugger has to stop it to
// see the events of the standard. It is a power beyond what OMPD asks of a
// runtime: there, a debugger looks the names up itself, which a stripped runtime
// does not have.
type BreakpointReader interface {
	// Breakpoints has every location of StandardBreakpoints, in that order.
	// One that could not be found has an error in place of an address.
	Breakpoints() ([]Breakpoint, error)
}

// BreakpointName is a breakpoint location of the standard.
type BreakpointName struct {
	Name   string // as in OpenMP 5.0 and later: "ompd_bp_parallel_begin"
	Former string // in the 2013 draft: "parallel_pre_execute"; empty if it had none
	Since  string // version of OpenMP
}

// standardBreakpoints are in the order of OpenMP 6.0, chapter 42.
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

// StandardBreakpoints lists the locations of OpenMP 6.0, which has all of the
// earlier versions.
func StandardBreakpoints() []BreakpointName { return slices.Clone(standardBreakpoints[:]) }

// BreakpointHow tells how a location is known.
type BreakpointHow string

// How a location can be known.
const (
	// BreakpointSymbol: a symbol of the runtime has the name.
	BreakpointSymbol BreakpointHow = "symbol"
	// BreakpointCode: the runtime's code calls it where it calls this
	// location, and no other.
	BreakpointCode BreakpointHow = "code"
	// BreakpointEquivalent: it is another function, through which every such
	// event passes.
	BreakpointEquivalent BreakpointHow = "equivalent"
)

// Breakpoint is a location at which a debugger can stop a runtime.
type Breakpoint struct {
	BreakpointName
	Address  callbacks.Address // null if it was not found
	How      BreakpointHow     // empty if it was not found
	Function string            // symbol at the address, as the file has it; empty if it has none
	Evidence string            // what proves the address, for people
	// Sites are the places in the runtime's code where it decides whether to
	// call the location. A thread comes to one of them at every such event,
	// whether the program was started for debugging or not. They may not be
	// all if the location is known by its symbol only.
	Sites []callbacks.Address
	// Entries are the exported functions of the runtime that are called with
	// the bodies of such regions or tasks.
	Entries []BodyEntry
	// Active tells that this process comes to Address when the event happens.
	// Runtimes leave most locations out unless the program was started with
	// OMP_DEBUG=enabled.
	Active bool
	Err    error // why there is no address, or why not all is known
}

// BodyEntry is an exported function of the runtime that programs, or the runtime
// itself, call with the body of a region or task: the function that the compiler
// made of it.
type BodyEntry struct {
	Function string // its symbol
	Address  callbacks.Address
	// Argument says which of its arguments it is about, from 0. All of them are
	// passed in registers.
	Argument int
	// Task tells that the argument is not the body's address but that of a
	// task, which has the body's address BodyOffset bytes from its beginning.
	Task       bool
	BodyOffset uint64
	// TaskArgument says which argument of the body is the task, from 0; -1 if
	// it is another task than the one of the call.
	TaskArgument int
}
