package arch

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// arm64FlagsKnown is a bit that pstate never has: a thread's flags may all be clear, and 0 means that they are unknown.
const arm64FlagsKnown = 1 << 63

// noFlag is the number of a flag that an architecture lacks.
const noFlag = 64

// flagBits are the numbers of the condition flags in Registers.Flags.
type flagBits struct {
	overflow, carry, zero, negative, parity uint8
	// borrow is set if a subtraction that borrows sets the carry. Else it clears it.
	borrow bool
}

var (
	x86FlagBits   = flagBits{overflow: 11, carry: 0, zero: 6, negative: 7, parity: 2, borrow: true}
	arm64FlagBits = flagBits{overflow: 28, carry: 29, zero: 30, negative: 31, parity: noFlag}
)

// Conditions returns the condition flags of a thread: overflow, carry, zero, negative and, on x86-64, parity in bits 0
// to 4. The carry is set if a subtraction did not borrow. ok is false if they are unknown.
func Conditions(r *callbacks.Registers) (flags uint64, ok bool) {
	bits := x86FlagBits
	if r.Arch == callbacks.ArchAArch64 {
		bits = arm64FlagBits
	}
	for i, at := range [...]uint8{bits.overflow, bits.carry, bits.zero, bits.negative, bits.parity} {
		flags |= r.Flags >> at & 1 << i
	}
	if bits.borrow {
		flags ^= 1 << 1
	}
	return flags, r.Flags != 0
}
