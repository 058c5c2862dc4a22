package accesspath

// a64 register numbers with a role of their own.
const (
	a64Link register = 30
	a64SP   register = 31 // in a register field: the stack pointer or zero
)

// a64Convention is the procedure call standard of aarch64.
var a64Convention = newConvention(convention{
	args:      []register{0, 1, 2, 3, 4, 5, 6, 7},
	result:    0,
	sp:        a64SP,
	keep:      0x7ff<<19 | 1<<a64SP, // x19 to x29, sp
	maxLength: 4,
})

// a64 reads aarch64 machine code.
type a64 struct{}

func (a64) convention() *convention { return a64Convention }

func (a64) lift(code []byte, pc uint64) (instruction, bool) {
	if len(code) < 4 || pc%4 != 0 {
		return instruction{}, false
	}
	w := uint32(code[0]) | uint32(code[1])<<8 | uint32(code[2])<<16 | uint32(code[3])<<24
	l := a64lift{w: w, pc: pc, size: 4 + 4*uint8(w>>31), uops: make([]uop, 0, 4)}
	if !l.lift() {
		return instruction{}, false
	}
	return instruction{length: 4, uops: l.uops}, true
}

// a64lift turns one instruction into micro-operations.
type a64lift struct {
	w    uint32
	pc   uint64
	size uint8 // of the operation in bytes, by the top bit: where the instruction has that
	uops []uop
}

// field is n bits of the instruction from bit lo on.
func (l *a64lift) field(lo, n uint) uint64 { return uint64(l.w>>lo) & (1<<n - 1) }

// sfield is a field that is a signed number.
func (l *a64lift) sfield(lo, n uint) uint64 { return uint64(int64(l.field(lo, n)<<(64-n)) >> (64 - n)) }

// is tells whether the instruction has the given bits where mask has ones.
func (l *a64lift) is(mask, bits uint32) bool { return l.w&mask == bits }

// The register fields, 31 meaning zero.
func (l *a64lift) rd() register { return register(l.field(0, 5)) }
func (l *a64lift) rn() register { return register(l.field(5, 5)) }
func (l *a64lift) rm() register { return register(l.field(16, 5)) }
func (l *a64lift) ra() register { return register(l.field(10, 5)) }

// read is a register as an input, 31 meaning zero.
func read(r register) operand {
	if r == a64SP {
		return number(0)
	}
	return reg(r)
}

func (l *a64lift) emit(u uop) { l.uops = append(l.uops, u) }

// set emits rd = v, 31 meaning that the result is dropped.
func (l *a64lift) set(rd register, v operand) {
	if rd != a64SP {
		l.emit(uop{code: uSet, dst: rd, a: v, size: l.size})
	}
}

// compute emits dst = a op b in the instruction's size.
func (l *a64lift) compute(op operator, dst register, a, b operand) {
	l.emit(uop{code: uBinary, op: op, dst: dst, a: a, b: b, size: l.size})
}

// compute8 emits dst = a op b in 64 bits.
func (l *a64lift) compute8(op operator, dst register, a, b operand) {
	l.emit(uop{code: uBinary, op: op, dst: dst, a: a, b: b, size: 8})
}

func (l *a64lift) flags(k flagKind, a, b operand) {
	l.emit(uop{code: uFlags, flags: k, a: a, b: b, size: l.size})
}

func (l *a64lift) forget(r register) {
	if r != a64SP {
		l.emit(uop{code: uForget, dst: r})
	}
}

// lift emits the micro-operations; it tells whether the bits are an instruction
// of the main groups.
func (l *a64lift) lift() bool {
	switch l.field(25, 4) {
	case 0b1000, 0b1001:
		return l.immediate()
	case 0b1010, 0b1011:
		return l.branch()
	case 0b0100, 0b0110, 0b1100, 0b1110:
		return l.memory()
	case 0b0101, 0b1101:
		return l.register()
	case 0b0111, 0b1111:
		l.vector()
		return true
	case 0b0010: // SVE
		return true
	}
	return false
}

// immediate lifts data processing with an immediate.
func (l *a64lift) immediate() bool {
	switch {
	case l.is(0x1f000000, 0x10000000): // ADR, ADRP
		off := l.sfield(5, 19)<<2 | l.field(29, 2)
		at := absolute(l.pc + off)
		if l.w>>31 == 1 {
			at = absolute(l.pc&^0xfff + off<<12)
		}
		l.size = 8
		l.set(l.rd(), at)
	case l.is(0x1f800000, 0x11000000): // ADD, SUB
		l.addSub(reg(l.rn()), number(l.field(10, 12)<<(12*l.field(22, 1))), true)
	case l.is(0x1f800000, 0x12000000): // AND, ORR, EOR, ANDS
		m, ok := bitmask(l.field(22, 1), l.field(10, 6), l.field(16, 6), l.size)
		if !ok {
			return false
		}
		l.logic(read(l.rn()), number(m), true)
	case l.is(0x1f800000, 0x12800000):
		return l.moveWide()
	case l.is(0x1f800000, 0x13000000):
		return l.bitfield()
	case l.is(0x1f800000, 0x13800000): // EXTR
		if l.rn() == l.rm() || l.field(10, 6) != 0 {
			l.forget(l.rd())
			break
		}
		l.set(l.rd(), read(l.rm()))
	default:
		l.forget(l.rd()) // tagged addresses, minimum and maximum
	}
	return true
}

// addSub lifts the additions and subtractions. sp tells that register 31 is the
// stack pointer as the result, unless flags are made.
func (l *a64lift) addSub(a, b operand, sp bool) {
	op, kind := opAdd, flagsResult
	if l.field(30, 1) == 1 {
		op, kind = opSub, flagsCompare
	}
	switch {
	case l.field(29, 1) == 0 && sp:
		l.compute(op, l.rd(), a, b)
		return
	case l.field(29, 1) == 0:
		l.compute(op, temp0, a, b)
		l.set(l.rd(), reg(temp0))
		return
	case kind == flagsResult && !b.isReg(): // compares with the negative number
		kind, op, b = flagsCompare, opSub, number(-b.val)
	}
	l.compute(op, temp0, a, b)
	if kind == flagsCompare {
		l.flags(kind, a, b)
	} else {
		l.flags(kind, reg(temp0), number(0))
	}
	l.set(l.rd(), reg(temp0))
}

// logic lifts AND, ORR, EOR and ANDS.
func (l *a64lift) logic(a, b operand, sp bool) {
	ops := [...]operator{opAnd, opOr, opXor, opAnd}
	opc := l.field(29, 2)
	l.compute(ops[opc], temp0, a, b)
	if opc == 3 {
		l.flags(flagsLogic, reg(temp0), number(0))
	}
	if sp && opc != 3 {
		l.emit(uop{code: uSet, dst: l.rd(), a: reg(temp0), size: l.size})
		return
	}
	l.set(l.rd(), reg(temp0))
}

// bitmask decodes the immediate of a logical instruction: a run of ones, turned
// to the right, repeated.
func bitmask(n, imms, immr uint64, size uint8) (uint64, bool) {
	length := uint(0)
	for v := n<<6 | ^imms&0x3f; v > 1; v >>= 1 {
		length++
	}
	width := uint64(1) << length
	if length < 1 || size == 4 && n == 1 || imms&(width-1) == width-1 {
		return 0, false
	}
	run := uint64(1)<<(imms&(width-1)+1) - 1
	turn := immr & (width - 1)
	if turn > 0 {
		run = run>>turn | run<<(width-turn)
	}
	if width < 64 {
		run &= 1<<width - 1
	}
	for ; width < 64; width *= 2 {
		run |= run << width
	}
	return run, true
}

// moveWide lifts MOVN, MOVZ and MOVK.
func (l *a64lift) moveWide() bool {
	shift := 16 * l.field(21, 2)
	v := l.field(5, 16) << shift
	switch l.field(29, 2) {
	case 0:
		l.set(l.rd(), number(^v))
	case 2:
		l.set(l.rd(), number(v))
	case 3:
		l.compute(opAnd, temp0, read(l.rd()), number(^(uint64(0xffff) << shift)))
		l.compute(opOr, temp0, reg(temp0), number(v))
		l.set(l.rd(), reg(temp0))
	default:
		return false
	}
	return true
}

// bitfield lifts SBFM, BFM and UBFM: shifts, extensions, extractions and
// insertions of bit fields.
func (l *a64lift) bitfield() bool {
	immr, imms, bits := l.field(16, 6), l.field(10, 6), uint64(l.size)*8
	if immr >= bits || imms >= bits {
		return false
	}
	from, to, n := immr, uint64(0), imms-immr+1 // n bits from bit from go to bit to
	if imms < immr {
		from, to, n = 0, bits-immr, imms+1
	}
	field := uint64(1)<<n - 1 // n may be 64
	switch l.field(29, 2) {
	case 0:
		l.signedField(from, to, n)
	case 1:
		l.compute8(opShr, temp0, read(l.rn()), number(from))
		l.compute8(opAnd, temp0, reg(temp0), number(field))
		l.compute8(opMul, temp0, reg(temp0), number(1<<to))
		l.compute8(opAnd, temp1, read(l.rd()), number(^(field << to)))
		l.compute8(opOr, temp0, reg(temp0), reg(temp1))
		l.set(l.rd(), reg(temp0))
	case 2:
		l.compute(opShr, temp0, read(l.rn()), number(from))
		l.compute(opAnd, temp0, reg(temp0), number(field))
		l.compute(opShl, temp0, reg(temp0), number(to))
		l.set(l.rd(), reg(temp0))
	default:
		return false
	}
	return true
}

// signedField is the signed part of bitfield.
func (l *a64lift) signedField(from, to, n uint64) {
	switch {
	case from == 0 && (n == 8 || n == 16 || n == 32):
		l.emit(uop{code: uSet, dst: temp0, a: read(l.rn()), size: uint8(n / 8), signed: true})
	case from+n == uint64(l.size)*8:
		l.compute(opSar, temp0, read(l.rn()), number(from))
	default:
		l.compute8(opShl, temp0, read(l.rn()), number(64-from-n))
		l.compute8(opSar, temp0, reg(temp0), number(64-n))
	}
	l.compute(opShl, temp0, reg(temp0), number(to))
	l.set(l.rd(), reg(temp0))
}
