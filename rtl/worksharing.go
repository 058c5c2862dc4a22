package rtl

import "github.com/ompd-inspect/ompd-inspect/handles"

// LoopReader is a runtime that keeps where its threads are in worksharing loops. It
// is a power beyond what OMPD asks of a runtime.
type LoopReader interface {
	// Loop tells of the worksharing loop that a thread is in; callbacks.Unavailable
	// if it is in none of which the runtime keeps something. Loops with a static
	// schedule are computed by each thread alone.
	Loop(h handles.Thread) (LoopInfo, error)
}

// LoopInfo is a worksharing loop as a thread sees it. What is not kept is nil.
type LoopInfo struct {
	Schedule string  // static, dynamic, guided, trapezoidal, dynamic or sections
	Chunk    *uint64 // iterations that a thread gets at once; of guided the least
	Ordered  bool    // it has an ordered clause
	// First and Last are the first and the last value of the loop's variable,
	// Step what it changes by, as the compiler gave them to the runtime: GCC gives
	// those of the program, clang counts iterations from 0.
	First, Last, Step *int64
	Iterations        *uint64 // of the whole loop
	Left              *uint64 // that no thread has got yet
	// From and To are the values that the thread has got.
	From, To *int64
	Evidence string // what it was read from
}
