package emulate

import (
	"math/bits"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Origins is a set of up to 64 origins of a value. The policy defines their meaning.
type Origins uint64

// Value is a number with known and unknown bits.
type Value struct {
	V     uint64 // unknown bits are 0
	Known uint64 // mask of the known bits
	From  Origins

	// low contains the origins of only the low lowSize bytes, if an instruction has replaced these. If lowSize
	// is 0, they are those in From.
	low     Origins
	lowSize uint8
}

const allBits = ^uint64(0)

// Number returns the known value v.
func Number(v uint64) Value { return Value{V: v, Known: allBits} }

// IsKnown reports whether all bits are known.
func (a Value) IsKnown() bool { return a.Known == allBits }

func (a Value) withoutOrigins() Value { return Value{V: a.V, Known: a.Known} }

// Covers reports whether the possible numbers of a include b, as far as both are known.
func (a Value) Covers(b Value) bool { return a.Known&^b.Known == 0 && (a.V^b.V)&a.Known == 0 }

// Extend returns the low size bytes of a, zero- or sign-extended.
func (a Value) Extend(size uint8, signed bool) Value {
	if size >= 8 {
		return a
	}
	width := lift.Width(size)
	sign := width &^ (width >> 1)
	a.V, a.Known = a.V&width, a.Known&width
	if size <= a.lowSize {
		a.From = a.low
	}
	a.low, a.lowSize = 0, 0
	switch {
	case !signed:
		a.Known |= ^width
	case a.Known&sign != 0:
		a.V, a.Known = lift.ExtendWord(a.V, size, true), a.Known|^width
	}
	return a
}

// insert returns a with its low size bytes replaced by those of b.
func (a Value) insert(b Value, size uint8) Value {
	width := lift.Width(size)
	b = b.Extend(size, false)
	return Value{a.V&^width | b.V, a.Known&^width | b.Known&width, a.From | b.From, b.From, size}
}

// compute returns a op b in 64 bits.
func compute(op lift.Operator, a, b Value) Value {
	out := Value{V: lift.Compute(op, a.V, b.V), From: a.From | b.From}
	switch op {
	case lift.OpAnd:
		out.Known = a.Known&b.Known | a.Known&^a.V | b.Known&^b.V
	case lift.OpOr:
		out.Known = a.Known&b.Known | a.V | b.V
	case lift.OpXor:
		out.Known = a.Known & b.Known
	case lift.OpAdd, lift.OpSub, lift.OpMul: // no bit depends on a higher one
		out.Known = 1<<bits.TrailingZeros64(^(a.Known&b.Known)) - 1
	case lift.OpShl, lift.OpShr, lift.OpSar:
		if b.IsKnown() {
			out.Known = shiftedBits(op, a.Known, b.V&63)
		}
	default:
		if a.IsKnown() && b.IsKnown() {
			out.Known = allBits
		}
	}
	out.V &= out.Known
	return out
}

// shiftedBits returns the known bits after a shift by n bits.
func shiftedBits(op lift.Operator, known, n uint64) uint64 {
	switch op {
	case lift.OpShl:
		return known<<n | (1<<n - 1)
	case lift.OpShr:
		return known>>n | ^(allBits >> n)
	}
	return uint64(int64(known) >> n)
}

// Byte is a byte that a machine has written.
type Byte struct {
	V, Known byte // as in Value
	From     Origins
}

// Truth is the outcome of a condition. From are the origins of the compared values.
type Truth struct {
	Holds, Known bool
	From         Origins
}

// Flags are the operands of the operation that set the flags.
type Flags struct {
	Kind lift.FlagKind
	Size uint8
	A, B Value
}

// Test returns whether a condition holds for the flags.
func (f *Flags) Test(cc lift.Condition) Truth {
	a, b, op, size := f.A, f.B, cc.Op, f.Size
	carry := f.Kind == lift.FlagsCompare || f.Kind == lift.FlagsLogic
	switch {
	case f.Kind == lift.FlagsGiven:
		holds, known := cc.HoldsGiven(a.V)
		return Truth{Holds: holds, Known: known, From: a.From}
	case f.Kind == lift.FlagsFloat || f.Kind == lift.FlagsFloatX86:
		return f.testFloats(cc)
	case op == lift.CondUnknown:
		return Truth{}
	case f.Kind == lift.FlagsBit && cc.Bit:
		a, b, size = compute(lift.OpAnd, compute(lift.OpShr, a, b), Number(1)), Number(0), 8
	case f.Kind == lift.FlagsUnknown || f.Kind == lift.FlagsBit || cc.Bit && !carry:
		return Truth{}
	case cc.Sign && f.Kind == lift.FlagsCompare:
		a, b = compute(lift.OpSub, a, b), Number(0)
	case cc.Bit && op == lift.NE:
		op = lift.ULT
	case cc.Bit:
		op = lift.UGE
	case f.Kind == lift.FlagsResult && !cc.Sign && op != lift.EQ && op != lift.NE,
		f.Kind == lift.FlagsMask && op >= lift.ULT:
		return Truth{}
	}
	from := a.From | b.From
	a, b = a.Extend(size, op.Signed()), b.Extend(size, op.Signed())
	switch differ := (a.V^b.V)&a.Known&b.Known != 0; {
	case differ && (op == lift.EQ || op == lift.NE):
		return Truth{op == lift.NE, true, from}
	case !a.IsKnown() || !b.IsKnown():
		return Truth{From: from}
	}
	return Truth{op.Holds(a.V, b.V), true, from}
}

// testFloats returns whether a condition holds after a comparison of floating-point numbers.
func (f *Flags) testFloats(cc lift.Condition) Truth {
	out := Truth{From: f.A.From | f.B.From}
	if a, b := settleNaN(f.A, f.Size), settleNaN(f.B, f.Size); a.IsKnown() && b.IsKnown() {
		if given, known := lift.CompareFloats(f.Kind, f.Size, a.V, b.V); known {
			out.Holds, out.Known = cc.HoldsGiven(given)
		}
	}
	return out
}
