package lift

// aarch64 registers with a special role.
const (
	a64Link Register = 30
	a64SP   Register = 31 // in a register field: the stack pointer or zero
)

// a64Convention is the procedure call standard of aarch64.
var a64Convention = &Convention{
	Args:        []Register{0, 1, 2, 3, 4, 5, 6, 7},
	Result:      0,
	SP:          a64SP,
	Keep:        0x7ff<<19 | 1<<a64SP, // x19 to x29, sp
	Vectors:     0xff << 8,
	VectorCount: 32, // user_fpsimd_state
	General:     32,
	Link:        a64Link,
	MaxLength:   4,
}

// a64 decodes aarch64 machine code.
type a64 struct{}

func (a64) Convention() *Convention { return a64Convention }

func (a64) Lift(code []byte, pc uint64, room []Uop) (Instruction, bool) {
	if len(code) < 4 || pc%4 != 0 {
		return Instruction{}, false
	}
	w := uint32(code[0]) | uint32(code[1])<<8 | uint32(code[2])<<16 | uint32(code[3])<<24
	l := a64lift{a64word: a64word(w), pc: pc, size: 4 + 4*uint8(w>>31), uops: room}
	if !l.lift() {
		return Instruction{}, false
	}
	return Instruction{Length: 4, Uops: l.uops, Locked: l.locked, Partial: l.partial}, true
}

// a64lift turns one instruction into micro-operations.
type a64lift struct {
	a64word
	pc   uint64
	size uint8 // of the operation in bytes, by the top bit, if the instruction has a size
	uops []Uop

	locked, partial bool // see Instruction
}

// a64word is an instruction.
type a64word uint32

// field returns n bits of the instruction from bit lo.
func (w a64word) field(lo, n uint) uint64 { return uint64(w>>lo) & (1<<n - 1) }

// sfield returns a field as a signed number.
func (w a64word) sfield(lo, n uint) uint64 { return uint64(int64(w.field(lo, n)<<(64-n)) >> (64 - n)) }

// matches reports whether the instruction has the given bits in mask.
func (w a64word) matches(mask, bits uint32) bool { return uint32(w)&mask == bits }

// The register fields; 31 means zero.
func (w a64word) rd() Register { return Register(w.field(0, 5)) }
func (w a64word) rn() Register { return Register(w.field(5, 5)) }
func (w a64word) rm() Register { return Register(w.field(16, 5)) }
func (w a64word) ra() Register { return Register(w.field(10, 5)) }

// read returns a register as an input; 31 means zero.
func read(r Register) Operand {
	if r == a64SP {
		return number(0)
	}
	return reg(r)
}

func (l *a64lift) emit(u Uop) { l.uops = append(l.uops, u) }

// set emits rd = v; the result is dropped if rd is 31.
func (l *a64lift) set(rd Register, v Operand) {
	if rd != a64SP {
		l.emit(Uop{Code: UopSet, Dst: rd, A: v, Size: l.size})
	}
}

// compute emits dst = a op b in the instruction's size.
func (l *a64lift) compute(op Operator, dst Register, a, b Operand) {
	l.emit(Uop{Code: UopBinary, Op: op, Dst: dst, A: a, B: b, Size: l.size})
}

// compute8 emits dst = a op b in 64 bits.
func (l *a64lift) compute8(op Operator, dst Register, a, b Operand) {
	l.emit(Uop{Code: UopBinary, Op: op, Dst: dst, A: a, B: b, Size: 8})
}

func (l *a64lift) flags(k FlagKind, a, b Operand) {
	l.emit(Uop{Code: UopFlags, Flags: k, A: a, B: b, Size: l.size})
}

func (l *a64lift) forget(r Register) {
	if r != a64SP {
		l.emit(Uop{Code: UopForget, Dst: r})
	}
}

// lift emits the micro-operations. It reports whether the bits are an instruction of the main groups. SVE is none of
// them: its instructions count, compare and write memory.
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
	}
	return false
}

// immediate lifts data processing with an immediate.
func (l *a64lift) immediate() bool {
	switch {
	case l.matches(0x1f000000, 0x10000000): // ADR, ADRP
		off := l.sfield(5, 19)<<2 | l.field(29, 2)
		at := absolute(l.pc + off)
		if l.a64word>>31 == 1 {
			at = absolute(l.pc&^0xfff + off<<12)
		}
		l.size = 8
		l.set(l.rd(), at)
	case l.matches(0x1f800000, 0x11000000): // ADD, SUB
		l.addSub(reg(l.rn()), number(l.field(10, 12)<<(12*l.field(22, 1))), true)
	case l.matches(0x1f800000, 0x12000000): // AND, ORR, EOR, ANDS
		m, ok := bitmask(l.field(22, 1), l.field(10, 6), l.field(16, 6), l.size)
		if !ok {
			return false
		}
		l.logic(read(l.rn()), number(m), true)
	case l.matches(0x1f800000, 0x12800000):
		return l.moveWide()
	case l.matches(0x1f800000, 0x13000000):
		return l.bitfield()
	case l.matches(0x1f800000, 0x13800000): // EXTR
		if l.rn() == l.rm() || l.field(10, 6) != 0 {
			l.forget(l.rd())
			break
		}
		l.set(l.rd(), read(l.rm()))
	case l.matches(0xbfc00000, 0x91800000): // ADDG, SUBG, also of the stack pointer
		l.emit(Uop{Code: UopForget, Dst: l.rd()})
	default:
		l.forget(l.rd()) // minimum and maximum
	}
	return true
}

// addSub lifts additions and subtractions. If sp is set and the instruction sets no flags, register 31 as the
// result is the stack pointer.
func (l *a64lift) addSub(a, b Operand, sp bool) {
	op, kind := OpAdd, FlagsResult
	if l.field(30, 1) == 1 {
		op, kind = OpSub, FlagsCompare
	}
	switch {
	case l.field(29, 1) == 0 && sp:
		l.compute(op, l.rd(), a, b)
		return
	case l.field(29, 1) == 0:
		l.compute(op, Temp0, a, b)
		l.set(l.rd(), reg(Temp0))
		return
	case kind == FlagsResult && !b.IsReg() && b.Val != 0: // compares with the negative number
		kind, op, b = FlagsCompare, OpSub, number(-b.Val)
	}
	l.compute(op, Temp0, a, b)
	if kind == FlagsCompare {
		l.flags(kind, a, b)
	} else {
		l.flags(kind, reg(Temp0), number(0))
	}
	l.set(l.rd(), reg(Temp0))
}

// logic lifts AND, ORR, EOR and ANDS.
func (l *a64lift) logic(a, b Operand, sp bool) {
	ops := [...]Operator{OpAnd, OpOr, OpXor, OpAnd}
	opc := l.field(29, 2)
	l.compute(ops[opc], Temp0, a, b)
	if opc == 3 {
		l.flags(FlagsMask, reg(Temp0), number(0))
	}
	if sp && opc != 3 {
		l.emit(Uop{Code: UopSet, Dst: l.rd(), A: reg(Temp0), Size: l.size})
		return
	}
	l.set(l.rd(), reg(Temp0))
}

// bitmask decodes the immediate of a logical instruction: a run of ones, rotated right and repeated.
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
		l.compute(OpAnd, Temp0, read(l.rd()), number(^(uint64(0xffff) << shift)))
		l.compute(OpOr, Temp0, reg(Temp0), number(v))
		l.set(l.rd(), reg(Temp0))
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
	from, to, n := immr, uint64(0), imms-immr+1 // n bits, from bit "from" to bit "to"
	if imms < immr {
		from, to, n = 0, bits-immr, imms+1
	}
	field := uint64(1)<<n - 1 // n may be 64
	switch l.field(29, 2) {
	case 0:
		l.signedField(from, to, n)
	case 1:
		l.compute8(OpShr, Temp0, read(l.rn()), number(from))
		l.compute8(OpAnd, Temp0, reg(Temp0), number(field))
		l.compute8(OpMul, Temp0, reg(Temp0), number(1<<to))
		l.compute8(OpAnd, temp1, read(l.rd()), number(^(field << to)))
		l.compute8(OpOr, Temp0, reg(Temp0), reg(temp1))
		l.set(l.rd(), reg(Temp0))
	case 2:
		l.compute(OpShr, Temp0, read(l.rn()), number(from))
		l.compute(OpAnd, Temp0, reg(Temp0), number(field))
		l.compute(OpShl, Temp0, reg(Temp0), number(to))
		l.set(l.rd(), reg(Temp0))
	default:
		return false
	}
	return true
}

// signedField lifts the signed forms of bitfield.
func (l *a64lift) signedField(from, to, n uint64) {
	switch {
	case from == 0 && (n == 8 || n == 16 || n == 32):
		l.emit(Uop{Code: UopSet, Dst: Temp0, A: read(l.rn()), Size: uint8(n / 8), Signed: true})
	case from+n == uint64(l.size)*8:
		l.compute(OpSar, Temp0, read(l.rn()), number(from))
	default:
		l.compute8(OpShl, Temp0, read(l.rn()), number(64-from-n))
		l.compute8(OpSar, Temp0, reg(Temp0), number(64-n))
	}
	l.compute(OpShl, Temp0, reg(Temp0), number(to))
	l.set(l.rd(), reg(Temp0))
}
