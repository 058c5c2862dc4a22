package lift

import "math"

// getVector emits dst = the low size bytes of a vector register.
func (l *a64lift) getVector(dst, v Register, size uint8) {
	l.emit(Uop{Code: UopGetVector, Dst: dst, Vector: v, Size: size})
}

// setVector emits that the low 8 bytes of a vector register become a.
func (l *a64lift) setVector(v Register, a Operand) {
	l.emit(Uop{Code: UopSetVector, Vector: v, A: a, Size: 8})
}

func (l *a64lift) forgetVector(v Register) { l.emit(Uop{Code: UopForgetVector, Vector: v}) }

// moveVector emits the access of a vector register to memory at temp0.
func (l *a64lift) moveVector(v Register, size uint8, loads bool) {
	if loads {
		l.emit(Uop{Code: UopLoad, Dst: temp1, A: reg(Temp0), Size: size})
		l.setVector(v, reg(temp1))
		return
	}
	l.getVector(temp1, v, 8)
	l.emit(Uop{Code: UopStore, A: reg(Temp0), B: reg(temp1), Size: size})
}

// floatSize returns the size of the floating-point numbers of an instruction in bytes, 0 if they are not followed.
func (w a64word) floatSize() uint8 { return [...]uint8{4, 8, 0, 0}[w.field(22, 2)] }

// vector lifts floating-point and vector instructions. Moves, comparisons, arithmetic and simple conversions of scalars
// are followed. The results of others are unknown, in a vector register or a general one.
func (l *a64lift) vector() {
	size := l.floatSize()
	switch {
	case l.matches(0x5f203c00, 0x1e202000): // FCMP, FCMPE
		l.compareFloats(size)
	case l.matches(0x5f200c00, 0x1e200400): // FCCMP, FCCMPE
		l.conditionalCompareFloats(size)
	case l.matches(0x5f20fc00, 0x1e200000):
		l.convert(size)
	case l.matches(0x7f3e0000, 0x1e180000), l.matches(0xbfe0ec00, 0x0e002c00):
		// conversions to numbers with a fixed point, an element of a vector
		l.forget(l.rd())
	case size != 0 && l.matches(0xff207c00, 0x1e204000):
		l.floatUnary(size)
	case size != 0 && l.matches(0xff200c00, 0x1e200800) && l.field(12, 4) <= 8:
		l.floatArithmetic(size)
	case size != 0 && l.matches(0xff000000, 0x1f000000):
		l.multiplyAdd(size)
	case l.matches(0xffa0fc00, 0x7ea0d400): // FABD
		l.floatDifference(4 << l.field(22, 1))
	case l.matches(0xdfbffc00, 0x5e21d800): // SCVTF, UCVTF in a vector register
		l.convertVector(SignedToFloat+Conversion(l.field(29, 1)), 4<<l.field(22, 1))
	case l.matches(0xdfbffc00, 0x5ea1b800): // FCVTZS, FCVTZU in a vector register
		l.convertVector(FloatToSigned+Conversion(l.field(29, 1)), 4<<l.field(22, 1))
	case size != 0 && l.matches(0xff201fe0, 0x1e201000): // FMOV of a number in the instruction
		l.setVector(l.rd(), number(expandFloat(l.field(13, 8), size)))
	case l.matches(0x9ff80c00, 0x0f000400): // MOVI and its like
		l.vectorImmediate()
	case l.matches(0xbfe0fc00, 0x0ea01c00) && l.rn() == l.rm(): // MOV, an alias of ORR
		l.getVector(Temp0, l.rn(), 8)
		l.setVector(l.rd(), reg(Temp0))
	default:
		l.forgetVector(l.rd())
	}
}

// compareFloats lifts FCMP and FCMPE, of two registers, or of a register and 0.
func (l *a64lift) compareFloats(size uint8) {
	if size == 0 {
		l.flags(FlagsUnknown, number(0), number(0))
		return
	}
	b := number(0)
	if l.getVector(Temp0, l.rn(), size); l.field(3, 1) == 0 {
		l.getVector(temp1, l.rm(), size)
		b = reg(temp1)
	}
	l.emit(Uop{Code: UopFlags, Flags: FlagsFloat, A: reg(Temp0), B: b, Size: size})
}

// conditionalCompareFloats lifts FCCMP and FCCMPE: a comparison, or flags from the instruction.
func (l *a64lift) conditionalCompareFloats(size uint8) {
	if size == 0 {
		l.flags(FlagsUnknown, number(0), number(0))
		return
	}
	l.getVector(Temp0, l.rn(), size)
	l.getVector(temp1, l.rm(), size)
	l.flagsIf(Uop{Flags: FlagsFloat, A: reg(Temp0), B: reg(temp1), Size: size})
}

// convert lifts conversions and moves between general and vector registers.
func (l *a64lift) convert(size uint8) {
	conversions := map[uint64]Conversion{0b00010: SignedToFloat, 0b00011: UnsignedToFloat, 0b11000: FloatToSigned,
		0b11001: FloatToUnsigned}
	op := l.field(16, 5)
	c, ok := conversions[op]
	toVector := op&7 == 2 || op&7 == 3 || op&7 == 7
	switch {
	case ok && toVector && size != 0: // SCVTF, UCVTF
		l.emit(Uop{Code: UopConvert, Convert: c, Dst: Temp0, A: read(l.rn()), Scale: l.size, Size: size})
		l.setVector(l.rd(), reg(Temp0))
	case ok && size != 0: // FCVTZS, FCVTZU
		l.getVector(Temp0, l.rn(), size)
		l.emit(Uop{Code: UopConvert, Convert: c, Dst: Temp0, A: reg(Temp0), Scale: size, Size: l.size})
		l.set(l.rd(), reg(Temp0))
	case op == 0b00111 && size == l.size: // FMOV
		l.setVector(l.rd(), l.low(read(l.rn()), size))
	case op == 0b00110 && size == l.size:
		l.getVector(Temp0, l.rn(), size)
		l.set(l.rd(), reg(Temp0))
	case op == 0b01111 && l.field(22, 2) == 2: // FMOV of the upper half
	case toVector:
		l.forgetVector(l.rd())
	default:
		if l.forget(l.rd()); op == 0b11110 { // FJCVTZS
			l.flags(FlagsUnknown, number(0), number(0))
		}
	}
}

// low emits the low size bytes of an operand, zero-extended.
func (l *a64lift) low(a Operand, size uint8) Operand {
	l.emit(Uop{Code: UopSet, Dst: Temp0, A: a, Size: size})
	return reg(Temp0)
}

// floatUnary lifts instructions with one floating-point operand.
func (l *a64lift) floatUnary(size uint8) {
	sign := uint64(1) << (8*size - 1)
	op := l.field(15, 6)
	to := map[uint64]uint8{4: 4, 5: 8}[op]
	l.getVector(Temp0, l.rn(), size)
	switch {
	case op == 0: // FMOV
	case op == 1: // FABS
		l.compute8(OpAnd, Temp0, reg(Temp0), number(sign-1))
	case op == 2: // FNEG
		l.compute8(OpXor, Temp0, reg(Temp0), number(sign))
	case to != 0 && to != size: // FCVT
		l.emit(Uop{Code: UopConvert, Convert: FloatToFloat, Dst: Temp0, A: reg(Temp0), Scale: size, Size: to})
	default:
		l.forgetVector(l.rd())
		return
	}
	l.setVector(l.rd(), reg(Temp0))
}

// floatArithmetic lifts instructions with two floating-point operands.
func (l *a64lift) floatArithmetic(size uint8) {
	op := [...]FloatOperator{FloatMul, FloatDiv, FloatAdd, FloatSub, FloatMax, FloatMin, FloatMax, FloatMin,
		FloatMul}[l.field(12, 4)] // the second pair is FMAXNM and FMINNM, the last one FNMUL
	l.getVector(Temp0, l.rn(), size)
	l.getVector(temp1, l.rm(), size)
	l.emit(Uop{Code: UopFloat, Float: op, Dst: Temp0, A: reg(Temp0), B: reg(temp1), Size: size})
	if l.field(12, 4) == 8 {
		l.negate(Temp0, size)
	}
	l.setVector(l.rd(), reg(Temp0))
}

// negate emits the change of a number's sign.
func (l *a64lift) negate(r Register, size uint8) {
	l.compute8(OpXor, r, reg(r), number(1<<(8*size-1)))
}

// multiplyAdd lifts FMADD, FMSUB, FNMADD and FNMSUB.
func (l *a64lift) multiplyAdd(size uint8) {
	negative, subtract := l.field(21, 1) == 1, l.field(15, 1) == 1
	l.getVector(Temp0, l.rn(), size)
	l.getVector(temp1, l.rm(), size)
	l.getVector(temp2, l.ra(), size)
	if negative != subtract {
		l.negate(Temp0, size)
	}
	if negative {
		l.negate(temp2, size)
	}
	l.emit(Uop{Code: UopFloat, Float: FloatMulAdd, Dst: temp2, A: reg(Temp0), B: reg(temp1), Size: size})
	l.setVector(l.rd(), reg(temp2))
}

// floatDifference lifts FABD, the absolute value of a difference.
func (l *a64lift) floatDifference(size uint8) {
	l.getVector(Temp0, l.rn(), size)
	l.getVector(temp1, l.rm(), size)
	l.emit(Uop{Code: UopFloat, Float: FloatSub, Dst: Temp0, A: reg(Temp0), B: reg(temp1), Size: size})
	l.compute8(OpAnd, Temp0, reg(Temp0), number(1<<(8*size-1)-1))
	l.setVector(l.rd(), reg(Temp0))
}

// convertVector lifts conversions between numbers of the same size in vector registers.
func (l *a64lift) convertVector(c Conversion, size uint8) {
	l.getVector(Temp0, l.rn(), size)
	l.emit(Uop{Code: UopConvert, Convert: c, Dst: Temp0, A: reg(Temp0), Scale: size, Size: size})
	l.setVector(l.rd(), reg(Temp0))
}

// expandFloat returns the floating-point number of size bytes that an instruction contains as 8 bits: sign, exponent
// and fraction.
func expandFloat(imm uint64, size uint8) uint64 {
	exponent := int(imm>>4&7^4) - 3
	f := math.Ldexp(1+float64(imm&15)/16, exponent)
	if imm>>7 == 1 {
		f = -f
	}
	if size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// vectorImmediate lifts MOVI, MVNI and FMOV of a number in the instruction, to all parts of a vector. Shifted numbers
// other than 0 are not followed.
func (l *a64lift) vectorImmediate() {
	imm, op := l.field(16, 3)<<5|l.field(5, 5), l.field(29, 1)
	const everyByte = 0x0101_0101_0101_0101
	switch mode := l.field(12, 4); {
	case mode == 14 && op == 0:
		l.setVector(l.rd(), number(imm*everyByte))
	case mode == 14:
		mask := uint64(0)
		for i := range uint64(8) {
			mask |= imm >> i & 1 * 0xff << (8 * i)
		}
		l.setVector(l.rd(), number(mask))
	case mode == 15 && op == 0:
		l.setVector(l.rd(), number(expandFloat(imm, 4)*(1<<32+1)))
	case mode == 15:
		l.setVector(l.rd(), number(expandFloat(imm, 8)))
	case imm == 0 && op == 0 && mode < 12 && mode&1 == 0:
		l.setVector(l.rd(), number(0))
	default:
		l.forgetVector(l.rd())
	}
}
