package accesspath

// a64Conditions gives what the condition codes test; the odd ones are the
// opposites. Overflow is not followed.
var a64Conditions = [...]condition{
	{op: EQ}, {op: UGE}, {op: LT, sign: true}, {}, {op: UGT}, {op: GE}, {op: GT}, {},
}

func a64Condition(code uint64) condition {
	c := a64Conditions[code>>1]
	if code&1 == 1 {
		c.op = c.op.negate()
	}
	return c
}

// branch lifts jumps, calls, traps and system instructions.
func (l *a64lift) branch() bool {
	to := func(lo, n uint) operand { return absolute(l.pc + l.sfield(lo, n)<<2) }
	switch {
	case l.is(0xfc000000, 0x14000000):
		l.emit(uop{code: uJump, a: to(0, 26)})
	case l.is(0xfc000000, 0x94000000):
		l.emit(uop{code: uCall, a: to(0, 26)})
	case l.is(0xff000000, 0x54000000):
		if l.field(0, 4) >= 14 { // always
			l.emit(uop{code: uJump, a: to(5, 19)})
			break
		}
		l.emit(uop{code: uBranch, cc: a64Condition(l.field(0, 4)), a: to(5, 19)})
	case l.is(0x7e000000, 0x34000000): // CBZ, CBNZ
		l.flags(flagsLogic, read(l.rd()), number(0))
		l.emit(uop{code: uBranch, cc: condition{op: EQ + CondOp(l.field(24, 1))}, a: to(5, 19)})
	case l.is(0x7e000000, 0x36000000): // TBZ, TBNZ
		l.size = 8
		l.compute8(opAnd, temp0, read(l.rd()), number(1<<(l.field(31, 1)<<5|l.field(19, 5))))
		l.flags(flagsLogic, reg(temp0), number(0))
		l.emit(uop{code: uBranch, cc: condition{op: EQ + CondOp(l.field(24, 1))}, a: to(5, 14)})
	case l.is(0xfe000000, 0xd6000000):
		return l.branchRegister()
	case l.is(0xff000000, 0xd5000000):
		l.system()
	case l.is(0xff000000, 0xd4000000): // SVC, HVC, BRK, HLT
		if l.field(0, 5) != 1 || l.field(21, 3) != 0 {
			l.emit(uop{code: uStop})
			break
		}
		l.forget(0) // a system call
	default:
		return false
	}
	return true
}

// branchRegister lifts BR, BLR, RET and their forms that check a signature.
func (l *a64lift) branchRegister() bool {
	switch l.field(21, 3) {
	case 0:
		l.emit(uop{code: uJump, a: read(l.rn())})
	case 1:
		l.emit(uop{code: uCall, a: read(l.rn())})
	case 2:
		l.emit(uop{code: uReturn})
	default:
		return false
	}
	return true
}

// system lifts hints, barriers and system registers. Of the registers only the
// thread pointer is followed.
func (l *a64lift) system() {
	switch {
	case l.is(0xffffffe0, 0xd53bd040): // MRS rd, tpidr_el0
		l.emit(uop{code: uAddress, dst: l.rd(), a: operand{reg: noReg}, b: operand{reg: noReg}, tls: true})
	case l.is(0xfff00000, 0xd5300000), l.is(0xfff80000, 0xd5280000): // other MRS, SYSL
		l.forget(l.rd())
	}
}

// register lifts data processing with registers.
func (l *a64lift) register() bool {
	switch {
	case l.is(0x1f000000, 0x0a000000): // AND, ORR, EOR, ANDS and with an inverted operand
		b := l.shifted(l.rm(), l.field(22, 2), l.field(10, 6))
		if l.field(21, 1) == 1 {
			l.compute(opXor, temp1, b, number(^uint64(0)))
			b = reg(temp1)
		}
		l.logic(read(l.rn()), b, false)
	case l.is(0x1f200000, 0x0b000000): // ADD, SUB
		l.addSub(read(l.rn()), l.shifted(l.rm(), l.field(22, 2), l.field(10, 6)), false)
	case l.is(0x1f200000, 0x0b200000): // ADD, SUB of an extended register
		l.extended(temp1, l.rm(), l.field(13, 3), l.field(10, 3))
		l.addSub(reg(l.rn()), reg(temp1), true)
	case l.is(0x1fe00000, 0x1a400000):
		l.conditionalCompare()
	case l.is(0x1fe00000, 0x1a800000):
		l.conditionalSelect()
	case l.is(0x5fe00000, 0x1ac00000):
		l.variableShift()
	case l.is(0x1f000000, 0x1b000000):
		l.multiply()
	default: // additions with carry, bit counts and reversals
		l.forget(l.rd())
		if l.field(29, 1) == 1 {
			l.flags(flagsUnknown, number(0), number(0))
		}
	}
	return true
}

// shifted makes a shifted register available.
func (l *a64lift) shifted(r register, kind, n uint64) operand {
	switch {
	case n == 0:
		return read(r)
	case kind == 3: // turned
		l.forget(temp1)
	default:
		l.compute([...]operator{opShl, opShr, opSar}[kind], temp1, read(r), number(n))
	}
	return reg(temp1)
}

// extended emits dst = the register, extended and shifted to the left.
func (l *a64lift) extended(dst, r register, option, shift uint64) {
	l.emit(uop{code: uSet, dst: dst, a: read(r), size: 1 << (option & 3), signed: option&4 != 0})
	if shift != 0 {
		l.compute8(opShl, dst, reg(dst), number(shift))
	}
}

// conditionalCompare lifts CCMP and CCMN: a comparison, or flags given in the
// instruction.
func (l *a64lift) conditionalCompare() {
	b := read(l.rm())
	if l.field(11, 1) == 1 {
		b = number(l.field(16, 5))
	}
	kind := flagsCompare
	if l.field(30, 1) == 0 {
		if b.isReg() {
			kind = flagsUnknown
		}
		b = number(-b.val)
	}
	l.emit(uop{code: uSkip, cc: a64Condition(l.field(12, 4)), scale: 2})
	l.flags(flagsGiven, number(l.field(0, 4)), number(0))
	l.emit(uop{code: uEnd})
	l.flags(kind, read(l.rn()), b)
}

// conditionalSelect lifts CSEL, CSINC, CSINV and CSNEG.
func (l *a64lift) conditionalSelect() {
	cc := a64Condition(l.field(12, 4))
	if l.field(12, 4) >= 14 {
		l.set(l.rd(), read(l.rn()))
		return
	}
	if l.rn() == a64SP && l.rm() == a64SP && l.field(30, 1) == 0 && l.field(10, 2) == 1 { // CSET
		cc.op = cc.op.negate()
		l.emit(uop{code: uSetIf, dst: temp0, cc: cc})
		l.set(l.rd(), reg(temp0))
		return
	}
	other := read(l.rm())
	switch l.field(30, 1)<<1 | l.field(10, 1) {
	case 1:
		l.compute(opAdd, temp1, other, number(1))
		other = reg(temp1)
	case 2:
		l.compute(opXor, temp1, other, number(^uint64(0)))
		other = reg(temp1)
	case 3:
		l.compute(opSub, temp1, number(0), other)
		other = reg(temp1)
	}
	l.emit(uop{code: uSelect, cc: cc, dst: temp0, a: read(l.rn()), b: other, size: l.size})
	l.set(l.rd(), reg(temp0))
}

// variableShift lifts shifts by a register; divisions are not followed.
func (l *a64lift) variableShift() {
	ops := map[uint64]operator{8: opShl, 9: opShr, 10: opSar}
	op, ok := ops[l.field(10, 6)]
	if !ok {
		l.forget(l.rd())
		return
	}
	l.compute8(opAnd, temp1, read(l.rm()), number(uint64(l.size)*8-1))
	l.compute(op, temp0, read(l.rn()), reg(temp1))
	l.set(l.rd(), reg(temp0))
}

// multiply lifts MADD, MSUB and the forms that extend 32-bit operands.
func (l *a64lift) multiply() {
	a, b := read(l.rn()), read(l.rm())
	switch l.field(21, 3) {
	case 0:
	case 1, 5:
		signed := l.field(23, 1) == 0
		l.emit(uop{code: uSet, dst: temp1, a: a, size: 4, signed: signed})
		l.emit(uop{code: uSet, dst: temp2, a: b, size: 4, signed: signed})
		a, b = reg(temp1), reg(temp2)
	default: // the upper half of the product
		l.forget(l.rd())
		return
	}
	l.compute(opMul, temp0, a, b)
	l.compute([...]operator{opAdd, opSub}[l.field(15, 1)], temp0, read(l.ra()), reg(temp0))
	l.set(l.rd(), reg(temp0))
}

// vector lifts floating-point and vector instructions: those that may write a
// general register make it unknown.
func (l *a64lift) vector() {
	toGeneral := l.is(0x5f20fc00, 0x1e200000) || // conversions and moves
		l.is(0xbfe0ec00, 0x0e002c00) // an element of a vector
	if toGeneral {
		l.forget(l.rd())
	}
	if l.is(0x5f203c00, 0x1e202000) || l.is(0x5f200c00, 0x1e200400) { // comparisons
		l.flags(flagsUnknown, number(0), number(0))
	}
}
