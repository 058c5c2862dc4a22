package picture

// Processors are what is known of where threads may run. Of a core, next to nothing is.
type Processors struct {
	// Running are the LWPs that are in no system call in which they would sleep; of
	// others it is known that they are, or nothing.
	Running []int `json:"running,omitempty"`
	// Masks are the affinity masks of the threads that run and of those that forked a
	// region, each once.
	Masks  []Mask  `json:"masks,omitempty"`
	Quota  *Quota  `json:"quota,omitempty"`
	Cpuset *Cpuset `json:"cpuset,omitempty"`
}

// Mask is a set of processors, and the threads that may run on these.
type Mask struct {
	Processors []int `json:"processors"` // ascending
	Threads    []int `json:"threads"`    // LWPs
}

// Quota limits the processor time of the program.
type Quota struct {
	Processors float64 `json:"processors"` // that it may use all the time
	Source     string  `json:"source"`     // where that was read
}

// Cpuset is which processors the control group of the program has.
type Cpuset struct {
	Processors string `json:"processors,omitempty"` // such as "0-3,8"
	Source     string `json:"source"`
}

// VariableState says what is known of a variable of the environment.
type VariableState string

// States of variables.
const (
	VariableSet     VariableState = "set"
	VariableUnset   VariableState = "unset"
	VariableUnknown VariableState = "unknown" // the environment could not be read
)

// VariablePurpose is what a variable of the environment decides on.
type VariablePurpose string

// Purposes of variables.
const (
	PurposeTeam VariablePurpose = "team" // the size of teams
	PurposeBind VariablePurpose = "bind" // which processors threads run on
	PurposeSpin VariablePurpose = "spin" // for how long threads spin while they wait
)

// Variable is a variable of the program's environment, as it is now.
type Variable struct {
	Name    string          `json:"name"`
	State   VariableState   `json:"state"`
	Value   string          `json:"value,omitempty"`
	Purpose VariablePurpose `json:"purpose"`
	// Always is set if the value says that threads spin all the time that they wait.
	Always bool `json:"always,omitempty"`
}

// Fault is what is known of the instruction that killed the program.
type Fault struct {
	Thread  int    `json:"thread"`            // LWP
	Signal  string `json:"signal"`            // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP or SIGSYS
	Code    int    `json:"code"`              // si_code: why the kernel raised it
	Handled bool   `json:"handled,omitempty"` // a handler of the signal was called, and ended the program by it
	Address *Hex   `json:"address,omitempty"` // that was accessed
	PC      *Hex   `json:"pc,omitempty"`      // of the instruction
	// Null is set if the address is that of a null pointer, or of a part of what it
	// points to.
	Null bool `json:"null,omitempty"`
	// Trap is set if the instruction is one that compilers put where execution must not
	// come.
	Trap bool   `json:"trap,omitempty"`
	At   *Frame `json:"at,omitempty"` // innermost frame of user code at that time
	// Caller is the innermost frame of the program's own code, if the instruction is in the code of a library, a
	// runtime, or a header of C++'s library, and Callee is what that had called. A function that ended in the call
	// (a tail call) is not known.
	Caller *Frame      `json:"caller,omitempty"`
	Callee *Callee     `json:"callee,omitempty"`
	Stack  *FaultStack `json:"stack,omitempty"`
	Memory *Nearby     `json:"memory,omitempty"` // around the address
}

// Callee is a function that was called.
type Callee struct {
	Function string `json:"function,omitempty"` // by which name it was called
	Module   string `json:"module,omitempty"`   // it is in, if that is not the caller's
}

// FaultStack is the stack of the thread that died.
type FaultStack struct {
	Low      *Hex   `json:"low,omitempty"` // its bounds, [Low, High), if they are known
	High     *Hex   `json:"high,omitempty"`
	By       string `json:"by,omitempty"`       // what they are known from
	Initial  bool   `json:"initial,omitempty"`  // it is that of the process, not of a thread that was made
	SP       *Hex   `json:"sp,omitempty"`       // stack pointer
	Frame    uint64 `json:"frame,omitempty"`    // bytes of the innermost frame, if that is known
	Cut      bool   `json:"cut,omitempty"`      // it has more frames than were looked at
	Repeats  int    `json:"repeats,omitempty"`  // how often the function is on it that is there most
	Repeated *Frame `json:"repeated,omitempty"` // the innermost frame of that function
	// Largest is the largest variable of the innermost function of user code, where debug information has it.
	Largest *Local `json:"largest,omitempty"`
}

// Local is a local variable of a function.
type Local struct {
	Name string `json:"name"`
	Size uint64 `json:"size"` // bytes
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // where it is declared
}

// BrokenHeap is where the chain of the heap's blocks breaks: behind the block [Low, High) is a header that malloc
// never makes. It is looked for where a program died.
type BrokenHeap struct {
	Low  Hex    `json:"low"`
	High Hex    `json:"high"`
	Size uint64 `json:"size"` // that the header says the block behind it has, in bytes
}

// Nearby is the memory at an address, or around it.
type Nearby struct {
	Mapping *Mapping `json:"mapping,omitempty"` // that has the address
	Below   *Mapping `json:"below,omitempty"`
	Above   *Mapping `json:"above,omitempty"`
	// What names the variable at the address, or whose stack it is.
	What string `json:"what,omitempty"`
}

// Mapping is a range of the target's memory, [Low, High).
type Mapping struct {
	Low    Hex    `json:"low"`
	High   Hex    `json:"high"`
	Access string `json:"access"` // rwx, with - for what is not permitted
	File   string `json:"file,omitempty"`
}

// Abort is what is known of a program that was ended by a call of abort.
type Abort struct {
	Thread int `json:"thread"` // LWP
	// By is who ended it: a runtime, the C library, the C++ library; missing for the
	// program itself.
	By        string `json:"by,omitempty"`
	Message   string `json:"message,omitempty"`    // what that said
	MessageBy string `json:"message_by,omitempty"` // where it was found
	Caller    Frame  `json:"caller"`               // that called abort, or the function of the C++ library that did
	Call      string `json:"call,omitempty"`       // that function, if it is the C++ library's
	// Exception is what nobody caught, if that is why.
	Exception *Exception `json:"exception,omitempty"`
	// Handler is set if the handler of a signal called abort that the program did not raise by
	// abort itself.
	Handler *SignalHandler `json:"handler,omitempty"`
}

// SignalHandler is a handler that was called for a signal that somebody sent.
type SignalHandler struct {
	Signal int `json:"signal,omitempty"` // number; missing if the handler did not ask who sent it
	Sender int `json:"sender,omitempty"` // process that sent it
	// Interrupted is what the thread was in when the signal came.
	Interrupted *Frame `json:"interrupted,omitempty"`
}

// Exception is what is known of a C++ exception, or one of another language, that ended
// the program since nothing caught it.
type Exception struct {
	// Type is the name of its type; missing if it is not one of C++.
	Type string `json:"type,omitempty"`
	// Language is its class as the unwinder has it, if it is not one of C++.
	Language string `json:"language,omitempty"`
	What     string `json:"what,omitempty"`    // what it says of itself, or its value
	WhatBy   string `json:"what_by,omitempty"` // how that is known
	Thrown   Thrown `json:"thrown"`
	Left     Left   `json:"left"`
}

// Thrown is where an exception comes from.
type Thrown struct {
	At    *Frame `json:"at,omitempty"`    // missing if functions in between have ended since
	By    string `json:"by,omitempty"`    // how that is known
	Again bool   `json:"again,omitempty"` // it was caught before, and thrown again
	// Maybe are the places that may have thrown it, if it is not known which of them did.
	Maybe  []Frame `json:"maybe,omitempty"`
	Passed *Frame  `json:"passed,omitempty"` // the last function that it is known to have left
}

// Left is what an exception may not leave.
type Left struct {
	All       bool   `json:"all,omitempty"`       // no function on the stack stops it
	At        *Frame `json:"at,omitempty"`        // the function that it may not leave
	By        string `json:"by,omitempty"`        // how that is known
	Unsure    bool   `json:"unsure,omitempty"`    // it may be a function further in
	Construct bool   `json:"construct,omitempty"` // the function calls a runtime: it may be a construct in it
	Region    ID     `json:"region,omitempty"`    // that it would have left
	Task      ID     `json:"task,omitempty"`      // an explicit one that it would have left
}
