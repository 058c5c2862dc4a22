package lift

// CondOp is a comparison of two words.
type CondOp uint8

// The comparisons. The U forms compare unsigned, the others signed.
const (
	CondUnknown CondOp = iota // a condition that is not followed
	EQ
	NE
	LT
	GE
	LE
	GT
	ULT
	UGE
	ULE
	UGT
)

var condNames = [...]string{"unknown", "==", "!=", "<", ">=", "<=", ">", "<u", ">=u", "<=u", ">u"}

// String returns the operator as in C, with a "u" for an unsigned comparison.
func (o CondOp) String() string {
	if int(o) < len(condNames) {
		return condNames[o]
	}
	return condNames[CondUnknown]
}

// Negate returns the opposite comparison.
func (o CondOp) Negate() CondOp {
	switch {
	case o == CondUnknown:
		return o
	case (o-EQ)%2 == 0:
		return o + 1
	}
	return o - 1
}

// Holds reports whether a o b.
func (o CondOp) Holds(a, b uint64) bool {
	switch o {
	case EQ:
		return a == b
	case NE:
		return a != b
	case LT:
		return int64(a) < int64(b)
	case GE:
		return int64(a) >= int64(b)
	case LE:
		return int64(a) <= int64(b)
	case GT:
		return int64(a) > int64(b)
	case ULT:
		return a < b
	case UGE:
		return a >= b
	case ULE:
		return a <= b
	case UGT:
		return a > b
	}
	return false
}

// HoldsGiven reports whether a condition holds for given flags (FlagsGiven), and whether that is known.
func (c Condition) HoldsGiven(flags uint64) (holds, known bool) {
	negative, zero, carry, overflow := flags&FlagNegative != 0, flags&FlagZero != 0, flags&FlagCarry != 0,
		flags&FlagOverflow != 0
	if c.Op == CondUnknown {
		return flags&uint64(c.Flag) != 0 != c.Clear, c.Flag != 0
	}
	less := negative != overflow
	if c.Sign {
		less = negative
	}
	if c.Bit { // the carry of x86-64 is set on a borrow
		return carry != (c.Op == NE), c.Op == EQ || c.Op == NE
	}
	switch c.Op {
	case EQ, NE:
		return zero == (c.Op == EQ), true
	case LT, GE:
		return less == (c.Op == LT), true
	case LE, GT:
		return (less || zero) == (c.Op == LE), true
	case ULT, UGE:
		return carry == (c.Op == UGE), true
	case ULE, UGT:
		return (!carry || zero) == (c.Op == ULE), true
	}
	return false, false
}

// Signed reports whether o compares signed numbers.
func (o CondOp) Signed() bool { return o >= LT && o <= GT }
