package rtl

import "github.com/ompd-inspect/ompd-inspect/handles"

// LoopReader is a runtime that records the progress of its threads in worksharing loops. OMPD does not require
// it.
type LoopReader interface {
	// Loop describes the worksharing loop, or the sections, of a thread; the error is callbacks.Unavailable
	// without one. code holds the facts from the code of the thread's frames; it may be nil.
	Loop(h handles.Thread, code *LoopCode) (LoopInfo, error)
}

// LoopInfo is a worksharing loop as one thread sees it. Unknown values are nil.
type LoopInfo struct {
	Schedule string  // static, dynamic, guided, trapezoidal, distribute, sections, dynamic or sections
	Chunk    *uint64 // iterations that a thread gets at once; for guided the minimum
	Ordered  bool    // it has an ordered clause
	// First, Last and Step are the first and the last value of the loop's variable, and its increment, as the
	// compiler passed them to the runtime: GCC passes the program's values, clang counts iterations from 0.
	First, Last, Step *int64
	Iterations        *uint64 // of the whole loop
	Left              *uint64 // not yet assigned to a thread
	// From and To are the first and the last of the values assigned to the thread.
	From, To *int64
	At       *int64 // the thread's current value
	Evidence string // source of these facts
}

// LoopCode is the data on a thread's worksharing construct from the code of its frame: on all paths, the frame
// got there from the call that assigned the thread its part, and on no path from a call that ends the construct.
type LoopCode struct {
	Call     LoopCall
	Function string // that assigned the thread its part
	Where    string // the frame's function, or the address of its code
	Ordered  bool   // it has an ordered clause, by the names of functions
	// Low and High are the values that the function stored through its arguments; nil if they could not be read.
	Low, High *int64
	Schedule  *uint64 // argument of the call, if it has one
	Chunk     *int64  // in the same way
	Counter   *int64  // the thread's current iteration, by debug information
	Source    uint64  // address of the compiler's description of the construct; 0 without
}

// Range returns the first and the last value assigned to the thread, in a loop with the given step; nil if they
// are unknown or the range is empty.
func (c *LoopCode) Range(step int64) (from, to *int64) {
	if c == nil || c.Low == nil || c.High == nil || step == 0 {
		return nil, nil
	}
	low, high := *c.Low, *c.High
	if c.Call.Behind {
		if step > 0 {
			high--
		} else {
			high++
		}
	}
	return StepRange(low, high, step)
}

// StepRange returns the first and the last value of a variable that starts at low and changes by step until it
// passes limit; nil if the range is empty.
func StepRange(low, limit, step int64) (from, to *int64) {
	size, span := uint64(step), uint64(limit)-uint64(low)
	if step < 0 {
		size, span = -size, -span
	}
	if step == 0 || step > 0 && low > limit || step < 0 && low < limit {
		return nil, nil
	}
	last := low + int64(span/size)*step
	return &low, &last
}

// Place adds the thread's current value to info, if it is in the thread's range or no range is known.
func (c *LoopCode) Place(info *LoopInfo) {
	if c == nil || c.Counter == nil || info.From != nil && (*c.Counter < *info.From || *c.Counter > *info.To) {
		return
	}
	info.At = c.Counter
	info.Evidence = JoinEvidence(info.Evidence, "its counter by debug information")
}

// Evidence describes the source of c.
func (c *LoopCode) Evidence() string {
	text := c.Where + " is past its call of " + c.Function
	if c.Low != nil && c.High != nil {
		text += ", and the range is where that call put it"
	}
	return text
}
