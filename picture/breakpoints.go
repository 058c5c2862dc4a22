package picture

// BreakpointSchema names the version of the JSON form of Breakpoints.
const BreakpointSchema = "ompd-inspect/breakpoints/2.0"

// Breakpoints are the places at which a debugger can stop a program to observe
// its OpenMP runtimes.
type Breakpoints struct {
	Schema    string       `json:"schema" schema:"const=BreakpointSchema"`
	Target    Target       `json:"target"`
	Runtimes  []Runtime    `json:"runtimes,omitempty"`
	Locations []Breakpoint `json:"locations"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// Breakpoint is one location of the standard in one runtime.
type Breakpoint struct {
	Name     string `json:"name" pb:"1" schema:"pattern=^ompd_"`                          // such as ompd_bp_parallel_begin
	Former   string `json:"name_2013,omitempty" pb:"4"`                                   // its name in the draft of 2013
	Since    string `json:"since" pb:"5"`                                                 // version of OpenMP
	Runtime  string `json:"runtime" pb:"2"`                                               // ID of the runtime
	Address  *Hex   `json:"address,omitempty" pb:"3"`                                     // missing if it was not found
	Source   string `json:"source,omitempty" pb:"6" schema:"enum=symbol|code|equivalent"` // symbol, code, equivalent
	Function string `json:"function,omitempty" pb:"7"`                                    // symbol at the address
	Evidence string `json:"evidence,omitempty" pb:"8"`                                    // the evidence for the address
	// The place at which the runtime decides to call it.
	Sites []Hex `json:"sites,omitempty" pb:"9"`
	// functions that are called with the bodies of such regions or tasks
	Entries []BodyEntry `json:"entries,omitempty" pb:"12"`
	Active  bool        `json:"active" pb:"10"`          // this process reaches the address
	Error   string      `json:"error,omitempty" pb:"11"` // why it was not found, or not as itself
}

// BodyEntry is a function of the runtime that a program calls with the body of a
// region or task, which is an outlined function.
type BodyEntry struct {
	Function string `json:"function" pb:"1"` // symbol of the function
	Address  Hex    `json:"address" pb:"2"`
	// Which of its arguments, from 0, is the body's address.
	Argument int `json:"argument" pb:"3" schema:"min=0,max=5"`
	// the argument is a task, which has the body's address at this offset
	TaskOffset *int `json:"task_offset,omitempty" pb:"4" schema:"min=0"`
	// Which argument of the body is that task.
	TaskArgument *int `json:"task_argument,omitempty" pb:"5" schema:"min=0,max=5"`
}
