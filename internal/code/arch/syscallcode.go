package arch

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// SyscallCode is the number of bytes before the PC that SyscallBefore needs.
const SyscallCode = 32

// SyscallCodeBefore returns the address of the code that SyscallBefore needs, from the registers of a thread by DWARF
// number. It is not ok for an architecture on which SyscallBefore never succeeds.
func SyscallCodeBefore(a callbacks.Arch, values map[uint32]uint64) (low uint64, ok bool) {
	pc := values[callbacks.X86RIP]
	return pc - SyscallCode, a == callbacks.ArchX86_64 && pc > SyscallCode
}

// SyscallBefore finds the system call that a thread is in, if the kernel's record is missing. code ends at the
// PC of the thread. The result register must show an interrupted call, and the preceding instructions must load
// the number, as a constant or from a register that still contains it. It is never ok on aarch64.
func SyscallBefore(r *callbacks.Registers, code []byte) (number int64, ok bool) {
	end := len(code) - 2 // syscall
	if r.Arch != callbacks.ArchX86_64 || end < 0 || code[end] != 0x0f || code[end+1] != 0x05 {
		return 0, false
	}
	inside := *r
	if inside.Syscall = 0; !InCall(&inside) {
		return 0, false
	}
	for at := end - 2; at >= 0; at-- {
		if at > 0 && code[at-1]&0xf0 == 0x40 { // a prefix that selects other registers
			continue
		}
		i, err := decode(code[at:end])
		if err != nil || i.Op != x86asm.MOV || at+i.Len > end {
			continue
		}
		to, isReg := i.Args[0].(x86asm.Reg)
		if !isReg || fullRegister(to) != x86asm.RAX || !keepsRAX(code[at+i.Len:end]) {
			continue
		}
		n, known := operandValue(r, i.Args[1])
		_, listed := x86Syscalls[n]
		return n, known && listed
	}
	return 0, false
}

// operandValue returns the value of an operand, if the registers still contain it.
func operandValue(r *callbacks.Registers, a x86asm.Arg) (int64, bool) {
	switch a := a.(type) {
	case x86asm.Imm:
		return int64(a), true
	case x86asm.Reg:
		// The system call itself changes rax, rcx and r11.
		if from := fullRegister(a); from != x86asm.RAX && from != x86asm.RCX && from != x86asm.R11 {
			v, ok := r.Get(dwarfOf(from))
			return int64(v & 0xffffffff), ok
		}
	}
	return 0, false
}

// keepsRAX reports whether code consists of whole instructions that do not branch and do not change rax.
func keepsRAX(code []byte) bool {
	for len(code) > 0 {
		d, err := decode(code)
		i := inst{Inst: d}
		if err != nil || endsBlock(&i) || effectOn(&i, x86asm.RAX) {
			return false
		}
		code = code[d.Len:]
	}
	return true
}
