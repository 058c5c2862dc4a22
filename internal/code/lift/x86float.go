package lift

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// x86Floats contains the functions that lift instructions on vector registers: moves, comparisons, arithmetic and
// simple conversions of scalars, and bitwise operations. The results of other instructions are unknown.
var x86Floats = newX86Floats()

func newX86Floats() map[x86asm.Op]func(*x86lift) bool {
	table := map[x86asm.Op]func(*x86lift) bool{}
	add := func(lift func(*x86lift) bool, list ...x86asm.Op) {
		for _, op := range list {
			table[op] = lift
		}
	}
	move := func(size uint8) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.moveVector(size) }
	}
	add(move(4), x86asm.MOVSS, x86asm.VMOVSS, x86asm.MOVD, x86asm.VMOVD)
	add(move(8), x86asm.MOVSD_XMM, x86asm.VMOVSD, x86asm.MOVQ, x86asm.VMOVQ, x86asm.MOVAPS, x86asm.VMOVAPS,
		x86asm.MOVAPD, x86asm.VMOVAPD, x86asm.MOVUPS, x86asm.VMOVUPS, x86asm.MOVUPD, x86asm.VMOVUPD, x86asm.MOVDQA,
		x86asm.VMOVDQA, x86asm.MOVDQU, x86asm.VMOVDQU, x86asm.MOVDDUP, x86asm.VMOVDDUP)
	compare := func(size uint8) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.compareFloats(size) }
	}
	add(compare(4), x86asm.COMISS, x86asm.UCOMISS, x86asm.VCOMISS, x86asm.VUCOMISS)
	add(compare(8), x86asm.COMISD, x86asm.UCOMISD, x86asm.VCOMISD, x86asm.VUCOMISD)
	logic := func(op Operator, invert bool) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.vectorLogic(op, invert) }
	}
	add(logic(OpXor, false), x86asm.XORPS, x86asm.XORPD, x86asm.PXOR, x86asm.VXORPS, x86asm.VXORPD, x86asm.VPXOR)
	add(logic(OpAnd, false), x86asm.ANDPS, x86asm.ANDPD, x86asm.PAND, x86asm.VANDPS, x86asm.VANDPD, x86asm.VPAND)
	add(logic(OpOr, false), x86asm.ORPS, x86asm.ORPD, x86asm.POR, x86asm.VORPS, x86asm.VORPD, x86asm.VPOR)
	add(logic(OpAnd, true), x86asm.ANDNPS, x86asm.ANDNPD, x86asm.PANDN, x86asm.VANDNPS, x86asm.VANDNPD, x86asm.VPANDN)
	mask := func(size uint8) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.floatMask(size) }
	}
	add(mask(4), x86asm.CMPSS, x86asm.VCMPSS)
	add(mask(8), x86asm.CMPSD_XMM, x86asm.VCMPSD)
	for op, list := range [][]x86asm.Op{
		FloatAdd: {x86asm.ADDSS, x86asm.VADDSS, x86asm.ADDSD, x86asm.VADDSD},
		FloatSub: {x86asm.SUBSS, x86asm.VSUBSS, x86asm.SUBSD, x86asm.VSUBSD},
		FloatMul: {x86asm.MULSS, x86asm.VMULSS, x86asm.MULSD, x86asm.VMULSD},
		FloatDiv: {x86asm.DIVSS, x86asm.VDIVSS, x86asm.DIVSD, x86asm.VDIVSD},
		FloatMin: {x86asm.MINSS, x86asm.VMINSS, x86asm.MINSD, x86asm.VMINSD},
		FloatMax: {x86asm.MAXSS, x86asm.VMAXSS, x86asm.MAXSD, x86asm.VMAXSD},
	} {
		add(func(l *x86lift) bool { return l.floatArithmetic(FloatOperator(op), 4) }, list[:2]...)
		add(func(l *x86lift) bool { return l.floatArithmetic(FloatOperator(op), 8) }, list[2:]...)
	}
	add((*x86lift).multiplyAdd,
		x86asm.VFMADD132SS, x86asm.VFMADD213SS, x86asm.VFMADD231SS, x86asm.VFMADD132SD, x86asm.VFMADD213SD,
		x86asm.VFMADD231SD, x86asm.VFMSUB132SS, x86asm.VFMSUB213SS, x86asm.VFMSUB231SS, x86asm.VFMSUB132SD,
		x86asm.VFMSUB213SD, x86asm.VFMSUB231SD, x86asm.VFNMADD132SS, x86asm.VFNMADD213SS, x86asm.VFNMADD231SS,
		x86asm.VFNMADD132SD, x86asm.VFNMADD213SD, x86asm.VFNMADD231SD, x86asm.VFNMSUB132SS, x86asm.VFNMSUB213SS,
		x86asm.VFNMSUB231SS, x86asm.VFNMSUB132SD, x86asm.VFNMSUB213SD, x86asm.VFNMSUB231SD)
	toFloat := func(c Conversion, from, to uint8) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.convertToFloat(c, from, to) }
	}
	add(toFloat(SignedToFloat, 0, 4), x86asm.CVTSI2SS, x86asm.VCVTSI2SS)
	add(toFloat(SignedToFloat, 0, 8), x86asm.CVTSI2SD, x86asm.VCVTSI2SD)
	add(toFloat(FloatToFloat, 4, 8), x86asm.CVTSS2SD, x86asm.VCVTSS2SD)
	add(toFloat(FloatToFloat, 8, 4), x86asm.CVTSD2SS, x86asm.VCVTSD2SS)
	toInteger := func(from uint8) func(*x86lift) bool {
		return func(l *x86lift) bool { return l.convertToInteger(from) }
	}
	add(toInteger(4), x86asm.CVTTSS2SI, x86asm.VCVTTSS2SI)
	add(toInteger(8), x86asm.CVTTSD2SI, x86asm.VCVTTSD2SI)
	return table
}

// float lifts the instructions of x86Floats.
func (l *x86lift) float() bool {
	lift := x86Floats[l.inst.Op]
	return lift != nil && !l.evex && lift(l)
}

// vectorRegister returns the number of a vector register.
func vectorRegister(a x86asm.Arg) (Register, bool) {
	r, ok := a.(x86asm.Reg)
	switch {
	case !ok:
	case r >= x86asm.X0 && r <= x86asm.X31:
		return Register(r - x86asm.X0), true
	case r >= x86asm.Y0 && r <= x86asm.Y31:
		return Register(r - x86asm.Y0), true
	case r >= x86asm.Z0 && r <= x86asm.Z31:
		return Register(r - x86asm.Z0), true
	}
	return 0, false
}

// source returns the number of the last argument.
func (l *x86lift) source() int {
	if l.inst.Args[2] != nil {
		return 2
	}
	return 1
}

// readVector emits the computation of the low size bytes of argument i, a vector register or memory, in temp.
func (l *x86lift) readVector(i int, temp Register, size uint8) Operand {
	v, ok := vectorRegister(l.inst.Args[i])
	if !ok {
		return l.read(i, temp)
	}
	l.emit(Uop{Code: UopGetVector, Dst: temp, Vector: v, Size: size})
	return reg(temp)
}

// writeVector emits that the low size bytes of the first argument become a. If they are 4, the next 4 are those of
// argument rest.
func (l *x86lift) writeVector(a Operand, size uint8, rest int) {
	v, _ := vectorRegister(l.inst.Args[0])
	if size == 4 {
		l.readVector(rest, temp1, 8)
		l.emit(Uop{Code: UopInsert, Dst: temp1, A: a, Size: size})
		a = reg(temp1)
	}
	l.emit(Uop{Code: UopSetVector, Vector: v, A: a, Size: 8})
}

// moveVector lifts moves of size bytes from or to a vector register. Of larger ones, the low 8 bytes are followed.
func (l *x86lift) moveVector(size uint8) bool {
	source := l.source()
	from, fromVector := vectorRegister(l.inst.Args[source])
	to, toVector := vectorRegister(l.inst.Args[0])
	switch {
	case toVector && fromVector:
		l.writeVector(l.readVector(source, Temp0, 8), size, source-1)
	case toVector: // it clears the next bytes
		a := l.read(source, Temp0)
		if _, ok := l.inst.Args[source].(x86asm.Reg); ok {
			l.emit(Uop{Code: UopSet, Dst: Temp0, A: a, Size: size})
			a = reg(Temp0)
		}
		l.emit(Uop{Code: UopSetVector, Vector: to, A: a, Size: 8})
	case fromVector:
		if r, ok := l.inst.Args[0].(x86asm.Reg); ok {
			if _, _, _, general := gpr(r); !general {
				return false
			}
		}
		l.emit(Uop{Code: UopGetVector, Dst: Temp0, Vector: from, Size: 8})
		l.write(0, reg(Temp0))
	default:
		return false
	}
	return true
}

// compareFloats lifts comparisons of numbers of size bytes.
func (l *x86lift) compareFloats(size uint8) bool {
	a := l.readVector(0, Temp0, size)
	l.flags(FlagsFloatX86, a, l.readVector(1, temp1, size), size)
	return true
}

// floatMask lifts comparisons of numbers of size bytes with a mask as their result.
func (l *x86lift) floatMask(size uint8) bool {
	last := 2
	if l.inst.Args[3] != nil {
		last = 3
	}
	relation, ok := l.inst.Args[last].(x86asm.Imm)
	if !ok {
		return false
	}
	a, b := l.readVector(last-2, Temp0, size), l.readVector(last-1, temp1, size)
	l.emit(Uop{Code: UopFloatMask, Dst: Temp0, A: a, B: b, Scale: uint8(relation & 31), Size: size})
	l.writeVector(reg(Temp0), size, last-2)
	return true
}

// floatArithmetic lifts an operation on two numbers of size bytes.
func (l *x86lift) floatArithmetic(op FloatOperator, size uint8) bool {
	source := l.source()
	a, b := l.readVector(source-1, Temp0, size), l.readVector(source, temp1, size)
	l.emit(Uop{Code: UopFloat, Float: op, Dst: Temp0, A: a, B: b, Size: size})
	l.writeVector(reg(Temp0), size, source-1)
	return true
}

// multiplyAdd lifts a fused multiplication and addition. The name of the instruction has the signs of the product and
// of the added number, the order of the arguments, and the size.
func (l *x86lift) multiplyAdd() bool {
	name := l.inst.Op.String()
	order, size := name[len(name)-5:], uint8(8)
	if strings.HasSuffix(name, "SS") {
		size = 4
	}
	sign := number(1 << (8*size - 1))
	for i, temp := range []Register{Temp0, temp1, temp2} {
		l.readVector(int(order[i]-'1'), temp, size)
	}
	if strings.HasPrefix(name, "VFN") {
		l.binary(OpXor, Temp0, reg(Temp0), sign, 8)
	}
	if strings.Contains(name, "SUB") {
		l.binary(OpXor, temp2, reg(temp2), sign, 8)
	}
	l.emit(Uop{Code: UopFloat, Float: FloatMulAdd, Dst: temp2, A: reg(Temp0), B: reg(temp1), Size: size})
	l.writeVector(reg(temp2), size, 0)
	return true
}

// vectorLogic lifts bitwise operations; invert applies to the first source.
func (l *x86lift) vectorLogic(op Operator, invert bool) bool {
	source := l.source()
	from, ok := vectorRegister(l.inst.Args[source-1])
	if !ok {
		return false
	}
	if other, ok := vectorRegister(l.inst.Args[source]); ok && other == from && (op == OpXor || invert) {
		l.writeVector(number(0), 8, 0)
		return true
	}
	a := l.readVector(source-1, Temp0, 8)
	if invert {
		l.binary(OpXor, Temp0, a, number(^uint64(0)), 8)
	}
	l.binary(op, Temp0, a, l.readVector(source, temp1, 8), 8)
	l.writeVector(reg(Temp0), 8, 0)
	return true
}

// convertToFloat lifts conversions to a floating-point number of "to" bytes. Without "from", the source is an integer.
func (l *x86lift) convertToFloat(c Conversion, from, to uint8) bool {
	source := l.source()
	if from == 0 {
		from = l.size(source)
	}
	a := l.readVector(source, Temp0, from)
	l.emit(Uop{Code: UopConvert, Convert: c, Dst: Temp0, A: a, Scale: from, Size: to})
	l.writeVector(reg(Temp0), to, source-1)
	return true
}

// convertToInteger lifts conversions to integers that drop the fraction.
func (l *x86lift) convertToInteger(from uint8) bool {
	a := l.readVector(1, Temp0, from)
	l.emit(Uop{Code: UopConvert, Convert: FloatToSigned, Dst: Temp0, A: a, Scale: from, Size: l.size(0)})
	l.write(0, reg(Temp0))
	return true
}

// forgetResults emits that the vector registers that an instruction writes are unknown: the first argument, and those
// that it does not name.
func (l *x86lift) forgetResults() {
	if v, ok := vectorRegister(l.inst.Args[0]); ok {
		l.emit(Uop{Code: UopForgetVector, Vector: v})
	}
	switch l.inst.Op {
	case x86asm.PCMPESTRM, x86asm.PCMPISTRM, x86asm.VPCMPESTRM, x86asm.VPCMPISTRM:
		l.emit(Uop{Code: UopForgetVector, Vector: 0})
	case x86asm.FXRSTOR, x86asm.FXRSTOR64, x86asm.XRSTOR, x86asm.XRSTOR64, x86asm.XRSTORS, x86asm.XRSTORS64,
		x86asm.LDMXCSR, x86asm.VLDMXCSR: // these change the way to round
		l.emit(Uop{Code: UopForgetVector, Vector: AllVectors})
	case x86asm.VGATHERDPD, x86asm.VGATHERDPS, x86asm.VGATHERQPD, x86asm.VGATHERQPS, x86asm.VPGATHERDD,
		x86asm.VPGATHERDQ, x86asm.VPGATHERQD, x86asm.VPGATHERQQ: // they clear the mask
		l.emit(Uop{Code: UopForgetVector, Vector: AllVectors})
	}
}

// vexPrefixes returns the number of prefixes before a VEX or EVEX prefix, and the first byte of that, 0 for other
// instructions. x86asm decodes the former as instructions of their own.
func vexPrefixes(code []byte) (n int, first byte) {
	const other = "\x26\x2e\x36\x3e\x64\x65\x67"
	for n < len(code) && n < x86Convention.MaxLength && strings.IndexByte(other, code[n]) >= 0 {
		n++
	}
	if n < len(code) && strings.IndexByte("\xc4\xc5\x62", code[n]) >= 0 {
		return n, code[n]
	}
	return 0, 0
}

// completeVEX adds the parts of a memory argument that x86asm leaves out for instructions with a VEX or EVEX prefix:
// the segment, and an address relative to the instruction. code starts with prefixes.
func completeVEX(inst *x86asm.Inst, code []byte, prefixes int) {
	opcode := prefixes + map[byte]int{0xc5: 2, 0xc4: 3, evexPrefix: 4}[code[prefixes]]
	relative := opcode+1 < inst.Len && code[opcode+1]&0xc7 == 5 // the ModRM byte
	for i, a := range inst.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		if relative {
			m.Base = x86asm.RIP
		}
		for _, prefix := range code[:prefixes] {
			switch prefix {
			case 0x64:
				m.Segment = x86asm.FS
			case 0x65:
				m.Segment = x86asm.GS
			}
		}
		inst.Args[i] = m
	}
}
