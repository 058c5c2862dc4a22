package accesspath

import "golang.org/x/arch/x86/x86asm"

// x86Arithmetic lists the two-operand instructions that write their first.
var x86Arithmetic = map[x86asm.Op]struct {
	op    operator
	flags flagKind
}{
	x86asm.ADD: {opAdd, flagsResult},
	x86asm.SUB: {opSub, flagsCompare},
	x86asm.AND: {opAnd, flagsLogic},
	x86asm.OR:  {opOr, flagsLogic},
	x86asm.XOR: {opXor, flagsLogic},
	x86asm.SHL: {opShl, flagsResult},
	x86asm.SHR: {opShr, flagsResult},
	x86asm.SAR: {opSar, flagsResult},
}

// x86Conditions gives what the conditional instructions test.
var x86Conditions = map[x86asm.Op]condition{
	x86asm.JE: {op: EQ}, x86asm.SETE: {op: EQ}, x86asm.CMOVE: {op: EQ},
	x86asm.JNE: {op: NE}, x86asm.SETNE: {op: NE}, x86asm.CMOVNE: {op: NE},
	x86asm.JL: {op: LT}, x86asm.SETL: {op: LT}, x86asm.CMOVL: {op: LT},
	x86asm.JGE: {op: GE}, x86asm.SETGE: {op: GE}, x86asm.CMOVGE: {op: GE},
	x86asm.JLE: {op: LE}, x86asm.SETLE: {op: LE}, x86asm.CMOVLE: {op: LE},
	x86asm.JG: {op: GT}, x86asm.SETG: {op: GT}, x86asm.CMOVG: {op: GT},
	x86asm.JB: {op: NE, bit: true}, x86asm.SETB: {op: NE, bit: true}, x86asm.CMOVB: {op: NE, bit: true},
	x86asm.JAE: {op: EQ, bit: true}, x86asm.SETAE: {op: EQ, bit: true}, x86asm.CMOVAE: {op: EQ, bit: true},
	x86asm.JBE: {op: ULE}, x86asm.SETBE: {op: ULE}, x86asm.CMOVBE: {op: ULE},
	x86asm.JA: {op: UGT}, x86asm.SETA: {op: UGT}, x86asm.CMOVA: {op: UGT},
	x86asm.JS: {op: LT, sign: true}, x86asm.SETS: {op: LT, sign: true}, x86asm.CMOVS: {op: LT, sign: true},
	x86asm.JNS: {op: GE, sign: true}, x86asm.SETNS: {op: GE, sign: true}, x86asm.CMOVNS: {op: GE, sign: true},
	// Parity and overflow are not followed.
	x86asm.JP: {}, x86asm.JNP: {}, x86asm.JO: {}, x86asm.JNO: {},
	x86asm.SETP: {}, x86asm.SETNP: {}, x86asm.SETO: {}, x86asm.SETNO: {},
	x86asm.CMOVP: {}, x86asm.CMOVNP: {}, x86asm.CMOVO: {}, x86asm.CMOVNO: {},
	x86asm.JRCXZ: {}, x86asm.JECXZ: {}, x86asm.LOOP: {}, x86asm.LOOPE: {}, x86asm.LOOPNE: {},
}

// lift emits the micro-operations of the instruction.
func (l *x86lift) lift() {
	if cc, ok := x86Conditions[l.inst.Op]; ok {
		l.conditional(cc)
		return
	}
	if a, ok := x86Arithmetic[l.inst.Op]; ok {
		l.arithmetic(a.op, a.flags)
		return
	}
	if !l.move() && !l.control() && !l.compare() {
		l.other()
	}
}

// conditional lifts Jcc, SETcc and CMOVcc.
func (l *x86lift) conditional(cc condition) {
	switch target := l.inst.Args[0].(type) {
	case x86asm.Rel:
		l.emit(uop{code: uBranch, cc: cc, a: absolute(l.next + uint64(int64(target)))})
		return
	}
	if l.inst.Args[1] == nil {
		l.emit(uop{code: uSetIf, cc: cc, dst: temp0})
		l.write(0, reg(temp0))
		return
	}
	yes, no := l.read(1, temp1), l.read(0, temp0)
	l.emit(uop{code: uSelect, cc: cc, dst: temp0, a: yes, b: no, size: l.size(0)})
	l.write(0, reg(temp0))
}

// arithmetic lifts an instruction that writes (first op second) to its first
// argument.
func (l *x86lift) arithmetic(op operator, flags flagKind) {
	size := l.size(0)
	a, b := l.read(0, temp0), l.read(1, temp1)
	if op == opShl || op == opShr || op == opSar {
		l.binary(opAnd, temp1, b, number(max(32, uint64(size)*8)-1), 8)
		b = reg(temp1)
	}
	if flags == flagsCompare {
		l.flags(flags, a, b, size)
	}
	l.binary(op, temp0, a, b, size)
	if flags != flagsCompare {
		l.flags(flags, reg(temp0), number(0), size)
	}
	l.write(0, reg(temp0))
}

// move lifts the instructions that copy and extend, and the stack's; it tells
// whether the instruction is one.
func (l *x86lift) move() bool {
	switch l.inst.Op {
	case x86asm.MOV, x86asm.MOVNTI:
		l.write(0, l.read(1, temp0))
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		v := l.read(1, temp0)
		l.emit(uop{code: uSet, dst: temp0, a: v, size: l.size(1), signed: l.inst.Op != x86asm.MOVZX})
		l.write(0, reg(temp0))
	case x86asm.LEA:
		if m, ok := l.inst.Args[1].(x86asm.Mem); ok {
			m.Segment = 0
			l.address(temp0, m)
			l.write(0, reg(temp0))
		}
	case x86asm.XCHG:
		l.set(temp0, l.read(0, temp0))
		l.set(temp1, l.read(1, temp1))
		l.write(0, reg(temp1))
		l.write(1, reg(temp0))
	case x86asm.XADD:
		l.set(temp0, l.read(0, temp0))
		l.binary(opAdd, temp1, reg(temp0), l.read(1, temp1), l.size(0))
		l.flags(flagsResult, reg(temp1), number(0), l.size(0))
		l.write(0, reg(temp1))
		l.write(1, reg(temp0))
	case x86asm.CDQE:
		l.emit(uop{code: uSet, dst: rax, a: reg(rax), size: 4, signed: true})
	case x86asm.CWDE:
		l.emit(uop{code: uSet, dst: temp0, a: reg(rax), size: 2, signed: true})
		l.emit(uop{code: uSet, dst: rax, a: reg(temp0), size: 4})
	case x86asm.CDQ:
		l.binary(opSar, rdx, reg(rax), number(31), 4)
	case x86asm.CQO:
		l.binary(opSar, rdx, reg(rax), number(63), 8)
	case x86asm.PUSH:
		l.set(temp0, l.read(0, temp0))
		l.binary(opSub, rsp, reg(rsp), number(8), 8)
		l.emit(uop{code: uPush, a: reg(rsp), b: reg(temp0), size: 8})
	case x86asm.POP:
		l.pop(temp0)
		l.write(0, reg(temp0))
	case x86asm.SHLX:
		l.shift(opShl)
	case x86asm.SHRX:
		l.shift(opShr)
	case x86asm.SARX:
		l.shift(opSar)
	case x86asm.LEAVE:
		l.set(rsp, reg(rbp))
		l.pop(rbp)
	default:
		return false
	}
	return true
}

func (l *x86lift) pop(dst register) {
	l.emit(uop{code: uLoad, dst: dst, a: reg(rsp), size: 8})
	l.binary(opAdd, rsp, reg(rsp), number(8), 8)
}

// control lifts jumps, calls and traps.
func (l *x86lift) control() bool {
	switch l.inst.Op {
	case x86asm.JMP:
		l.emit(uop{code: uJump, a: l.read(0, temp0)})
	case x86asm.CALL:
		l.emit(uop{code: uCall, a: l.read(0, temp0)})
	case x86asm.RET:
		l.emit(uop{code: uReturn})
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.LCALL, x86asm.LJMP, x86asm.SYSRET, x86asm.SYSEXIT, x86asm.ENTER:
		l.emit(uop{code: uStop})
	default:
		return false
	}
	return true
}

// compare lifts the instructions that only make flags, and the arithmetic with
// one argument.
func (l *x86lift) compare() bool {
	size := l.size(0)
	switch l.inst.Op {
	case x86asm.CMP:
		a, b := l.read(0, temp0), l.read(1, temp1)
		l.flags(flagsCompare, a, b, size)
	case x86asm.TEST:
		a, b := l.read(0, temp0), l.read(1, temp1)
		l.binary(opAnd, temp0, a, b, size)
		l.flags(flagsLogic, reg(temp0), number(0), size)
	case x86asm.BT:
		a, b := l.read(0, temp0), l.read(1, temp1)
		l.binary(opAnd, temp1, b, number(uint64(size)*8-1), 8)
		l.flags(flagsBit, a, reg(temp1), size)
	case x86asm.INC:
		l.binary(opAdd, temp0, l.read(0, temp0), number(1), size)
		l.flags(flagsResult, reg(temp0), number(0), size)
		l.write(0, reg(temp0))
	case x86asm.DEC:
		a := l.read(0, temp0)
		l.flags(flagsCompare, a, number(1), size)
		l.binary(opSub, temp0, a, number(1), size)
		l.write(0, reg(temp0))
	case x86asm.NEG:
		a := l.read(0, temp0)
		l.flags(flagsCompare, number(0), a, size)
		l.binary(opSub, temp0, number(0), a, size)
		l.write(0, reg(temp0))
	case x86asm.NOT:
		l.binary(opXor, temp0, l.read(0, temp0), number(^uint64(0)), size)
		l.write(0, reg(temp0))
	case x86asm.IMUL:
		return l.multiply(size)
	case x86asm.ADC, x86asm.SBB:
		l.withCarry(size)
	default:
		return false
	}
	return true
}

// withCarry lifts an addition or subtraction that the carry takes part in.
func (l *x86lift) withCarry(size uint8) {
	op := opAdd
	if l.inst.Op == x86asm.SBB {
		op = opSub
	}
	a, b := l.read(0, temp0), l.read(1, temp1)
	l.binary(op, temp0, a, b, size)
	l.emit(uop{code: uSetIf, cc: condition{op: NE, bit: true}, dst: temp1})
	l.binary(op, temp0, reg(temp0), reg(temp1), size)
	l.flags(flagsResult, reg(temp0), number(0), size)
	l.write(0, reg(temp0))
}

// shift lifts the shifts that leave the flags and have three arguments.
func (l *x86lift) shift(op operator) {
	size := l.size(0)
	a, b := l.read(1, temp0), l.read(2, temp1)
	l.binary(opAnd, temp1, b, number(uint64(size)*8-1), 8)
	l.binary(op, temp0, a, reg(temp1), size)
	l.write(0, reg(temp0))
}

// multiply lifts the forms of IMUL with two and three arguments.
func (l *x86lift) multiply(size uint8) bool {
	first := 0
	switch {
	case l.inst.Args[1] == nil:
		return false
	case l.inst.Args[2] != nil:
		first = 1
	}
	a, b := l.read(first, temp0), l.read(first+1, temp1)
	l.binary(opMul, temp0, a, b, size)
	l.flags(flagsUnknown, number(0), number(0), 8)
	l.write(0, reg(temp0))
	return true
}

// other lifts what has no form of its own: what it reads is seen, what it
// writes is forgotten.
func (l *x86lift) other() {
	if l.harmless() {
		return
	}
	vector := false
	for i, a := range l.inst.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			l.read(i, temp0)
			if i == 0 {
				l.emit(uop{code: uForget, dst: temp0})
				l.write(0, reg(temp0))
			}
		case x86asm.Reg:
			n, _, _, ok := gpr(a)
			vector = vector || !ok
			if ok && i == 0 {
				l.emit(uop{code: uForget, dst: n})
			}
		}
	}
	if !vector {
		for _, r := range []register{rax, rcx, rdx, rsi, rdi, 11} { // string, wide and system instructions
			l.emit(uop{code: uForget, dst: r})
		}
		switch l.inst.Op {
		case x86asm.CPUID, x86asm.CMPXCHG8B, x86asm.CMPXCHG16B:
			l.emit(uop{code: uForget, dst: rbx})
		}
	}
	l.flags(flagsUnknown, number(0), number(0), 8)
}

// harmless tells of instructions that change no register.
func (l *x86lift) harmless() bool {
	switch l.inst.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.LFENCE, x86asm.MFENCE, x86asm.SFENCE, x86asm.CLD, x86asm.EMMS,
		x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2, x86asm.PREFETCHW,
		x86asm.FWAIT, x86asm.VZEROUPPER:
		return true
	}
	return false
}
