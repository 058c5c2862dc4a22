package flow

import (
	"math"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// Frame is the frame of a function while it executes, at an assumed stack address.
type Frame struct {
	// PC is an instruction of the function.
	PC uint64
	// CFA is the canonical address of the frame.
	CFA uint64
	// Register returns the value of a register, by DWARF number; not ok if it is not an address in the frame.
	Register func(number int) (value uint64, ok bool)
}

// anywhere is an arbitrary stack pointer at entry.
const anywhere = 1 << 40

// object identifies a variable by its address and the call that receives the address.
type object struct {
	pc   uint64
	addr int64
}

// extent is a range of the frame, relative to the stack pointer at entry.
type extent struct{ low, high int64 }

// escape forgets the values that a callee may overwrite through the frame addresses in args: size bytes at each
// address, or the variable there if size is 0. Pointers are assumed to stay within their variable. If the
// variable is unknown, everything above the address is forgotten.
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

// objectAt returns the variable around an address, or everything from the address on if debug information has no
// such variable.
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

// frameAddress returns the value of a register, by DWARF number, if it points into the frame.
func frameAddress(f *Function, s *symbolic.State, number int) (uint64, bool) {
	for r := range lift.Register(f.x.ABI.General) {
		if f.x.ABI.DWARFNumber(r) == number {
			v := s.Content(r)
			return anywhere + v.Val, v.Kind == symbolic.KindStack
		}
	}
	return 0, false
}
