package lift

import "golang.org/x/arch/x86/x86asm"

// x86Arithmetic contains the two-operand instructions that write their first operand.
var x86Arithmetic = map[x86asm.Op]struct {
	op    Operator
	flags FlagKind
}{
	x86asm.ADD: {OpAdd, FlagsResult},
	x86asm.SUB: {OpSub, FlagsCompare},
	x86asm.AND: {OpAnd, FlagsLogic},
	x86asm.OR:  {OpOr, FlagsLogic},
	x86asm.XOR: {OpXor, FlagsLogic},
	x86asm.SHL: {OpShl, FlagsResult},
	x86asm.SHR: {OpShr, FlagsResult},
	x86asm.SAR: {OpSar, FlagsResult},
}

// x86Conditions contains the tests of the conditional instructions.
var x86Conditions = map[x86asm.Op]Condition{
	x86asm.JE: {Op: EQ}, x86asm.SETE: {Op: EQ}, x86asm.CMOVE: {Op: EQ},
	x86asm.JNE: {Op: NE}, x86asm.SETNE: {Op: NE}, x86asm.CMOVNE: {Op: NE},
	x86asm.JL: {Op: LT}, x86asm.SETL: {Op: LT}, x86asm.CMOVL: {Op: LT},
	x86asm.JGE: {Op: GE}, x86asm.SETGE: {Op: GE}, x86asm.CMOVGE: {Op: GE},
	x86asm.JLE: {Op: LE}, x86asm.SETLE: {Op: LE}, x86asm.CMOVLE: {Op: LE},
	x86asm.JG: {Op: GT}, x86asm.SETG: {Op: GT}, x86asm.CMOVG: {Op: GT},
	x86asm.JB: {Op: NE, Bit: true}, x86asm.SETB: {Op: NE, Bit: true}, x86asm.CMOVB: {Op: NE, Bit: true},
	x86asm.JAE: {Op: EQ, Bit: true}, x86asm.SETAE: {Op: EQ, Bit: true}, x86asm.CMOVAE: {Op: EQ, Bit: true},
	x86asm.JBE: {Op: ULE}, x86asm.SETBE: {Op: ULE}, x86asm.CMOVBE: {Op: ULE},
	x86asm.JA: {Op: UGT}, x86asm.SETA: {Op: UGT}, x86asm.CMOVA: {Op: UGT},
	x86asm.JS: {Op: LT, Sign: true}, x86asm.SETS: {Op: LT, Sign: true}, x86asm.CMOVS: {Op: LT, Sign: true},
	x86asm.JNS: {Op: GE, Sign: true}, x86asm.SETNS: {Op: GE, Sign: true}, x86asm.CMOVNS: {Op: GE, Sign: true},
	x86asm.JP: {Flag: FlagParity}, x86asm.SETP: {Flag: FlagParity}, x86asm.CMOVP: {Flag: FlagParity},
	x86asm.JNP: {Flag: FlagParity, Clear: true}, x86asm.SETNP: {Flag: FlagParity, Clear: true},
	x86asm.CMOVNP: {Flag: FlagParity, Clear: true},
	x86asm.JO:     {Flag: FlagOverflow}, x86asm.SETO: {Flag: FlagOverflow}, x86asm.CMOVO: {Flag: FlagOverflow},
	x86asm.JNO: {Flag: FlagOverflow, Clear: true}, x86asm.SETNO: {Flag: FlagOverflow, Clear: true},
	x86asm.CMOVNO: {Flag: FlagOverflow, Clear: true},
	x86asm.JRCXZ:  {}, x86asm.JECXZ: {}, x86asm.LOOP: {}, x86asm.LOOPE: {}, x86asm.LOOPNE: {},
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
	if !l.move() && !l.control() && !l.compare() && !l.exchange() && !l.float() {
		l.other()
	}
}

// conditional lifts Jcc, SETcc and CMOVcc.
func (l *x86lift) conditional(cc Condition) {
	switch target := l.inst.Args[0].(type) {
	case x86asm.Rel:
		if l.inst.Op == x86asm.LOOP || l.inst.Op == x86asm.LOOPE || l.inst.Op == x86asm.LOOPNE { // they decrement rcx
			l.emit(Uop{Code: UopForget, Dst: rcx})
		}
		l.emit(Uop{Code: UopBranch, CC: cc, A: absolute(l.next + uint64(int64(target)))})
		return
	}
	if l.inst.Args[1] == nil {
		l.emit(Uop{Code: UopSetIf, CC: cc, Dst: Temp0})
		l.write(0, reg(Temp0))
		return
	}
	yes, no := l.read(1, temp1), l.read(0, Temp0)
	l.emit(Uop{Code: UopSelect, CC: cc, Dst: Temp0, A: yes, B: no, Size: l.size(0)})
	l.write(0, reg(Temp0))
}

// arithmetic lifts an instruction that writes (first op second) to its first argument.
func (l *x86lift) arithmetic(op Operator, flags FlagKind) {
	size := l.size(0)
	a, b := l.read(0, Temp0), l.read(1, temp1)
	if op == OpShl || op == OpShr || op == OpSar {
		l.binary(OpAnd, temp1, b, number(max(32, uint64(size)*8)-1), 8)
		b = reg(temp1)
	}
	if flags == FlagsCompare {
		l.flags(flags, a, b, size)
	}
	l.binary(op, Temp0, a, b, size)
	if flags != FlagsCompare {
		l.flags(flags, reg(Temp0), number(0), size)
	}
	l.write(0, reg(Temp0))
}

// move lifts instructions that copy, extend, push or pop. It reports whether the instruction is one of them.
func (l *x86lift) move() bool {
	switch l.inst.Op {
	case x86asm.MOV, x86asm.MOVNTI:
		l.write(0, l.read(1, Temp0))
	case x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD:
		v := l.read(1, Temp0)
		l.emit(Uop{Code: UopSet, Dst: Temp0, A: v, Size: l.size(1), Signed: l.inst.Op != x86asm.MOVZX})
		l.write(0, reg(Temp0))
	case x86asm.LEA:
		if m, ok := l.inst.Args[1].(x86asm.Mem); ok {
			m.Segment = 0
			l.address(Temp0, m)
			l.write(0, reg(Temp0))
		}
	case x86asm.CDQE:
		l.emit(Uop{Code: UopSet, Dst: rax, A: reg(rax), Size: 4, Signed: true})
	case x86asm.CWDE:
		l.emit(Uop{Code: UopSet, Dst: Temp0, A: reg(rax), Size: 2, Signed: true})
		l.emit(Uop{Code: UopSet, Dst: rax, A: reg(Temp0), Size: 4})
	case x86asm.CDQ:
		l.binary(OpSar, rdx, reg(rax), number(31), 4)
	case x86asm.CQO:
		l.binary(OpSar, rdx, reg(rax), number(63), 8)
	case x86asm.PUSH:
		l.set(Temp0, l.read(0, Temp0))
		l.binary(OpSub, rsp, reg(rsp), number(8), 8)
		l.emit(Uop{Code: UopPush, A: reg(rsp), B: reg(Temp0), Size: 8})
	case x86asm.POP:
		l.pop(Temp0)
		l.write(0, reg(Temp0))
	case x86asm.PUSHFQ:
		l.emit(Uop{Code: UopForget, Dst: Temp0})
		l.binary(OpSub, rsp, reg(rsp), number(8), 8)
		l.emit(Uop{Code: UopPush, A: reg(rsp), B: reg(Temp0), Size: 8})
	case x86asm.POPFQ:
		l.pop(Temp0)
		l.flags(FlagsUnknown, number(0), number(0), 8)
	case x86asm.SHLX:
		l.shift(OpShl)
	case x86asm.SHRX:
		l.shift(OpShr)
	case x86asm.SARX:
		l.shift(OpSar)
	case x86asm.LEAVE:
		l.set(rsp, reg(rbp))
		l.pop(rbp)
	default:
		return false
	}
	return true
}

func (l *x86lift) pop(dst Register) {
	l.emit(Uop{Code: UopLoad, Dst: dst, A: reg(rsp), Size: 8})
	l.binary(OpAdd, rsp, reg(rsp), number(8), 8)
}

// exchange lifts XCHG, XADD and CMPXCHG with a memory operand.
func (l *x86lift) exchange() bool {
	switch l.inst.Op {
	case x86asm.XCHG:
		l.set(Temp0, l.read(0, Temp0))
		l.set(temp1, l.read(1, temp1))
		l.write(0, reg(temp1))
		l.write(1, reg(Temp0))
	case x86asm.XADD:
		l.set(Temp0, l.read(0, Temp0))
		l.binary(OpAdd, temp1, reg(Temp0), l.read(1, temp1), l.size(0))
		l.flags(FlagsResult, reg(temp1), number(0), l.size(0))
		l.write(0, reg(temp1))
		l.write(1, reg(Temp0))
	case x86asm.CMPXCHG:
		return l.compareExchange()
	default:
		return false
	}
	return true
}

// compareExchange lifts CMPXCHG with a memory operand: the low part of RAX is compared with it. If they differ,
// RAX becomes the content of memory; setting it is harmless if they are equal.
func (l *x86lift) compareExchange() bool {
	m, ok := l.inst.Args[0].(x86asm.Mem)
	if !ok {
		return false
	}
	size := l.size(0)
	value := l.read(1, Temp0)
	l.address(temp2, m)
	l.set(temp1, reg(rax))
	l.emit(Uop{Code: UopExchange, Dst: temp1, A: reg(temp2), B: value, Size: size})
	l.flags(FlagsCompare, reg(rax), reg(temp1), size)
	if size >= 4 {
		l.set(rax, reg(temp1))
	} else {
		l.emit(Uop{Code: UopInsert, Dst: rax, A: reg(temp1), Size: size})
	}
	return true
}

// control lifts jumps, calls, system calls and traps.
func (l *x86lift) control() bool {
	switch l.inst.Op {
	case x86asm.SYSCALL: // it overwrites RCX with the return address, and R11 with the flags
		l.emit(Uop{Code: UopSyscall, Dst: rax})
		l.emit(Uop{Code: UopForget, Dst: rcx})
		l.emit(Uop{Code: UopForget, Dst: 11})
		l.flags(FlagsUnknown, number(0), number(0), 8)
	case x86asm.JMP:
		l.emit(Uop{Code: UopJump, A: l.read(0, Temp0)})
	case x86asm.CALL:
		l.emit(Uop{Code: UopCall, A: l.read(0, Temp0)})
	case x86asm.RET:
		l.emit(Uop{Code: UopReturn})
	case x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.INT, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.LCALL, x86asm.LJMP, x86asm.SYSRET, x86asm.SYSEXIT, x86asm.ENTER:
		l.emit(Uop{Code: UopStop})
	default:
		return false
	}
	return true
}

// compare lifts the instructions that only set flags, and the arithmetic with one argument.
func (l *x86lift) compare() bool {
	size := l.size(0)
	switch l.inst.Op {
	case x86asm.CMP:
		a, b := l.read(0, Temp0), l.read(1, temp1)
		l.flags(FlagsCompare, a, b, size)
	case x86asm.TEST:
		a, b := l.read(0, Temp0), l.read(1, temp1)
		l.binary(OpAnd, Temp0, a, b, size)
		l.flags(FlagsLogic, reg(Temp0), number(0), size)
	case x86asm.BT:
		a, b := l.read(0, Temp0), l.read(1, temp1)
		l.binary(OpAnd, temp1, b, number(uint64(size)*8-1), 8)
		l.flags(FlagsBit, a, reg(temp1), size)
	case x86asm.INC:
		l.binary(OpAdd, Temp0, l.read(0, Temp0), number(1), size)
		l.flags(FlagsResult, reg(Temp0), number(0), size)
		l.write(0, reg(Temp0))
	case x86asm.DEC:
		a := l.read(0, Temp0)
		l.flags(FlagsCompare, a, number(1), size)
		l.binary(OpSub, Temp0, a, number(1), size)
		l.write(0, reg(Temp0))
	case x86asm.NEG:
		a := l.read(0, Temp0)
		l.flags(FlagsCompare, number(0), a, size)
		l.binary(OpSub, Temp0, number(0), a, size)
		l.write(0, reg(Temp0))
	case x86asm.NOT:
		l.binary(OpXor, Temp0, l.read(0, Temp0), number(^uint64(0)), size)
		l.write(0, reg(Temp0))
	case x86asm.IMUL:
		return l.multiply(size)
	case x86asm.IDIV, x86asm.DIV:
		return l.divide(size)
	case x86asm.ADC, x86asm.SBB:
		l.withCarry(size)
	default:
		return false
	}
	return true
}

// withCarry lifts an addition or subtraction with carry.
func (l *x86lift) withCarry(size uint8) {
	op := OpAdd
	if l.inst.Op == x86asm.SBB {
		op = OpSub
	}
	a, b := l.read(0, Temp0), l.read(1, temp1)
	l.binary(op, Temp0, a, b, size)
	l.emit(Uop{Code: UopSetIf, CC: Condition{Op: NE, Bit: true}, Dst: temp1})
	l.binary(op, Temp0, reg(Temp0), reg(temp1), size)
	l.flags(FlagsResult, reg(Temp0), number(0), size)
	l.write(0, reg(Temp0))
}

// shift lifts the three-argument shifts, which keep the flags.
func (l *x86lift) shift(op Operator) {
	size := l.size(0)
	a, b := l.read(1, Temp0), l.read(2, temp1)
	l.binary(OpAnd, temp1, b, number(uint64(size)*8-1), 8)
	l.binary(op, Temp0, a, reg(temp1), size)
	l.write(0, reg(Temp0))
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
	a, b := l.read(first, Temp0), l.read(first+1, temp1)
	l.binary(OpMul, Temp0, a, b, size)
	l.flags(FlagsUnknown, number(0), number(0), 8)
	l.write(0, reg(Temp0))
	return true
}

// divide lifts the division of the 8 bytes in EDX and EAX by 4 bytes, and of RAX by 8 bytes if RDX is only its
// sign extension, as in compiled code.
func (l *x86lift) divide(size uint8) bool {
	quotient, rest, sign := OpUdiv, OpUrem, number(0)
	signed := l.inst.Op == x86asm.IDIV
	if signed {
		quotient, rest, sign = OpDiv, OpRem, reg(temp1)
	}
	divisor := l.read(0, Temp0)
	switch size {
	case 4:
		l.emit(Uop{Code: UopSet, Dst: Temp0, A: divisor, Size: 4, Signed: signed})
		l.binary(OpShl, temp1, reg(rdx), number(32), 8)
		l.emit(Uop{Code: UopSet, Dst: temp2, A: reg(rax), Size: 4})
		l.binary(OpOr, temp1, reg(temp1), reg(temp2), 8)
		l.binary(quotient, rax, reg(temp1), reg(Temp0), 4)
		l.binary(rest, rdx, reg(temp1), reg(Temp0), 4)
	case 8:
		l.set(Temp0, divisor)
		if signed {
			l.binary(OpSar, temp1, reg(rax), number(63), 8)
		}
		l.flags(FlagsCompare, reg(rdx), sign, 8)
		l.binary(quotient, temp1, reg(rax), reg(Temp0), 8)
		l.binary(rest, temp2, reg(rax), reg(Temp0), 8)
		l.emit(Uop{Code: UopForget, Dst: rax})
		l.emit(Uop{Code: UopForget, Dst: rdx})
		l.emit(Uop{Code: UopSkip, CC: Condition{Op: NE}, Scale: 2})
		l.set(rax, reg(temp1))
		l.set(rdx, reg(temp2))
	default:
		return false
	}
	l.flags(FlagsUnknown, number(0), number(0), 8)
	return true
}

// other lifts all remaining instructions: it emits their reads and makes their results unknown.
func (l *x86lift) other() {
	if l.harmless() {
		return
	}
	l.forgetResults()
	vector := false
	for i, a := range l.inst.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			l.read(i, Temp0)
			if i == 0 {
				l.partial = l.inst.MemBytes == 0 || l.inst.MemBytes > 64 || l.isString()
				l.emit(Uop{Code: UopForget, Dst: Temp0})
				l.write(0, reg(Temp0))
			}
		case x86asm.Reg:
			n, _, _, ok := gpr(a)
			vector = vector || !ok
			if ok && i == 0 {
				l.emit(Uop{Code: UopForget, Dst: n})
			}
		}
	}
	if !vector {
		for _, r := range []Register{rax, rcx, rdx, rsi, rdi, 11} { // string, wide and system instructions
			l.emit(Uop{Code: UopForget, Dst: r})
		}
		switch l.inst.Op {
		case x86asm.CPUID, x86asm.CMPXCHG8B, x86asm.CMPXCHG16B:
			l.emit(Uop{Code: UopForget, Dst: rbx})
		}
	}
	l.flags(FlagsUnknown, number(0), number(0), 8)
}

// isString reports whether a repeat prefix makes the instruction write memory repeatedly.
func (l *x86lift) isString() bool {
	switch l.inst.Op {
	case x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ, x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ,
		x86asm.INSB, x86asm.INSW, x86asm.INSD:
		return true
	}
	return false
}

// harmless reports whether an instruction changes no register.
func (l *x86lift) harmless() bool {
	switch l.inst.Op {
	case x86asm.NOP, x86asm.PAUSE, x86asm.LFENCE, x86asm.MFENCE, x86asm.SFENCE, x86asm.CLD, x86asm.EMMS,
		x86asm.PREFETCHNTA, x86asm.PREFETCHT0, x86asm.PREFETCHT1, x86asm.PREFETCHT2, x86asm.PREFETCHW,
		x86asm.FWAIT, x86asm.VZEROUPPER:
		return true
	}
	return false
}
