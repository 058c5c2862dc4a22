package arch

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// SyscallCode is how much code before the PC SyscallBefore looks at, in bytes.
const SyscallCode = 32

// SyscallBefore reads from the code that ends at the PC of a thread which system call
// the thread is inside of, where the kernel's word for it is not at hand: the result
// register says that one was interrupted, and the instructions before it loaded the
// number, as a constant or from a register that still has it. It is not ok if they
// do not tell, and always on aarch64.
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
		if at > 0 && code[at-1]&0xf0 == 0x40 { // a prefix that chooses other registers
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

// operandValue returns the value of an operand, if the registers still have it.
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

// keepsRAX reports whether code is whole instructions that go straight on and leave rax
// alone.
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
