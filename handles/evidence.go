package handles

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Evidence is what the layer above a runtime reader knows of a thread: its
// registers and its native stack, with names where there are any. A runtime
// reader knows what it means for its runtime. All of it may be absent.
type Evidence struct {
	Registers *callbacks.Registers // nil if unknown
	// Futex is the address of the word that the thread sleeps on; null if it
	// does not sleep in a futex call.
	Futex callbacks.Address
	// Wakes tells that the system call that the thread is in wakes others on a futex, and
	// waits for nothing.
	Wakes bool
	// Syscall names the system call that the thread is in; empty if none.
	Syscall string
	// Frames is the native stack, innermost first, cut below the first user
	// frame that called into the runtime, at least as far as it is known.
	Frames []EvidenceFrame
	// Outside tells that the whole stack is the C library's: neither user code
	// nor a runtime is on it, as while a thread is being started.
	Outside bool
	// TailCalled is set when a tail call removed the program's frame: the innermost
	// frames are the C library's, directly above those of a runtime, and blocked in a system call
	// that no OpenMP runtime makes (ProgramCall), or called by a pointer.
	TailCalled bool
	// Cut tells that the stack could not be followed to user code: what is behind
	// the last frame is unknown.
	Cut bool
	// Entry is the call in user code that entered this runtime, nil if the
	// thread is not inside it or the call could not be identified.
	Entry *Entry
}

// EvidenceFrame is one frame of a native stack.
type EvidenceFrame struct {
	PC     uint64
	CFA    uint64 // canonical frame address; the frame's stack memory ends here
	Symbol string // exported function of the runtime; empty if it has none or the code is not the runtime's
	Low    uint64 // entry of the function; 0 if unknown
	Module string // base name of the module's file
	Owned  bool   // the code belongs to the runtime that is asked
	// Between is set for code that stands between the program or a runtime and the C library,
	// as a sanitizer's does: who called it waits.
	Between bool
}

// Entry is a call of user code into a runtime.
type Entry struct {
	Function string // the runtime's exported function
	By       string // how the name is known: "symbol of the frame", "call instruction", …
	Return   uint64 // address in user code behind the call
	// StackLow and StackHigh bound the stack memory of the runtime's frames
	// below the call: [StackLow, StackHigh).
	StackLow, StackHigh callbacks.Address
	// Arg returns integer argument n (from 0) of the call where the calling
	// code shows it, and whether it does.
	Arg func(n int) (uint64, bool)
	// Shares reports whether the calling function may call what compilers call for the
	// worksharing constructs whose barrier is a call of its own.
	Shares func() bool
}
