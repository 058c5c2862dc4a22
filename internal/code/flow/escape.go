package flow

import (
	"math"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Frame is the frame of a function in the middle of it, with the stack at a place that stands for
// wherever it may be.
type Frame struct {
	// PC is an instruction of the function.
	PC uint64
	// CFA is the canonical address of the frame.
	CFA uint64
	// Register is the value of a register, by DWARF number; not ok if it is no address in the frame.
	Register func(number int) (value uint64, ok bool)
}

// anywhere is where the stack pointer is at entry, where any place will do.
const anywhere = 1 << 40

// object names a variable by the call that is given its address.
type object struct {
	pc   uint64
	addr int64
}

// extent is memory of the frame, by distances from the stack pointer at entry.
type extent struct{ low, high int64 }

// escape forgets what a callee may write by the addresses of the frame that it is given: at most size
// bytes at each, if size is not 0, else the variable there. Nobody comes from one variable to the next
// by a pointer. Of an address of which no variable is known, it may be all above.
func escape(f *Function, s *symbolic.State, pc uint64, args []*symbolic.Expr, size uint64) {
	for _, a := range args {
		if a.Kind != symbolic.KindStack {
			continue
		}
		x := extent{int64(a.Val), math.MaxInt64}
		switch {
		case size != 0:
			x.high = x.low + int64(size)
		case s.Keeps(x.low):
			x = objectAt(f, s, object{pc, x.low})
		}
		s.Forget(x.low, x.high)
	}
}

// objectAt returns the variable around an address, or all from there if debug information tells of none.
func objectAt(f *Function, s *symbolic.State, o object) extent {
	if x, known := f.objects[o]; known {
		return x
	}
	x := extent{o.addr, math.MaxInt64}
	if f.extent != nil {
		fr := Frame{PC: o.pc, CFA: anywhere + f.x.ABI.LinkBytes}
		fr.Register = func(number int) (uint64, bool) { return frameAddress(f, s, number) }
		if low, high, ok := f.extent(fr, uint64(anywhere+o.addr)); ok {
			x = extent{int64(low) - anywhere, int64(high) - anywhere}
		}
	}
	if f.objects == nil {
		f.objects = map[object]extent{}
	}
	f.objects[o] = x
	return x
}

// frameAddress returns a register by its DWARF number that points into the frame.
func frameAddress(f *Function, s *symbolic.State, number int) (uint64, bool) {
	for r := range lift.Register(f.x.ABI.General) {
		if f.x.ABI.DWARFNumber(r) == number {
			v := s.Content(r)
			return anywhere + v.Val, v.Kind == symbolic.KindStack
		}
	}
	return 0, false
}
