package arch

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxDepthCode bounds the code that StackDepth decodes, in bytes.
const maxDepthCode = 4096

// StackDepth returns the size in bytes of the frame of the function at entry when it is at pc, without the
// return address: the bytes that its prologue pushes and reserves. It is not ok if pc is not the start of an
// instruction, or on aarch64, where frame pointers give the answer.
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

// pushed returns the number of bytes that the instruction at the start of b adds to the stack: a push of a
// register, or a subtraction from the stack pointer.
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
