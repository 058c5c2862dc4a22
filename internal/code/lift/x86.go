package lift

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// x86-64 registers by their number in an instruction.
const (
	rax Register = 0
	rcx Register = 1
	rdx Register = 2
	rbx Register = 3
	rsp Register = 4
	rbp Register = 5
	rsi Register = 6
	rdi Register = 7
)

// x86Convention is the System V calling convention.
var x86Convention = &Convention{
	Args:      []Register{rdi, rsi, rdx, rcx, 8, 9},
	Result:    rax,
	SP:        rsp,
	Keep:      1<<rbx | 1<<rbp | 1<<rsp | 0xf<<12,
	General:   16,
	LinkBytes: 8,
	VectorsAt: 160, VectorCount: 16, // the layout of FXSAVE
	MaxLength: 15,
	DWARF:     []int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15},
}

// x86 decodes x86-64 machine code.
type x86 struct{}

func (x86) Convention() *Convention { return x86Convention }

func (x86) Lift(code []byte, pc uint64, room []Uop) (Instruction, bool) {
	if len(code) >= 4 && string(code[:4]) == "\xf3\x0f\x1e\xfa" { // endbr64, which x86asm does not know
		return Instruction{Length: 4}, true
	}
	if len(code) >= 3 && code[0] == 0xc5 && code[1]&0xfb == 0xf8 && code[2] == 0x77 { // x86asm decodes 4 bytes
		if code[1]&4 == 0 { // vzeroupper
			return Instruction{Length: 3}, true
		}
		return Instruction{Length: 3, Uops: append(room, Uop{Code: UopForgetVector, Vector: AllVectors})}, true
	}
	prefixes, vex := vexPrefixes(code)
	inst, err := x86asm.Decode(code[prefixes:], 64)
	if err != nil || inst.Len <= 0 || inst.Len > len(code)-prefixes {
		return Instruction{}, false
	}
	if inst.Len += prefixes; vex != 0 {
		completeVEX(&inst, code, prefixes)
	}
	l := x86lift{inst: inst, next: pc + uint64(inst.Len), uops: room, evex: vex == evexPrefix}
	l.lift()
	return Instruction{
		Length: inst.Len, Uops: l.uops, TLSCall: inst.Op == x86asm.CALL && isTLSCall(code),
		Locked: isLocked(&inst), Partial: l.partial,
	}, true
}

// isLocked reports whether the instruction changes memory atomically. XCHG does so without a prefix. CMPXCHG
// without a prefix counts too: code for one processor uses it.
func isLocked(in *x86asm.Inst) bool {
	return in.Op == x86asm.XCHG || in.Op == x86asm.CMPXCHG || hasPrefix(in, x86asm.PrefixLOCK)
}

func hasPrefix(in *x86asm.Inst, prefix x86asm.Prefix) bool {
	return slices.ContainsFunc(in.Prefix[:], func(p x86asm.Prefix) bool { return p&0xff == prefix })
}

// isTLSCall reports whether the call is encoded as in the general-dynamic access sequence. The ABI for
// thread-local storage prescribes each byte, so that the linker can rewrite it; no other call has this padding.
func isTLSCall(code []byte) bool {
	return len(code) >= 4 && (string(code[:4]) == "\x66\x66\x48\xe8" || string(code[:4]) == "\x66\x48\xff\x15")
}

// x86lift turns one instruction into micro-operations.
type x86lift struct {
	inst x86asm.Inst
	next uint64 // address of the following instruction
	uops []Uop
	evex bool // it can have a mask

	partial bool // see Instruction
}

// evexPrefix is the first byte of an instruction of AVX-512.
const evexPrefix = 0x62

func (l *x86lift) emit(u Uop) { l.uops = append(l.uops, u) }

// set emits dst = a.
func (l *x86lift) set(dst Register, a Operand) { l.emit(Uop{Code: UopSet, Dst: dst, A: a, Size: 8}) }

// binary emits dst = a op b in size bytes.
func (l *x86lift) binary(op Operator, dst Register, a, b Operand, size uint8) {
	l.emit(Uop{Code: UopBinary, Op: op, Dst: dst, A: a, B: b, Size: size})
}

func (l *x86lift) flags(k FlagKind, a, b Operand, size uint8) {
	l.emit(Uop{Code: UopFlags, Flags: k, A: a, B: b, Size: size})
}

// gpr splits a general register into its number and size; high is set for the second byte of a register (such as
// AH).
func gpr(r x86asm.Reg) (n Register, size uint8, high, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return Register(r - x86asm.AL), 1, false, true
	case r >= x86asm.AH && r <= x86asm.BH:
		return Register(r - x86asm.AH), 1, true, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return Register(r-x86asm.SPB) + 4, 1, false, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return Register(r - x86asm.AX), 2, false, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return Register(r - x86asm.EAX), 4, false, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return Register(r - x86asm.RAX), 8, false, true
	}
	return 0, 0, false, false
}

// size returns the size of argument i in bytes; an immediate has the size of the first argument.
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
func (l *x86lift) address(dst Register, m x86asm.Mem) {
	u := Uop{Code: UopAddress, Dst: dst, A: Operand{Reg: noReg}, B: Operand{Reg: noReg}, Disp: uint64(m.Disp)}
	if uint64(m.Disp)>>32 == 0 {
		// x86asm does not sign-extend a displacement without a base, or relative to the instruction.
		u.Disp = ExtendWord(uint64(m.Disp), 4, true)
	}
	switch m.Segment {
	case x86asm.FS:
		u.TLS = true
	case x86asm.GS:
		l.emit(Uop{Code: UopForget, Dst: dst})
		return
	}
	switch n, _, _, ok := gpr(m.Base); {
	case m.Base == x86asm.RIP:
		u.A = absolute(l.next)
	case m.Base != 0 && ok:
		u.A = reg(n)
	}
	if n, _, _, ok := gpr(m.Index); m.Index != 0 && ok {
		u.B, u.Scale = reg(n), m.Scale
	}
	l.emit(u)
}

// read emits the computation of argument i and returns the operand; it may use temp. The operand's bits beyond
// the argument's size are undefined.
func (l *x86lift) read(i int, temp Register) Operand {
	switch a := l.inst.Args[i].(type) {
	case x86asm.Reg:
		n, _, high, ok := gpr(a)
		switch {
		case !ok:
			l.emit(Uop{Code: UopForget, Dst: temp})
		case high:
			l.binary(OpShr, temp, reg(n), number(8), 8)
		default:
			return reg(n)
		}
	case x86asm.Mem:
		l.address(temp, a)
		l.emit(Uop{Code: UopLoad, Dst: temp, A: reg(temp), Size: l.size(i)})
	case x86asm.Imm:
		return number(uint64(a))
	case x86asm.Rel:
		return absolute(l.next + uint64(int64(a)))
	default:
		l.emit(Uop{Code: UopForget, Dst: temp})
	}
	return reg(temp)
}

// write emits argument i = v.
func (l *x86lift) write(i int, v Operand) {
	switch a := l.inst.Args[i].(type) {
	case x86asm.Reg:
		n, size, high, ok := gpr(a)
		switch {
		case !ok:
		case high:
			l.emit(Uop{Code: UopForget, Dst: n})
		case size >= 4:
			l.emit(Uop{Code: UopSet, Dst: n, A: v, Size: size})
		default:
			l.emit(Uop{Code: UopInsert, Dst: n, A: v, Size: size})
		}
	case x86asm.Mem:
		l.address(temp2, a)
		l.emit(Uop{Code: UopStore, A: reg(temp2), B: v, Size: l.size(i)})
	}
}
