package arch

import (
	"bytes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// CallerSaved returns the set of registers that a called function may overwrite (System V ABI, AAPCS64), as bits
// by DWARF number.
func CallerSaved(a callbacks.Arch) uint64 {
	if a == callbacks.ArchAArch64 {
		return 1<<18 - 1 // x0 … x17
	}
	return 1<<0 | 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<10 | 1<<11 // rax rdx rcx rsi rdi r8 … r11
}

// FramePointer returns the DWARF number of the frame pointer. It points to the caller's frame pointer, followed
// by the return address.
func FramePointer(a callbacks.Arch) int {
	if a == callbacks.ArchAArch64 {
		return callbacks.AArch64FP
	}
	return callbacks.X86RBP
}

// sigreturns are the instructions by which signal handlers return to the kernel: rt_sigreturn.
var (
	x86Sigreturns = [][]byte{
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, // mov $15, %rax; syscall (glibc, musl, Go)
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},             // mov $15, %eax; syscall
	}
	arm64Sigreturn = []byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4} // mov x8, #139; svc #0
)

// IsSigreturn reports whether the code at pc is a trampoline to which signal handlers return. pc may also be at
// its system call.
func IsSigreturn(a callbacks.Arch, mem callbacks.Memory, pc uint64) bool {
	forms := x86Sigreturns
	svc := 2
	if a == callbacks.ArchAArch64 {
		forms, svc = [][]byte{arm64Sigreturn}, 4
	}
	for _, form := range forms {
		for _, back := range []int{0, len(form) - svc} {
			code := readFrom(mem, pc-uint64(back), len(form))
			if bytes.Equal(code, form) {
				return true
			}
		}
	}
	return false
}

// Saved is a register that the kernel saved on the stack.
type Saved struct {
	Register int    // DWARF number
	Offset   uint64 // from the stack pointer
}

// SignalFrame returns the places of the registers of the interrupted code, relative to the stack pointer in the
// trampoline recognized by IsSigreturn.
func SignalFrame(a callbacks.Arch) []Saved {
	if a == callbacks.ArchAArch64 {
		return arm64SignalFrame()
	}
	return x86SignalFrame[:]
}

// On x86-64 the stack pointer points to ucontext_t; its gregs start at offset 40.
var x86SignalFrame = [...]Saved{
	{8, 40}, {9, 48}, {10, 56}, {11, 64}, {12, 72}, {13, 80}, {14, 88}, {15, 96}, {5, 104}, {4, 112},
	{6, 120}, {3, 128}, {1, 136}, {0, 144}, {2, 152}, {7, 160}, {16, 168},
}

// arm64SignalFrame returns the places on aarch64. The stack pointer points to siginfo_t; ucontext_t is at offset 128,
// sigcontext 176 bytes after that, and x0 follows the fault address.
func arm64SignalFrame() []Saved {
	const x0 = 128 + 176 + 8
	var all []Saved
	for n := range callbacks.AArch64PC + 1 { // x0 … x30, sp, pc
		all = append(all, Saved{n, x0 + uint64(n)*8})
	}
	return all
}
