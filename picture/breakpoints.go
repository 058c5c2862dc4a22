package picture

// BreakpointSchema names the version of the JSON form of Breakpoints.
const BreakpointSchema = "ompd-inspect/breakpoints/1.0"

// Breakpoints are the places at which a debugger can stop a program to see what
// its OpenMP runtimes do.
type Breakpoints struct {
	Schema    string       `json:"schema"`
	Target    Target       `json:"target"`
	Runtimes  []Runtime    `json:"runtimes,omitempty"`
	Locations []Breakpoint `json:"locations"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// Breakpoint is one location of the standard in one runtime.
type Breakpoint struct {
	Name     string `json:"name"`                // such as ompd_bp_parallel_begin
	Former   string `json:"name_2013,omitempty"` // its name in the draft of 2013
	Since    string `json:"since"`               // version of OpenMP
	Runtime  string `json:"runtime"`             // ID of the runtime
	Address  *Hex   `json:"address,omitempty"`   // missing if it was not found
	How      string `json:"how,omitempty"`       // symbol, code, equivalent
	Function string `json:"function,omitempty"`  // symbol at the address
	Evidence string `json:"evidence,omitempty"`  // what proves the address
	Sites    []Hex  `json:"sites,omitempty"`     // where the runtime decides to come to it
	// functions that are called with the bodies of such regions or tasks
	Entries []BodyEntry `json:"entries,omitempty"`
	Active  bool        `json:"active"`          // this process comes to the address
	Error   string      `json:"error,omitempty"` // why it was not found, or not as itself
}

// BodyEntry is a function of the runtime that a program calls with the body of a
// region or task, the function that the compiler made of it.
type BodyEntry struct {
	Function string `json:"function"`
	Address  Hex    `json:"address"`
	Argument int    `json:"argument"` // which of its arguments, from 0, is the body's address
	// the argument is a task, which has the body's address at this offset
	TaskOffset   *int `json:"task_offset,omitempty"`
	TaskArgument *int `json:"task_argument,omitempty"` // which argument of the body is that task
}
