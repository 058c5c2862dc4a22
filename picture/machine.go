package picture

// Processors are what is known of where threads may run. Of a core, next to nothing is.
type Processors struct {
	// Running are the LWPs that are in no system call in which they would sleep; of
	// others it is known that they are, or nothing.
	Running []int `json:"running,omitempty" pb:"1"`
	// Masks are the affinity masks of the threads that run and of those that forked a
	// region, each once.
	Masks  []Mask  `json:"masks,omitempty" pb:"2"`
	Quota  *Quota  `json:"quota,omitempty" pb:"3"`
	Cpuset *Cpuset `json:"cpuset,omitempty" pb:"4"`
}

// Mask is a set of processors, and the threads that may run on these.
type Mask struct {
	Processors []int `json:"processors" pb:"1"` // ascending
	Threads    []int `json:"threads" pb:"2"`    // LWPs
}

// Quota limits the processor time of the program.
type Quota struct {
	Processors float64 `json:"processors" pb:"1"` // that it may use all the time
	Source     string  `json:"source" pb:"2"`     // where that was read
}

// Cpuset is which processors the control group of the program has.
type Cpuset struct {
	Processors string `json:"processors,omitempty" pb:"1"` // such as "0-3,8"
	Source     string `json:"source" pb:"2"`
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
	Name    string          `json:"name" pb:"1"`
	State   VariableState   `json:"state" pb:"2"`
	Value   string          `json:"value,omitempty" pb:"3"`
	Purpose VariablePurpose `json:"purpose" pb:"4"`
	// AlwaysSpins is set if the value says that threads spin all the time that they wait.
	AlwaysSpins bool `json:"always_spins,omitempty" pb:"5"`
}

// Fault is what is known of the instruction that killed the program.
type Fault struct {
	Thread int    `json:"thread" pb:"1"` // LWP
	Signal string `json:"signal" pb:"2"` // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP or SIGSYS
	Code   int    `json:"code" pb:"3"`   // si_code: why the kernel raised it
	// A handler of the signal was called, and ended the program by it.
	Handled bool `json:"handled,omitempty" pb:"4"`
	Address *Hex `json:"address,omitempty" pb:"5" schema:"null"` // that was accessed
	PC      *Hex `json:"pc,omitempty" pb:"6" schema:"null"`      // of the instruction
	// NullPointer is set if the address is that of a null pointer, or of a part of what it
	// points to.
	NullPointer bool `json:"null_pointer,omitempty" pb:"7"`
	// Trap is set if the instruction is one that compilers put where execution must not
	// come.
	Trap  bool   `json:"trap,omitempty" pb:"8"`
	Frame *Frame `json:"frame,omitempty" pb:"9"` // innermost frame of user code at that time
	// Caller is the innermost frame of the program's own code, if the instruction is in the code of a library, a
	// runtime, or a header of C++'s library, and Callee is what that had called. A function that ended in the call
	// (a tail call) is not known.
	Caller *Frame      `json:"caller,omitempty" pb:"12"`
	Callee *Callee     `json:"callee,omitempty" pb:"13"` // what that frame had called
	Stack  *FaultStack `json:"stack,omitempty" pb:"10"`
	Memory *Nearby     `json:"memory,omitempty" pb:"11"` // around the address
}

// Callee is a function that was called.
type Callee struct {
	Function string `json:"function,omitempty" pb:"1"` // by which name it was called
	Module   string `json:"module,omitempty" pb:"2"`   // it is in, if that is not the caller's
}

// FaultStack is the stack of the thread that died.
type FaultStack struct {
	Low       *Hex   `json:"low,omitempty" pb:"1"` // its bounds, [Low, High), if they are known
	High      *Hex   `json:"high,omitempty" pb:"2"`
	Source    string `json:"source,omitempty" pb:"3"`     // what they are known from
	Initial   bool   `json:"initial,omitempty" pb:"4"`    // it is that of the process, not of a thread that was made
	SP        *Hex   `json:"sp,omitempty" pb:"5"`         // stack pointer
	FrameSize uint64 `json:"frame_size,omitempty" pb:"6"` // bytes of the innermost frame, if that is known
	Truncated bool   `json:"truncated,omitempty" pb:"7"`  // it has more frames than were looked at
	Repeats   int    `json:"repeats,omitempty" pb:"8"`    // how often the function is on it that is there most
	Repeated  *Frame `json:"repeated,omitempty" pb:"9"`   // the innermost frame of that function
	// Largest is the largest variable of the innermost function of user code, where debug information has it.
	Largest *Local `json:"largest,omitempty" pb:"10"`
}

// Local is a local variable of a function.
type Local struct {
	Name string `json:"name" pb:"1"`
	Size uint64 `json:"size" pb:"2"` // bytes
	File string `json:"file,omitempty" pb:"3"`
	Line int    `json:"line,omitempty" pb:"4"` // where it is declared
}

// BrokenHeap is where the chain of the heap's blocks breaks: behind the block [Low, High) is a header that malloc
// never makes. It is looked for where a program died.
type BrokenHeap struct {
	Low  Hex    `json:"low" pb:"1"`
	High Hex    `json:"high" pb:"2"`
	Size uint64 `json:"size" pb:"3"` // that the header says the block behind it has, in bytes
}

// Nearby is the memory at an address, or around it.
type Nearby struct {
	Mapping *Mapping `json:"mapping,omitempty" pb:"1"` // that has the address
	Below   *Mapping `json:"below,omitempty" pb:"2"`
	Above   *Mapping `json:"above,omitempty" pb:"3"`
	// Description names the variable at the address, or the thread whose stack it is.
	Description string `json:"description,omitempty" pb:"4"`
}

// Mapping is a range of the target's memory, [Low, High).
//
//contract:message MemoryMapping
type Mapping struct {
	Low    Hex    `json:"low" pb:"1" schema:"null"`
	High   Hex    `json:"high" pb:"2" schema:"null"`
	Access string `json:"access" pb:"3"` // rwx, with - for what is not permitted
	File   string `json:"file,omitempty" pb:"4"`
}

// Abort is what is known of a program that was ended by a call of abort.
type Abort struct {
	Thread int `json:"thread" pb:"1"` // LWP
	// Component is the part that ended it: a runtime, the C library, the C++ library; missing for the
	// program itself.
	Component     string `json:"component,omitempty" pb:"2"`
	Message       string `json:"message,omitempty" pb:"3"`        // what that said
	MessageSource string `json:"message_source,omitempty" pb:"4"` // where it was found
	// That called abort, or the function of the C++ library that did.
	Caller Frame  `json:"caller" pb:"5"`
	Call   string `json:"call,omitempty" pb:"6"` // that function, if it is the C++ library's
	// Exception is what nobody caught, if that is why.
	Exception *Exception `json:"exception,omitempty" pb:"7"`
	// Handler is set if the handler of a signal called abort that the program did not raise by
	// abort itself.
	Handler *SignalHandler `json:"handler,omitempty" pb:"8"`
}

// SignalHandler is a handler that was called for a signal that somebody sent.
type SignalHandler struct {
	Signal int `json:"signal,omitempty" pb:"1"` // number; missing if the handler did not ask who sent it
	Sender int `json:"sender,omitempty" pb:"2"` // process that sent it
	// Interrupted is what the thread was in when the signal came.
	Interrupted *Frame `json:"interrupted,omitempty" pb:"3"`
}

// Exception is what is known of a C++ exception, or one of another language, that ended
// the program since nothing caught it.
type Exception struct {
	// Type is the name of its type; missing if it is not one of C++.
	Type string `json:"type,omitempty" pb:"1"`
	// Language is its class as the unwinder has it, if it is not one of C++.
	Language   string   `json:"language,omitempty" pb:"2"`
	What       string   `json:"what,omitempty" pb:"3"`        // what it says of itself, or its value
	WhatSource string   `json:"what_source,omitempty" pb:"4"` // how that is known
	Thrown     Thrown   `json:"thrown" pb:"5"`
	Boundary   Boundary `json:"boundary" pb:"6"`
}

// Thrown is where an exception comes from.
type Thrown struct {
	Frame    *Frame `json:"frame,omitempty" pb:"1"`    // missing if functions in between have ended since
	Source   string `json:"source,omitempty" pb:"2"`   // how that is known
	Rethrown bool   `json:"rethrown,omitempty" pb:"3"` // it was caught before, and thrown again
	// Candidates are the places that may have thrown it, if it is not known which of them did.
	Candidates []Frame `json:"candidates,omitempty" pb:"4"`
	Unwound    *Frame  `json:"unwound,omitempty" pb:"5"` // the last function that it is known to have left
}

// Boundary is the function or construct that an exception may not leave.
type Boundary struct {
	Uncaught  bool   `json:"uncaught,omitempty" pb:"1"`  // no function on the stack stops it
	Frame     *Frame `json:"frame,omitempty" pb:"2"`     // the function that it may not leave
	Source    string `json:"source,omitempty" pb:"3"`    // how that is known
	Uncertain bool   `json:"uncertain,omitempty" pb:"4"` // it may be a function further in
	Construct bool   `json:"construct,omitempty" pb:"5"` // the function calls a runtime: it may be a construct in it
	Region    ID     `json:"region,omitempty" pb:"6"`    // that it would have left
	Task      ID     `json:"task,omitempty" pb:"7"`      // an explicit one that it would have left
}
