package picture

// Processors describes the allowed processors of threads. In a core, most of it is missing.
type Processors struct {
	// Running are the LWPs that are not in a system call in which they would sleep. The others
	// are in one, or unknown.
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

// Quota limits the CPU time of the program.
type Quota struct {
	Processors float64 `json:"processors" pb:"1"` // processors that it may use permanently
	Source     string  `json:"source" pb:"2"`     // the place from which it was read
}

// Cpuset is the set of processors of the program's control group.
type Cpuset struct {
	Processors string `json:"processors,omitempty" pb:"1"` // such as "0-3,8"
	Source     string `json:"source" pb:"2"`
}

// VariableState is the state of an environment variable.
type VariableState string

// States of variables.
const (
	VariableSet     VariableState = "set"
	VariableUnset   VariableState = "unset"
	VariableUnknown VariableState = "unknown" // the environment could not be read
)

// VariablePurpose is the setting that an environment variable controls.
type VariablePurpose string

// Purposes of variables.
const (
	PurposeTeam VariablePurpose = "team" // the size of teams
	PurposeBind VariablePurpose = "bind" // the processors on which threads run
	PurposeSpin VariablePurpose = "spin" // how long waiting threads spin
)

// Variable is a variable of the program's environment.
type Variable struct {
	Name    string          `json:"name" pb:"1"`
	State   VariableState   `json:"state" pb:"2"`
	Value   string          `json:"value,omitempty" pb:"3"`
	Purpose VariablePurpose `json:"purpose" pb:"4"`
	// AlwaysSpins is set if waiting threads never sleep with that value.
	AlwaysSpins bool `json:"always_spins,omitempty" pb:"5"`
}

// Fault describes the instruction that killed the program.
type Fault struct {
	Thread int    `json:"thread" pb:"1"` // LWP
	Signal string `json:"signal" pb:"2"` // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP or SIGSYS
	Code   int    `json:"code" pb:"3"`   // si_code: why the kernel raised it
	// A handler of the signal was called, and ended the program with it.
	Handled bool `json:"handled,omitempty" pb:"4"`
	Address *Hex `json:"address,omitempty" pb:"5" schema:"null"` // the accessed address
	PC      *Hex `json:"pc,omitempty" pb:"6" schema:"null"`      // address of the instruction
	// NullPointer is set if the address is null, or that of a member of an object at null.
	NullPointer bool `json:"null_pointer,omitempty" pb:"7"`
	// Trap is set if the instruction is one that compilers insert at unreachable places.
	Trap  bool   `json:"trap,omitempty" pb:"8"`
	Frame *Frame `json:"frame,omitempty" pb:"9"` // innermost frame of user code
	// Caller is the innermost frame of the program's own code, if the instruction is in a library, a
	// runtime, or a header of the C++ library, and Callee is the function that it called. The caller of a tail call
	// is unknown.
	Caller *Frame      `json:"caller,omitempty" pb:"12"`
	Callee *Callee     `json:"callee,omitempty" pb:"13"` // the function that this frame called
	Stack  *FaultStack `json:"stack,omitempty" pb:"10"`
	Memory *Nearby     `json:"memory,omitempty" pb:"11"` // around the address
	// Dead are the variables that the crashed code uses, and whose memory on a stack is free or in other use: those of
	// a function that has returned.
	Dead []DeadVariable `json:"dead,omitempty" pb:"14"`
	// NullVariable is the variable from which the instruction loaded the null pointer; missing if it is unknown.
	NullVariable *NullVariable `json:"null_variable,omitempty" pb:"15"`
}

// NullVariable is a thread-local variable, such as a threadprivate one, with a null pointer that a thread used.
type NullVariable struct {
	Name    string `json:"name" pb:"1"`
	Address Hex    `json:"address" pb:"2"` // of the thread's own copy
	// Set are the LWPs of other threads with copies that are not null.
	Set []int `json:"set,omitempty" pb:"3"`
}

// DeadVariable is a variable of a function that has returned.
type DeadVariable struct {
	Name    string `json:"name,omitempty" pb:"1"` // empty: unknown
	Address Hex    `json:"address" pb:"2"`
	Thread  int    `json:"thread" pb:"3"` // LWP of the thread with the stack
	SP      Hex    `json:"sp" pb:"4"`     // the stack pointer of that thread
	// Frame is the frame that uses the memory now; missing if the memory is below all frames.
	Frame *Frame `json:"frame,omitempty" pb:"5"`
	// Reason explains why the variable is not alive in that frame.
	Reason string `json:"reason,omitempty" pb:"6"`
}

// Callee is a function that was called.
type Callee struct {
	Function string `json:"function,omitempty" pb:"1"` // the name by which it was called
	Module   string `json:"module,omitempty" pb:"2"`   // its module, if it is another one than the caller's
}

// FaultStack is the stack of the thread that died.
type FaultStack struct {
	Low       *Hex   `json:"low,omitempty" pb:"1"` // its bounds, [Low, High), if known
	High      *Hex   `json:"high,omitempty" pb:"2"`
	Source    string `json:"source,omitempty" pb:"3"`     // the source of the bounds
	Initial   bool   `json:"initial,omitempty" pb:"4"`    // it is the process's first stack, not that of a created thread
	SP        *Hex   `json:"sp,omitempty" pb:"5"`         // stack pointer
	FrameSize uint64 `json:"frame_size,omitempty" pb:"6"` // bytes of the innermost frame, if known
	Truncated bool   `json:"truncated,omitempty" pb:"7"`  // it has more frames than were read
	Repeats   int    `json:"repeats,omitempty" pb:"8"`    // number of frames of its most frequent function
	Repeated  *Frame `json:"repeated,omitempty" pb:"9"`   // the innermost frame of that function
	// Largest is the largest variable of the innermost function of user code, by debug information.
	Largest *Local `json:"largest,omitempty" pb:"10"`
}

// Overrun is a thread whose frames reach beyond its own stack into that of another thread.
type Overrun struct {
	Thread int         `json:"thread" pb:"1"`          // LWP
	Victim int         `json:"victim" pb:"2"`          // LWP of the other thread
	Frame  *Frame      `json:"frame,omitempty" pb:"3"` // the frame that is partly in either stack
	Stack  *FaultStack `json:"stack" pb:"4"`           // the thread's own
}

// Local is a local variable of a function.
type Local struct {
	Name string `json:"name" pb:"1"`
	Size uint64 `json:"size" pb:"2"` // bytes
	File string `json:"file,omitempty" pb:"3"`
	Line int    `json:"line,omitempty" pb:"4"` // of its declaration
}

// BrokenHeap is the place at which the chain of the heap's blocks breaks: the block [Low, High) is followed by a header
// that malloc never writes. It is determined for programs that crashed.
type BrokenHeap struct {
	Low  Hex    `json:"low" pb:"1"`
	High Hex    `json:"high" pb:"2"`
	Size uint64 `json:"size" pb:"3"` // bytes of the following block, by that header
}

// Nearby is the memory at an address, or around it.
type Nearby struct {
	Mapping *Mapping `json:"mapping,omitempty" pb:"1"` // the mapping that contains the address
	Below   *Mapping `json:"below,omitempty" pb:"2"`
	Above   *Mapping `json:"above,omitempty" pb:"3"`
	// The variable at the address, or the thread with this address on its stack.
	Description string `json:"description,omitempty" pb:"4"`
}

// Mapping is a range of the target's memory, [Low, High).
//
//contract:message MemoryMapping
type Mapping struct {
	Low    Hex    `json:"low" pb:"1" schema:"null"`
	High   Hex    `json:"high" pb:"2" schema:"null"`
	Access string `json:"access" pb:"3"` // rwx, with - for a missing permission
	File   string `json:"file,omitempty" pb:"4"`
}

// Abort describes the end of a program by abort.
type Abort struct {
	Thread int `json:"thread" pb:"1"` // LWP
	// Component is the part that called abort: a runtime, the C library, the C++ library; missing for the
	// program itself.
	Component     string `json:"component,omitempty" pb:"2"`
	Message       string `json:"message,omitempty" pb:"3"`        // its message
	MessageSource string `json:"message_source,omitempty" pb:"4"` // where the message was found
	// The frame that called abort, or called the function of the C++ library that did.
	Caller Frame  `json:"caller" pb:"5"`
	Call   string `json:"call,omitempty" pb:"6"` // that function of the C++ library
	// Exception is the uncaught exception, if there was one.
	Exception *Exception `json:"exception,omitempty" pb:"7"`
	// Handler is set if the handler of a signal called abort, and the program did not raise that signal with
	// abort itself.
	Handler *SignalHandler `json:"handler,omitempty" pb:"8"`
}

// EndingThread returns the LWP of the thread that ended the program, by a fault or by abort; 0 if no thread did. Its
// stack may look like that of a thread that waits; it does not. A thread that called abort only because the program was
// sent a signal may wait.
func (f *Facts) EndingThread() int {
	if f == nil {
		return 0
	}
	switch a := f.Abort; {
	case f.Fault != nil:
		return f.Fault.Thread
	case a != nil && (a.Handler == nil || a.Component != "" || a.Exception != nil):
		return a.Thread
	}
	return 0
}

// SignalHandler is a handler that was called for a sent signal.
type SignalHandler struct {
	Signal int `json:"signal,omitempty" pb:"1"` // number; missing if the handler has no siginfo_t
	Sender int `json:"sender,omitempty" pb:"2"` // PID of the sender
	// Interrupted is the frame that the signal interrupted: the program's, if it interrupted a runtime that the
	// program had called.
	Interrupted *Frame `json:"interrupted,omitempty" pb:"3"`
	// Call is the runtime's function that this frame had called.
	Call string `json:"call,omitempty" pb:"4"`
}

// Exception is an uncaught exception, of C++ or another language, that ended the program.
type Exception struct {
	// Type is the name of its type; missing for other languages than C++.
	Type string `json:"type,omitempty" pb:"1"`
	// Language is its class in the unwinder, for other languages than C++.
	Language   string   `json:"language,omitempty" pb:"2"`
	What       string   `json:"what,omitempty" pb:"3"`        // the result of what(), or its value
	WhatSource string   `json:"what_source,omitempty" pb:"4"` // the evidence
	Thrown     Thrown   `json:"thrown" pb:"5"`
	Boundary   Boundary `json:"boundary" pb:"6"`
}

// Thrown is the origin of an exception.
type Thrown struct {
	Frame    *Frame `json:"frame,omitempty" pb:"1"`    // missing if functions in between have returned
	Source   string `json:"source,omitempty" pb:"2"`   // the evidence
	Rethrown bool   `json:"rethrown,omitempty" pb:"3"` // it was caught, and thrown again
	// Candidates are the places that may have thrown it, if the place is not certain.
	Candidates []Frame `json:"candidates,omitempty" pb:"4"`
	Unwound    *Frame  `json:"unwound,omitempty" pb:"5"` // the last function that it has left for certain
}

// Boundary is the function or construct that an exception must not leave.
type Boundary struct {
	Uncaught  bool   `json:"uncaught,omitempty" pb:"1"`  // no function on the stack catches it
	Frame     *Frame `json:"frame,omitempty" pb:"2"`     // the function that it must not leave
	Source    string `json:"source,omitempty" pb:"3"`    // the evidence
	Uncertain bool   `json:"uncertain,omitempty" pb:"4"` // it may be a function further in
	Construct bool   `json:"construct,omitempty" pb:"5"` // the function calls a runtime: the boundary may be a construct in it
	Region    ID     `json:"region,omitempty" pb:"6"`    // the region that it would have left
	Task      ID     `json:"task,omitempty" pb:"7"`      // the explicit task that it would have left
}
