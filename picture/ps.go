package picture

// ProcessSchema names the version of the JSON form of Processes.
const ProcessSchema = "ompd-inspect/ps/1.0"

// Processes are the processes of a machine that have an OpenMP runtime loaded.
type Processes struct {
	Schema    string    `json:"schema"`
	Processes []Process `json:"processes"`
	// Hidden is the number of processes that could not be looked at for lack
	// of permission.
	Hidden int `json:"hidden"`
	// HiddenBecause is why that is for one of them, and what to type.
	HiddenBecause string `json:"hidden_because,omitempty"`
}

// Process is one of them.
type Process struct {
	PID        int           `json:"pid"`
	User       string        `json:"user"`
	Executable string        `json:"executable,omitempty"`
	Command    []string      `json:"command,omitempty"` // the arguments, the program first
	State      string        `json:"state"`             // running, sleeping, stopped, …
	Threads    int           `json:"threads"`
	Started    string        `json:"started"` // RFC 3339
	CPU        float64       `json:"cpu"`     // processors that it keeps busy
	Runtimes   []ProcessCode `json:"runtimes"`
}

// ProcessCode is a module of a process that holds an OpenMP runtime.
type ProcessCode struct {
	Family  string `json:"family"` // one word: the base name of its library
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path"` // as the process sees it
	Static  bool   `json:"static"`
	// InferredFrom is set if no symbol says that it is there: from what else
	// that is known.
	InferredFrom string `json:"inferred_from,omitempty"`
}
