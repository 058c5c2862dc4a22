package inspect

import "github.com/ompd-inspect/ompd-inspect/rtl"

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
	Name     string      `json:"name"`                // such as ompd_bp_parallel_begin
	Former   string      `json:"name_2013,omitempty"` // its name in the draft of 2013
	Since    string      `json:"since"`               // version of OpenMP
	Runtime  string      `json:"runtime"`             // ID of the runtime
	Address  *Hex        `json:"address,omitempty"`   // missing if it was not found
	How      string      `json:"how,omitempty"`       // symbol, code, equivalent
	Function string      `json:"function,omitempty"`  // symbol at the address
	Evidence string      `json:"evidence,omitempty"`  // what proves the address
	Sites    []Hex       `json:"sites,omitempty"`     // where the runtime decides to come to it
	Entries  []BodyEntry `json:"entries,omitempty"`   // functions that are called with the bodies of such regions or tasks
	Active   bool        `json:"active"`              // this process comes to the address
	Error    string      `json:"error,omitempty"`     // why it was not found, or not as itself
}

// BodyEntry is a function of the runtime that a program calls with the body of a
// region or task, the function that the compiler made of it.
type BodyEntry struct {
	Function     string `json:"function"`
	Address      Hex    `json:"address"`
	Argument     int    `json:"argument"`                // which of its arguments, from 0, is the body's address
	TaskOffset   *int   `json:"task_offset,omitempty"`   // the argument is a task, which has the body's address at this offset
	TaskArgument *int   `json:"task_argument,omitempty"` // which argument of the body is that task
}

// Breakpoints looks for all locations of all runtimes.
func (in *Inspector) Breakpoints() *Breakpoints {
	p := in.Picture(Parts{})
	out := &Breakpoints{Schema: BreakpointSchema, Target: p.Target, Runtimes: p.Runtimes, Locations: []Breakpoint{}}
	for _, rt := range in.runtimes {
		r, ok := rt.Runtime.(rtl.BreakpointReader)
		if !ok {
			in.warn("%s: breakpoint locations of this runtime are not known", rt.id)
			continue
		}
		list, err := r.Breakpoints()
		if err != nil {
			in.warn("%s: %s", rt.id, message(err))
		}
		for _, b := range list {
			out.Locations = append(out.Locations, breakpointOf(rt, b))
		}
	}
	out.Warnings = in.Warnings()
	return out
}

func breakpointOf(rt *runtimeView, b rtl.Breakpoint) Breakpoint {
	out := Breakpoint{
		Name: b.Name, Former: b.Former, Since: b.Since, Runtime: rt.id, Address: hexPtr(b.Address.Offset),
		How: string(b.How), Function: b.Function, Evidence: b.Evidence, Active: b.Active,
	}
	for _, a := range b.Sites {
		out.Sites = append(out.Sites, Hex(a.Offset))
	}
	for _, e := range b.Entries {
		out.Entries = append(out.Entries, entryOf(e))
	}
	if b.Err != nil {
		out.Error = reason(b.Err, b.Name)
	}
	return out
}

func entryOf(e rtl.BodyEntry) BodyEntry {
	out := BodyEntry{Function: e.Function, Address: Hex(e.Address.Offset), Argument: e.Argument}
	if e.Task {
		offset := int(e.BodyOffset)
		out.TaskOffset = &offset
	}
	if e.Task && e.TaskArgument >= 0 {
		out.TaskArgument = &e.TaskArgument
	}
	return out
}
