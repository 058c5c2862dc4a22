package lift

// Operator is a two-operand operation on 64-bit words.
type Operator uint8

// The operators. OpShr fills with zeros, OpSar with the sign bit. OpDiv and OpRem are signed, OpUdiv and OpUrem
// unsigned. Division by 0 gives 0, as on aarch64; x86-64 has no result then.
const (
	OpAdd Operator = iota
	OpSub
	OpMul
	OpAnd
	OpOr
	OpXor
	OpShl
	OpShr
	OpSar
	OpDiv
	OpRem
	OpUdiv
	OpUrem
)

// LowBytes reports whether the low bytes of a result depend only on those of the operands.
func (op Operator) LowBytes() bool { return op <= OpXor }

// Width returns the mask of the low n bytes.
func Width(n uint8) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*n) - 1
}

// Compute returns a op b.
func Compute(op Operator, a, b uint64) uint64 {
	switch op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	case OpAnd:
		return a & b
	case OpOr:
		return a | b
	case OpXor:
		return a ^ b
	case OpShl:
		return a << (b & 63)
	case OpShr:
		return a >> (b & 63)
	case OpSar:
		return uint64(int64(a) >> (b & 63))
	}
	return divide(op, a, b)
}

// divide returns the results of the division operators. Go defines the result if the quotient overflows.
func divide(op Operator, a, b uint64) uint64 {
	switch {
	case b == 0:
		return 0
	case op == OpDiv:
		return uint64(int64(a) / int64(b))
	case op == OpRem:
		return uint64(int64(a) % int64(b))
	case op == OpUdiv:
		return a / b
	}
	return a % b
}

// ExtendWord returns the low size bytes of v, zero- or sign-extended.
func ExtendWord(v uint64, size uint8, signed bool) uint64 {
	if size >= 8 {
		return v
	}
	v &= Width(size)
	if signed && v>>(8*size-1) != 0 {
		v |= ^Width(size)
	}
	return v
}
