package rtl

import "github.com/ompd-inspect/ompd-inspect/handles"

// LoopReader is a runtime that knows the progress of its threads in worksharing loops. OMPD does not require it.
type LoopReader interface {
	// Loop describes the worksharing loop, or the sections, of a thread; the error is callbacks.Unavailable
	// without one. code holds the facts from the code of the thread's frames; it may be nil.
	Loop(h handles.Thread, code *LoopCode) (LoopInfo, error)
}

// LoopInfo is a worksharing loop as one thread sees it. Unknown values are nil.
type LoopInfo struct {
	Schedule string  // static, dynamic, guided, trapezoidal, distribute, sections, dynamic or sections
	Chunk    *uint64 // iterations that a thread gets at once; of guided the least
	Ordered  bool    // it has an ordered clause
	// First and Last are the first and the last value of the loop's variable,
	// Step what it changes by, as the compiler gave them to the runtime: GCC gives
	// those of the program, clang counts iterations from 0.
	First, Last, Step *int64
	Iterations        *uint64 // of the whole loop
	Left              *uint64 // not yet assigned to a thread
	// From and To are the first and the last of the values that the thread has got.
	From, To *int64
	At       *int64 // the value that the thread is in
	Evidence string // source of these facts
}

// LoopCode is what the code of a thread's frame shows of the worksharing construct
// that the thread is in: it came from the call that gave it its part on all ways,
// and to none that ends the construct.
type LoopCode struct {
	Call     LoopCall
	Function string // that gave the thread its part
	Where    string // the frame's function, or the address of its code
	Ordered  bool   // it has an ordered clause, as names of functions say
	// Low and High are what the function put where its arguments point; nil if
	// that could not be read.
	Low, High *int64
	Schedule  *uint64 // argument of the call, if it has one
	Chunk     *int64  // in the same way
	Counter   *int64  // iteration that the thread is in, by debug information
	Source    uint64  // address of what the compiler says of the construct; 0 without
}

// Range is the first and the last value that the thread has got in a loop whose
// variable changes by step; nil if they are not known, or it has none.
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

// StepRange is the first and the last value of a variable that begins with low and
// changes by step as long as it is not beyond limit; nil if there is none.
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

// Place adds to info where the thread is, if that is in its range, or no range is
// known.
func (c *LoopCode) Place(info *LoopInfo) {
	if c == nil || c.Counter == nil || info.From != nil && (*c.Counter < *info.From || *c.Counter > *info.To) {
		return
	}
	info.At = c.Counter
	info.Evidence = JoinEvidence(info.Evidence, "its counter by debug information")
}

// Evidence says what c was read from.
func (c *LoopCode) Evidence() string {
	text := c.Where + " is past its call of " + c.Function
	if c.Low != nil && c.High != nil {
		text += ", and the range is where that call put it"
	}
	return text
}
