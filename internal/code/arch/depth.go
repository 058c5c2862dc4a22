package arch

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxDepthCode bounds the code that StackDepth walks over.
const maxDepthCode = 4096

// StackDepth returns how many bytes the function at entry has put on the stack, above
// its return address, when it is at pc: what its prologue pushes and reserves. It
// is not ok if pc is not where an instruction begins, or on aarch64, where frame
// pointers tell it.
func StackDepth(a callbacks.Arch, mem callbacks.Memory, entry, pc uint64) (depth uint64, ok bool) {
	if a != callbacks.ArchX86_64 || pc < entry || pc-entry > maxDepthCode {
		return 0, false
	}
	code := readFrom(mem, entry, int(pc-entry)+maxInst)
	off := 0
	for off < int(pc-entry) && off < len(code) {
		depth += pushed(code[off:])
		n, _ := x86Length(code[off:])
		if n == 0 {
			return 0, false
		}
		off += n
	}
	return depth, off == int(pc-entry)
}

// pushed returns how many bytes the instruction at the start of b puts on the stack:
// push of a register, or sub from the stack pointer.
func pushed(b []byte) uint64 {
	switch {
	case len(b) >= 1 && b[0]&^7 == 0x50, len(b) >= 2 && b[0] == 0x41 && b[1]&^7 == 0x50:
		return 8
	case len(b) >= 4 && b[0] == 0x48 && b[1] == 0x83 && b[2] == 0xec:
		return uint64(b[3])
	case len(b) >= 7 && b[0] == 0x48 && b[1] == 0x81 && b[2] == 0xec:
		return uint64(binary.LittleEndian.Uint32(b[3:]))
	}
	return 0
}
