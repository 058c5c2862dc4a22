package picture

// ProcessSchema names the version of the JSON form of Processes.
const ProcessSchema = "ompd-inspect/ps/2.0"

// Processes are the processes of a machine that have an OpenMP runtime loaded.
type Processes struct {
	Schema    string    `json:"schema" schema:"const=ProcessSchema"`
	Processes []Process `json:"processes"`
	// Hidden is the number of processes that could not be read for lack
	// of permission.
	Hidden int `json:"hidden" schema:"min=0"`
	// HiddenReason is the reason for one of them, and the command to type.
	HiddenReason string `json:"hidden_reason,omitempty"`

	readable int
}

// Readable returns the number of processes that could be read, those without OpenMP too; 0 if it is unknown. It is not
// part of the JSON form.
func (p *Processes) Readable() int { return p.readable }

// SetReadable sets the number of processes that could be read.
func (p *Processes) SetReadable(n int) { p.readable = n }

// Process is a process with an OpenMP runtime.
type Process struct {
	PID        int           `json:"pid" pb:"1" schema:"min=1"`
	User       string        `json:"user" pb:"2" schema:"minlen=1"`
	Executable string        `json:"executable,omitempty" pb:"3"`              // path in the process's file system
	Command    []string      `json:"command,omitempty" pb:"4"`                 // the arguments, the program first
	State      string        `json:"state" pb:"5"`                             // running, sleeping, stopped, …
	Threads    int           `json:"threads" pb:"6" schema:"min=0"`            // number of threads
	Started    string        `json:"started" pb:"7" schema:"format=date-time"` // RFC 3339
	CPU        float64       `json:"cpu" pb:"8" schema:"min=0"`                // number of processors that it keeps busy
	Runtimes   []ProcessCode `json:"runtimes" pb:"9" schema:"minitems=1"`
}

// ProcessCode is a module of a process that holds an OpenMP runtime.
type ProcessCode struct {
	Family  string `json:"family" pb:"1" schema:"minlen=1"` // one word: the base name of its library
	Name    string `json:"name" pb:"2" schema:"minlen=1"`
	Version string `json:"version,omitempty" pb:"3"`      // as far as symbols and path show it
	Path    string `json:"path" pb:"4" schema:"minlen=1"` // in the process's file system
	Static  bool   `json:"static" pb:"5"`                 // it is linked into the executable
	// InferredFrom is set if no symbol shows it: the other evidence.
	InferredFrom string `json:"inferred_from,omitempty" pb:"6"`
}
