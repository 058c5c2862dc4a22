package arch

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// RegisterNames returns the names of the registers in callbacks.Registers, by DWARF number.
func RegisterNames(a callbacks.Arch) []string {
	if a != callbacks.ArchAArch64 {
		return []string{
			"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
			"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
		}
	}
	names := make([]string, callbacks.AArch64PC+1)
	for n := range callbacks.AArch64SP {
		names[n] = fmt.Sprintf("x%d", n)
	}
	names[callbacks.AArch64SP], names[callbacks.AArch64PC] = "sp", "pc"
	return names
}
