package accesspath

import "golang.org/x/arch/x86/x86asm"

// x86-64 registers by their number in an instruction.
const (
	rax register = 0
	rcx register = 1
	rdx register = 2
	rbx register = 3
	rsp register = 4
	rbp register = 5
	rsi register = 6
	rdi register = 7
)

// x86Convention is the System V calling convention.
var x86Convention = newConvention(convention{
	args:      []register{rdi, rsi, rdx, rcx, 8, 9},
	result:    rax,
	sp:        rsp,
	keep:      1<<rbx | 1<<rbp | 1<<rsp | 0xf<<12,
	linkBytes: 8,
	maxLength: 15,
})

// x86 reads x86-64 machine code.
type x86 struct{}

func (x86) convention() *convention { return x86Convention }

func (x86) lift(code []byte, pc uint64) (instruction, bool) {
	if len(code) >= 4 && string(code[:4]) == "\xf3\x0f\x1e\xfa" { // endbr64, which the decoder does not know
		return instruction{length: 4}, true
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Len <= 0 || inst.Len > len(code) {
		return instruction{}, false
	}
	l := x86lift{inst: inst, next: pc + uint64(inst.Len), uops: make([]uop, 0, 4)}
	l.lift()
	return instruction{length: inst.Len, uops: l.uops, tlsCall: inst.Op == x86asm.CALL && isTLSCall(code)}, true
}

// isTLSCall tells whether the call's encoding is that of the general-dynamic
// access sequence. The ABI for thread-local storage prescribes it to the byte,
// so that the linker can rewrite it; no other call is padded like this.
func isTLSCall(code []byte) bool {
	return len(code) >= 4 && (string(code[:4]) == "\x66\x66\x48\xe8" || string(code[:4]) == "\x66\x48\xff\x15")
}

// x86lift turns one instruction into micro-operations.
type x86lift struct {
	inst x86asm.Inst
	next uint64 // address of the following instruction
	uops []uop
}

func (l *x86lift) emit(u uop) { l.uops = append(l.uops, u) }

// set emits dst = a.
func (l *x86lift) set(dst register, a operand) { l.emit(uop{code: uSet, dst: dst, a: a, size: 8}) }

// binary emits dst = a op b in size bytes.
func (l *x86lift) binary(op operator, dst register, a, b operand, size uint8) {
	l.emit(uop{code: uBinary, op: op, dst: dst, a: a, b: b, size: size})
}

func (l *x86lift) flags(k flagKind, a, b operand, size uint8) {
	l.emit(uop{code: uFlags, flags: k, a: a, b: b, size: size})
}

// gpr splits a general register into its number and size; high tells of the
// second byte of a register (AH).
func gpr(r x86asm.Reg) (n register, size uint8, high, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return register(r - x86asm.AL), 1, false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return register(r - x86asm.AH), 1, true, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return register(r-x86asm.SPB) + 4, 1, false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return register(r - x86asm.AX), 2, false, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return register(r - x86asm.EAX), 4, false, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return register(r - x86asm.RAX), 8, false, true
	}
	return 0, 0, false, false
}

// size is the size of argument i in bytes; an immediate is as wide as the first
// argument.
func (l *x86lift) size(i int) uint8 {
	switch a := l.inst.Args[i].(type) {
	case x86asm.Reg:
		if _, n, _, ok := gpr(a); ok {
			return n
		}
	case x86asm.Mem:
		if l.inst.MemBytes > 0 && l.inst.MemBytes <= 64 {
			return uint8(l.inst.MemBytes)
		}
	case x86asm.Imm:
		if i > 0 {
			return l.size(0)
		}
	}
	return 8
}

// address emits dst = the address of a memory argument.
func (l *x86lift) address(dst register, m x86asm.Mem) {
	u := uop{code: uAddress, dst: dst, a: operand{reg: noReg}, b: operand{reg: noReg}, disp: uint64(m.Disp)}
	if uint64(m.Disp)>>32 == 0 {
		u.disp = extendWord(uint64(m.Disp), 4, true) // the decoder does not sign-extend one without a base, or relative to the instruction
	}
	switch m.Segment {
	case x86asm.FS:
		u.tls = true
	case x86asm.GS:
		l.emit(uop{code: uForget, dst: dst})
		return
	}
	switch n, _, _, ok := gpr(m.Base); {
	case m.Base == x86asm.RIP:
		u.a = absolute(l.next)
	case m.Base != 0 && ok:
		u.a = reg(n)
	}
	if n, _, _, ok := gpr(m.Index); m.Index != 0 && ok {
		u.b, u.scale = reg(n), m.Scale
	}
	l.emit(u)
}

// read emits what makes argument i available and gives the operand; temp is for
// its use. The operand's bits beyond the argument's size are not defined.
func (l *x86lift) read(i int, temp register) operand {
	switch a := l.inst.Args[i].(type) {
	case x86asm.Reg:
		n, _, high, ok := gpr(a)
		switch {
		case !ok:
			l.emit(uop{code: uForget, dst: temp})
		case high:
			l.binary(opShr, temp, reg(n), number(8), 8)
		default:
			return reg(n)
		}
	case x86asm.Mem:
		l.address(temp, a)
		l.emit(uop{code: uLoad, dst: temp, a: reg(temp), size: l.size(i)})
	case x86asm.Imm:
		return number(uint64(a))
	case x86asm.Rel:
		return absolute(l.next + uint64(int64(a)))
	default:
		l.emit(uop{code: uForget, dst: temp})
	}
	return reg(temp)
}

// write emits argument i = v.
func (l *x86lift) write(i int, v operand) {
	switch a := l.inst.Args[i].(type) {
	case x86asm.Reg:
		n, size, high, ok := gpr(a)
		switch {
		case !ok:
		case high:
			l.emit(uop{code: uForget, dst: n})
		case size >= 4:
			l.emit(uop{code: uSet, dst: n, a: v, size: size})
		default:
			l.emit(uop{code: uInsert, dst: n, a: v, size: size})
		}
	case x86asm.Mem:
		l.address(temp2, a)
		l.emit(uop{code: uStore, a: reg(temp2), b: v, size: l.size(i)})
	}
}
