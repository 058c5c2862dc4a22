package arch

import (
	"debug/elf"
	"runtime"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Facts describes an architecture and the binary interface of its programs on Linux, as far as other packages
// depend on it. They ask for a fact, never for the architecture itself.
type Facts struct {
	Machine  elf.Machine // in the headers of ELF files
	RegsSize int         // of user_regs_struct, in bytes

	// FP, SP and LR are the DWARF numbers of the frame pointer, the stack pointer and the link register. LR is
	// NoLinkRegister if a call pushes the return address. With a link register, a function with a frame saves it
	// above the caller's frame pointer, and has its locals on either side of both.
	FP, SP, LR int

	// ApartRegs is set if the thread pointer, the number of the system call and the mask of pointer
	// authentication are not in user_regs_struct, but in sets of their own.
	ApartRegs bool
	// CallArgs is set if a system call keeps its arguments in their registers. Else its result replaces the first.
	CallArgs bool
	// CallChanges are the DWARF numbers of the registers that a system call changes.
	CallChanges []int

	// HeaderSize is the number of bytes between the thread pointer and the executable's thread-local data above it
	// (variant I of the ELF TLS ABI); 0 if the data ends at the thread pointer (variant II).
	HeaderSize uint64
	// PthreadAtTP is set if the thread pointer is the pthread_t. Else it is above struct pthread.
	PthreadAtTP bool

	// GoArg is the DWARF number of the register with the first argument and the first result of a Go function, GoG
	// that of the register with the running goroutine. GoStackArgs is the distance of a Go function's arguments on the
	// stack from its caller's stack pointer, where a called function saves a link register.
	GoArg, GoG  int
	GoStackArgs uint64

	// JumpBuffer is the size of the C library's sigjmp_buf in bytes.
	JumpBuffer uint64

	// RedZone is the number of bytes below the stack pointer that a function may use.
	RedZone uint64

	// LinkedSearch is set if the functions of a runtime in an executable without symbols are found by their code.
	LinkedSearch bool
}

// NoLinkRegister is the value of Facts.LR without a link register.
const NoLinkRegister = -1

var facts = map[callbacks.Arch]*Facts{
	callbacks.ArchX86_64: {
		Machine: elf.EM_X86_64, RegsSize: x86RegsSize,
		FP: callbacks.X86RBP, SP: callbacks.X86RSP, LR: NoLinkRegister,
		CallArgs: true, CallChanges: []int{x86RAX, x86RCX, x86R11},
		GoArg: x86RAX, GoG: x86R14,
		PthreadAtTP: true, JumpBuffer: 200, RedZone: 128, LinkedSearch: true,
	},
	callbacks.ArchAArch64: {
		Machine: elf.EM_AARCH64, RegsSize: arm64RegsSize,
		FP: callbacks.AArch64FP, SP: callbacks.AArch64SP, LR: callbacks.AArch64LR,
		ApartRegs: true, CallChanges: []int{0},
		GoArg: 0, GoG: 28, GoStackArgs: 8,
		HeaderSize: 16, JumpBuffer: 312,
	},
}

// DWARF numbers of registers of x86-64.
const x86RAX, x86RCX, x86R11, x86R14 = 0, 2, 11, 14

var unknown = &Facts{LR: NoLinkRegister}

// Of returns the facts of an architecture. Those of an unknown one are zero, except LR.
func Of(a callbacks.Arch) *Facts {
	if f := facts[a]; f != nil {
		return f
	}
	return unknown
}

// HasLinkRegister reports whether a call puts its return address into a register.
func (f *Facts) HasLinkRegister() bool { return f.LR != NoLinkRegister }

// GoFrame returns the distances of a Go function's return address, and of the stack pointer before its call, from its
// stack pointer, by the number of bytes that it has on the stack. With a link register and none, the address is there.
func (f *Facts) GoFrame(depth uint64) (ret, cfa uint64) {
	if f.HasLinkRegister() {
		return 0, depth
	}
	return depth, depth + 8
}

// OfMachine returns the architecture of an ELF file; ArchUnknown if this module does not support it.
func OfMachine(m elf.Machine) callbacks.Arch {
	for a, f := range facts {
		if f.Machine == m {
			return a
		}
	}
	return callbacks.ArchUnknown
}

// Host returns the architecture for which this program was built, which is that of the processes it can read.
func Host() callbacks.Arch {
	return map[string]callbacks.Arch{"amd64": callbacks.ArchX86_64, "arm64": callbacks.ArchAArch64}[runtime.GOARCH]
}
