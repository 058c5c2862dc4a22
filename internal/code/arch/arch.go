// Package arch reads machine state and single instructions: it decodes the registers that the kernel saves,
// names system calls, and reads the few instructions around a call. Package lift decodes code to be executed or
// analyzed.
//
// Support for x86-64 is complete. On aarch64, registers, calls and PLT stubs are supported; the rest is reported
// as unknown.
package arch

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Sizes of user_regs_struct in bytes, as in NT_PRSTATUS and PTRACE_GETREGSET.
const (
	x86RegsSize   = 27 * 8
	arm64RegsSize = 34 * 8
)

// Words of user_regs_struct on x86-64 without a DWARF number of an integer register.
const (
	x86WordOrigRAX = 15
	x86WordFlags   = 18
	x86WordFSBase  = 21
)

// x86Words contains the index in user_regs_struct of each DWARF register number.
var x86Words = [...]int{
	10, 12, 11, 5, 13, 14, 4, 19, // rax rdx rcx rbx rsi rdi rbp rsp
	9, 8, 7, 6, 3, 2, 1, 0, // r8 … r15
	16, // rip
}

// FromUserRegs decodes user_regs_struct, the general-purpose registers of a thread in NT_PRSTATUS and
// PTRACE_GETREGSET, to DWARF numbers.
//
// On x86-64, Syscall is orig_rax: the number of the system call in which the thread was stopped or that just
// returned; -1 in user code. On aarch64, the kernel saves the thread pointer, the system call and the PAC mask
// in separate notes, and the caller adds them (SetSyscall). Bytes after the structure are ignored.
func FromUserRegs(a callbacks.Arch, b []byte) (callbacks.Registers, error) {
	switch a {
	case callbacks.ArchX86_64:
		if len(b) < x86RegsSize {
			return callbacks.Registers{}, shortRegs(a, len(b), x86RegsSize)
		}
		return x86Registers(b), nil
	case callbacks.ArchAArch64:
		if len(b) < arm64RegsSize {
			return callbacks.Registers{}, shortRegs(a, len(b), arm64RegsSize)
		}
		return arm64Registers(b), nil
	}
	return callbacks.Registers{}, fmt.Errorf("registers: architecture %v is not supported", a)
}

func shortRegs(a callbacks.Arch, have, want int) error {
	return fmt.Errorf("registers: %d bytes of general-purpose registers, %v has %d", have, a, want)
}

func word(b []byte, i int) uint64 { return callbacks.Word(b[i*8 : i*8+8]) }

func x86Registers(b []byte) callbacks.Registers {
	r := callbacks.Registers{Arch: callbacks.ArchX86_64}
	for n, w := range x86Words {
		r.Set(n, word(b, w))
	}
	r.ThreadPointer, r.Flags = word(b, x86WordFSBase), word(b, x86WordFlags)
	SetSyscall(&r, int64(word(b, x86WordOrigRAX)))
	return r
}

func arm64Registers(b []byte) callbacks.Registers {
	r := callbacks.Registers{Arch: callbacks.ArchAArch64, Syscall: -1}
	for n := range callbacks.AArch64PC + 1 { // x0 … x30, sp, pc; then pstate
		r.Set(n, word(b, n))
	}
	r.Flags = word(b, callbacks.AArch64PC+1) | arm64FlagsKnown
	return r
}

// syscallArgs are the DWARF numbers of the argument registers of a system call.
var (
	x86SyscallArgs   = [6]int{5, 4, 1, 10, 8, 9} // rdi rsi rdx r10 r8 r9
	arm64SyscallArgs = [6]int{0, 1, 2, 3, 4, 5}
)

// arm64Number is the register of a system call's number.
const arm64Number = 8

// SetSyscall records that the thread with registers r is in system call n, or in user code if n is negative. It
// takes the arguments from r. On aarch64 the result overwrites the first argument when the call is interrupted.
func SetSyscall(r *callbacks.Registers, n int64) {
	r.Syscall, r.SyscallArgs = max(n, -1), [6]uint64{}
	if n < 0 {
		return
	}
	regs := x86SyscallArgs
	if r.Arch == callbacks.ArchAArch64 {
		regs = arm64SyscallArgs
	}
	for i, reg := range regs {
		r.SyscallArgs[i] = r.Values[reg]
	}
}
