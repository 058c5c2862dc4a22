package unwind

// applyUnary executes the operations on one value.
func (m *machine) applyUnary(op byte, a uint64) uint64 {
	switch op {
	case opAbs:
		if int64(a) < 0 {
			return -a
		}
	case opNeg:
		return -a
	case opNot:
		return ^a
	case opPlusUconst:
		return a + m.b.uleb()
	}
	return a
}

// applyBinary executes the operations on two values; b was on top.
func (m *machine) applyBinary(op byte, a, b uint64) uint64 {
	switch op {
	case opAnd:
		return a & b
	case opOr:
		return a | b
	case opXor:
		return a ^ b
	case opPlus:
		return a + b
	case opMinus:
		return a - b
	case opMul:
		return a * b
	case opShl:
		return a << b
	case opShr:
		return a >> b
	case opShra:
		return uint64(int64(a) >> b)
	case opDiv, opMod:
		return m.divide(op, a, b)
	}
	return compareSigned(op, int64(a), int64(b))
}

func (m *machine) divide(op byte, a, b uint64) uint64 {
	switch {
	case b == 0:
		m.b.fail("division by zero")
		return 0
	case op == opMod:
		return a % b
	case b == ^uint64(0): // the one quotient that overflows is its own negative
		return -a
	}
	return uint64(int64(a) / int64(b))
}

// compareSigned executes the comparisons, which are signed.
func compareSigned(op byte, a, b int64) uint64 {
	holds := false
	switch op {
	case opEq:
		holds = a == b
	case opGe:
		holds = a >= b
	case opGt:
		holds = a > b
	case opLe:
		holds = a <= b
	case opLt:
		holds = a < b
	case opNe:
		holds = a != b
	}
	if holds {
		return 1
	}
	return 0
}
