package handles

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Evidence is the data of the layer above a runtime reader on a thread: its registers and its native stack, with
// known names. The runtime reader interprets it for its runtime. All of it may be absent.
type Evidence struct {
	Registers *callbacks.Registers // nil if unknown
	// Futex is the address of the word that the thread sleeps on; null if it does not sleep in a futex call.
	Futex callbacks.Address
	// Wakes means that the thread is in a system call that wakes other threads on a futex, and waits for no
	// event.
	Wakes bool
	// Syscall names the thread's system call; empty outside system calls.
	Syscall string
	// Frames is the native stack, innermost first. It ends after the first user frame that called into the
	// runtime, if it reaches that far.
	Frames []EvidenceFrame
	// Outside means that the whole stack is the C library's: it contains neither user code nor a runtime, as at
	// the start of a thread.
	Outside bool
	// TailCalled means that a tail call removed the program's frame: the innermost frames are the C library's,
	// directly above those of a runtime. They are blocked in a system call that no OpenMP runtime makes
	// (ProgramCall), or were called through a pointer.
	TailCalled bool
	// Cut means that the stack could not be followed to user code: the callers of the last frame are unknown.
	Cut bool
	// Entry is the call in user code that entered this runtime; nil if the thread is not inside it or the call
	// could not be identified.
	Entry *Entry
}

// EvidenceFrame is one frame of a native stack.
type EvidenceFrame struct {
	PC     uint64
	CFA    uint64 // canonical frame address; the frame's stack memory ends here
	Symbol string // exported function of the runtime; empty if unknown or if the code is not the runtime's
	Low    uint64 // entry of the function; 0 if unknown
	Module string // base name of the module's file
	Owned  bool   // the code belongs to this runtime
	// Between means code between the program or a runtime and the C library, such as a sanitizer's: its caller
	// is the code that waits.
	Between bool
}

// Entry is a call of user code into a runtime.
type Entry struct {
	Function string // the runtime's exported function
	By       string // source of the name: "symbol of the frame", "call instruction", …
	Return   uint64 // address in user code after the call
	// StackLow and StackHigh bound the stack memory of the runtime's frames below the call: [StackLow,
	// StackHigh).
	StackLow, StackHigh callbacks.Address
	// Arg returns integer argument n (from 0) of the call; false if the calling code does not show it.
	Arg func(n int) (uint64, bool)
	// Shares reports whether the calling function may call the functions that compilers use for worksharing
	// constructs with a separate barrier call.
	Shares func() bool
	// Ordered reports whether a function of the program on the stack, within the region, may start a loop with an
	// ordered clause.
	Ordered func() bool
}
