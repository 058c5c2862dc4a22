package arch

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Length returns the length in bytes of the first instruction of code, including vector instructions unknown to
// the full decoder; 0 if it is invalid.
func Length(a callbacks.Arch, code []byte) int {
	switch {
	case a == callbacks.ArchAArch64 && len(code) >= 4:
		return 4
	case a == callbacks.ArchX86_64:
		n, _ := x86Length(code)
		return n
	}
	return 0
}

// Opcodes of VEX- and EVEX-encoded instructions that write a general register, by map: moves of masks and
// elements, conversions to integers, and the bit manipulation of BMI, which shares maps 2 and 3 with SSE.
var vectorToGeneral = map[byte][]byte{
	1: {0x2c, 0x2d, 0x50, 0x78, 0x79, 0x7e, 0x93, 0xc5, 0xd7},
	2: {0xf2, 0xf3, 0xf5, 0xf6, 0xf7},
	3: {0x14, 0x15, 0x16, 0x17, 0xf0},
	5: {0x2c, 0x2d, 0x78, 0x79, 0x7e},
}

// VectorOnly reports whether the first instruction of code is an x86-64 vector instruction that changes no
// general register.
func VectorOnly(a callbacks.Arch, code []byte) bool {
	if a != callbacks.ArchX86_64 {
		return false
	}
	for len(code) > 0 && (code[0] == 0x66 || code[0] == 0x67 || code[0] == 0x64 || code[0] == 0x65 ||
		code[0]&^0x18 == 0x26) {
		code = code[1:]
	}
	var table, op byte
	switch {
	case len(code) >= 3 && code[0] == 0xc5:
		table, op = 1, code[2]
	case len(code) >= 4 && code[0] == 0xc4:
		table, op = code[1]&0x1f, code[3]
	case len(code) >= 5 && code[0] == 0x62:
		table, op = code[1]&7, code[4]
	default:
		return false
	}
	return !slices.Contains(vectorToGeneral[table], op)
}
