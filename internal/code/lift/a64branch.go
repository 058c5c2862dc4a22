package lift

// a64Conditions contains the tests of the even condition codes; the odd codes are the opposites.
var a64Conditions = [...]Condition{
	{Op: EQ}, {Op: UGE}, {Op: LT, Sign: true}, {Flag: FlagOverflow}, {Op: UGT}, {Op: GE}, {Op: GT}, {},
}

func a64Condition(code uint64) Condition {
	if c := a64Conditions[code>>1]; code&1 == 0 {
		return c
	}
	return a64Conditions[code>>1].Negate()
}

// branch lifts jumps, calls, traps and system instructions.
func (l *a64lift) branch() bool {
	to := func(lo, n uint) Operand { return absolute(l.pc + l.sfield(lo, n)<<2) }
	switch {
	case l.matches(0xfc000000, 0x14000000):
		l.emit(Uop{Code: UopJump, A: to(0, 26)})
	case l.matches(0xfc000000, 0x94000000):
		l.emit(Uop{Code: UopCall, A: to(0, 26)})
	case l.matches(0xff000000, 0x54000000):
		if l.field(0, 4) >= 14 { // always
			l.emit(Uop{Code: UopJump, A: to(5, 19)})
			break
		}
		l.emit(Uop{Code: UopBranch, CC: a64Condition(l.field(0, 4)), A: to(5, 19)})
	case l.matches(0x7e000000, 0x34000000): // CBZ, CBNZ
		l.branchOn(read(l.rd()), to(5, 19))
	case l.matches(0x7e000000, 0x36000000): // TBZ, TBNZ
		l.size = 8
		l.compute8(OpAnd, Temp0, read(l.rd()), number(1<<(l.field(31, 1)<<5|l.field(19, 5))))
		l.branchOn(reg(Temp0), to(5, 14))
	case l.matches(0xfe000000, 0xd6000000):
		return l.branchRegister()
	case l.matches(0xff000000, 0xd5000000):
		l.system()
	case l.matches(0xff000000, 0xd4000000): // SVC, HVC, BRK, HLT
		if l.field(0, 5) != 1 || l.field(21, 3) != 0 {
			l.emit(Uop{Code: UopStop})
			break
		}
		l.emit(Uop{Code: UopSyscall, Dst: 0})
	default:
		return false
	}
	return true
}

// branchOn emits the branch of CBZ, CBNZ, TBZ or TBNZ, which leaves the flags as they are: compilers test the flags of
// an earlier comparison after it.
func (l *a64lift) branchOn(v, to Operand) {
	cc := Condition{Op: EQ + CondOp(l.field(24, 1))}
	l.emit(Uop{Code: UopBranch, CC: cc, A: to, B: v, Flags: FlagsMask, Size: l.size})
}

// branchRegister lifts BR, BLR, RET and their forms with pointer authentication.
func (l *a64lift) branchRegister() bool {
	switch l.field(21, 3) {
	case 0:
		l.emit(Uop{Code: UopJump, A: read(l.rn())})
	case 1:
		l.emit(Uop{Code: UopCall, A: read(l.rn())})
	case 2:
		l.emit(Uop{Code: UopReturn})
	default:
		return false
	}
	return true
}

// system lifts hints, barriers and accesses to system registers. Only the thread pointer is followed.
func (l *a64lift) system() {
	switch {
	case l.matches(0xffffffe0, 0xd53bd040): // MRS rd, tpidr_el0
		l.emit(Uop{Code: UopAddress, Dst: l.rd(), A: Operand{Reg: noReg}, B: Operand{Reg: noReg}, TLS: true})
	case l.matches(0xfff00000, 0xd5300000), l.matches(0xfff80000, 0xd5280000): // other MRS, SYSL
		l.forget(l.rd())
	case l.matches(0xffffffe0, 0xd50b7420): // DC ZVA, which clears a block
		l.partial = true
	case l.matches(0xffffffe0, 0xd51b4200), l.matches(0xffffff9f, 0xd500401f): // MSR NZCV, CFINV, XAFLAG, AXFLAG
		l.flags(FlagsUnknown, number(0), number(0))
	case l.matches(0xffffffe0, 0xd51b4400): // MSR FPCR, which changes the way to round
		l.forgetVector(AllVectors)
	}
}

// register lifts data processing with registers.
func (l *a64lift) register() bool {
	switch {
	case l.matches(0x1f000000, 0x0a000000): // AND, ORR, EOR, ANDS; also with an inverted operand
		b := l.shifted(l.rm(), l.field(22, 2), l.field(10, 6))
		if l.field(21, 1) == 1 {
			l.compute(OpXor, temp1, b, number(^uint64(0)))
			b = reg(temp1)
		}
		l.logic(read(l.rn()), b, false)
	case l.matches(0x1f200000, 0x0b000000): // ADD, SUB
		l.addSub(read(l.rn()), l.shifted(l.rm(), l.field(22, 2), l.field(10, 6)), false)
	case l.matches(0x1f200000, 0x0b200000): // ADD, SUB of an extended register
		l.extended(temp1, l.rm(), l.field(13, 3), l.field(10, 3))
		l.addSub(reg(l.rn()), reg(temp1), true)
	case l.matches(0x1fe00000, 0x1a400000):
		l.conditionalCompare()
	case l.matches(0x1fe00000, 0x1a800000):
		l.conditionalSelect()
	case l.matches(0x5fe00000, 0x1ac00000):
		l.variableShift()
	case l.matches(0x1f000000, 0x1b000000):
		l.multiply()
	default: // additions with carry, bit counts and reversals
		l.forget(l.rd())
		if l.field(29, 1) == 1 {
			l.flags(FlagsUnknown, number(0), number(0))
		}
	}
	return true
}

// shifted emits the shift of a register and returns the operand with the result.
func (l *a64lift) shifted(r Register, kind, n uint64) Operand {
	switch {
	case n == 0:
		return read(r)
	case kind == 3: // rotated
		l.forget(temp1)
	default:
		l.compute([...]Operator{OpShl, OpShr, OpSar}[kind], temp1, read(r), number(n))
	}
	return reg(temp1)
}

// extended emits dst = r, extended and shifted left.
func (l *a64lift) extended(dst, r Register, option, shift uint64) {
	l.emit(Uop{Code: UopSet, Dst: dst, A: read(r), Size: 1 << (option & 3), Signed: option&4 != 0})
	if shift != 0 {
		l.compute8(OpShl, dst, reg(dst), number(shift))
	}
}

// conditionalCompare lifts CCMP and CCMN: a comparison, or flags from the instruction.
func (l *a64lift) conditionalCompare() {
	b := read(l.rm())
	if l.field(11, 1) == 1 {
		b = number(l.field(16, 5))
	}
	kind := FlagsCompare
	if l.field(30, 1) == 0 {
		switch {
		case b.IsReg():
			kind = FlagsUnknown
		case b.Val == 0: // which never borrows
			kind = FlagsResult
		}
		b = number(-b.Val)
	}
	l.flagsIf(Uop{Flags: kind, A: read(l.rn()), B: b, Size: l.size})
}

// flagsIf emits a comparison that is only made if a condition of the instruction holds.
func (l *a64lift) flagsIf(u Uop) {
	u.Code, u.Disp = UopFlags, l.field(0, 4)
	if code := l.field(12, 4); code < 14 { // else always
		u.Code, u.CC = UopFlagsIf, a64Condition(code)
	}
	l.emit(u)
}

// conditionalSelect lifts CSEL, CSINC, CSINV and CSNEG.
func (l *a64lift) conditionalSelect() {
	cc := a64Condition(l.field(12, 4))
	if l.field(12, 4) >= 14 {
		l.set(l.rd(), read(l.rn()))
		return
	}
	if l.rn() == a64SP && l.rm() == a64SP && l.field(30, 1) == 0 && l.field(10, 2) == 1 { // CSET
		l.emit(Uop{Code: UopSetIf, Dst: Temp0, CC: cc.Negate()})
		l.set(l.rd(), reg(Temp0))
		return
	}
	other := read(l.rm())
	switch l.field(30, 1)<<1 | l.field(10, 1) {
	case 1:
		l.compute(OpAdd, temp1, other, number(1))
		other = reg(temp1)
	case 2:
		l.compute(OpXor, temp1, other, number(^uint64(0)))
		other = reg(temp1)
	case 3:
		l.compute(OpSub, temp1, number(0), other)
		other = reg(temp1)
	}
	l.emit(Uop{Code: UopSelect, CC: cc, Dst: Temp0, A: read(l.rn()), B: other, Size: l.size})
	l.set(l.rd(), reg(Temp0))
}

// variableShift lifts shifts by a register, and divisions.
func (l *a64lift) variableShift() {
	ops := map[uint64]Operator{8: OpShl, 9: OpShr, 10: OpSar}
	kind := l.field(10, 6)
	op, ok := ops[kind]
	switch {
	case kind == 2 || kind == 3:
		l.divide(kind == 3)
		return
	case !ok:
		if l.forget(l.rd()); l.field(29, 1) == 1 { // SUBPS
			l.flags(FlagsUnknown, number(0), number(0))
		}
		return
	}
	l.compute8(OpAnd, temp1, read(l.rm()), number(uint64(l.size)*8-1))
	l.compute(op, Temp0, read(l.rn()), reg(temp1))
	l.set(l.rd(), reg(Temp0))
}

// divide lifts UDIV and SDIV.
func (l *a64lift) divide(signed bool) {
	op := OpUdiv
	if signed {
		op = OpDiv
	}
	l.emit(Uop{Code: UopSet, Dst: temp1, A: read(l.rn()), Size: l.size, Signed: signed})
	l.emit(Uop{Code: UopSet, Dst: temp2, A: read(l.rm()), Size: l.size, Signed: signed})
	l.compute(op, Temp0, reg(temp1), reg(temp2))
	l.set(l.rd(), reg(Temp0))
}

// multiply lifts MADD, MSUB and the forms that extend 32-bit operands.
func (l *a64lift) multiply() {
	a, b := read(l.rn()), read(l.rm())
	switch l.field(21, 3) {
	case 0:
	case 1, 5:
		signed := l.field(23, 1) == 0
		l.emit(Uop{Code: UopSet, Dst: temp1, A: a, Size: 4, Signed: signed})
		l.emit(Uop{Code: UopSet, Dst: temp2, A: b, Size: 4, Signed: signed})
		a, b = reg(temp1), reg(temp2)
	default: // the upper half of the product
		l.forget(l.rd())
		return
	}
	l.compute(OpMul, Temp0, a, b)
	l.compute([...]Operator{OpAdd, OpSub}[l.field(15, 1)], Temp0, read(l.ra()), reg(Temp0))
	l.set(l.rd(), reg(Temp0))
}
