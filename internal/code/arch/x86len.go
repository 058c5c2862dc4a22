package arch

import "encoding/binary"

// Decoding instructions in full costs some 200 ns each. Their lengths and jumps are enough to walk from the
// start of a function to the few instructions before a call.

// Operands that follow an opcode. Without a flag, there are no operands.
const (
	hasModRM = 1 << iota
	imm8
	imm16
	immZ     // 4 bytes, 2 with an operand-size prefix
	imm32    // 4 bytes always: relative calls and jumps
	immV     // 8 bytes with REX.W, otherwise as immZ
	immAddr  // an address of 8 bytes, 4 with an address-size prefix
	group3   // immediate of the size given by another flag, if ModRM.reg is 0 or 1
	relative // the immediate is the distance of a jump
	invalid
)

// shape contains the flags of a range of opcodes.
type shape struct {
	low, high byte
	flags     uint16
}

// oneByte are the opcodes of one byte (SDM volume 2, table A-2, 64-bit mode), without prefixes. Opcodes that are
// not listed have no operands.
var oneByte = shapes(0, []shape{
	{0x06, 0x07, invalid}, {0x0e, 0x0e, invalid}, {0x16, 0x17, invalid}, {0x1e, 0x1f, invalid}, {0x27, 0x27, invalid},
	{0x2f, 0x2f, invalid}, {0x37, 0x37, invalid}, {0x3f, 0x3f, invalid}, {0x60, 0x62, invalid},
	{0x63, 0x63, hasModRM}, {0x68, 0x68, immZ}, {0x69, 0x69, hasModRM | immZ}, {0x6a, 0x6a, imm8},
	{0x6b, 0x6b, hasModRM | imm8}, {0x70, 0x7f, imm8 | relative}, {0x80, 0x80, hasModRM | imm8},
	{0x81, 0x81, hasModRM | immZ}, {0x82, 0x82, invalid}, {0x83, 0x83, hasModRM | imm8}, {0x84, 0x8f, hasModRM},
	{0x9a, 0x9a, invalid}, {0xa0, 0xa3, immAddr}, {0xa8, 0xa8, imm8}, {0xa9, 0xa9, immZ}, {0xb0, 0xb7, imm8},
	{0xb8, 0xbf, immV}, {0xc0, 0xc1, hasModRM | imm8}, {0xc2, 0xc2, imm16}, {0xc6, 0xc6, hasModRM | imm8},
	{0xc7, 0xc7, hasModRM | immZ}, {0xc8, 0xc8, imm16 | imm8}, {0xca, 0xca, imm16}, {0xcd, 0xcd, imm8},
	{0xce, 0xce, invalid}, {0xd0, 0xd3, hasModRM}, {0xd4, 0xd6, invalid}, {0xd8, 0xdf, hasModRM},
	{0xe0, 0xe3, imm8 | relative}, {0xe4, 0xe7, imm8}, {0xe8, 0xe8, imm32}, {0xe9, 0xe9, imm32 | relative},
	{0xea, 0xea, invalid}, {0xeb, 0xeb, imm8 | relative}, {0xf6, 0xf6, hasModRM | imm8 | group3},
	{0xf7, 0xf7, hasModRM | immZ | group3}, {0xfe, 0xff, hasModRM},
})

// twoByte are the opcodes after 0F (table A-3). Opcodes that are not listed have a ModRM byte.
var twoByte = shapes(hasModRM, []shape{
	{0x04, 0x04, invalid}, {0x05, 0x09, 0}, {0x0a, 0x0a, invalid}, {0x0b, 0x0b, 0}, {0x0c, 0x0c, invalid},
	{0x0e, 0x0e, 0}, {0x0f, 0x0f, hasModRM | imm8}, {0x24, 0x27, invalid}, {0x30, 0x37, 0}, {0x39, 0x39, invalid},
	{0x3b, 0x3f, invalid}, {0x70, 0x73, hasModRM | imm8}, {0x77, 0x77, 0}, {0x80, 0x8f, imm32 | relative},
	{0xa0, 0xa2, 0}, {0xa4, 0xa4, hasModRM | imm8}, {0xa8, 0xaa, 0}, {0xac, 0xac, hasModRM | imm8},
	{0xba, 0xba, hasModRM | imm8}, {0xc2, 0xc2, hasModRM | imm8}, {0xc4, 0xc6, hasModRM | imm8}, {0xc8, 0xcf, 0},
})

// shapes returns a table of all opcodes. In the one-byte map, the arithmetic instructions repeat every eight
// opcodes up to 3F.
func shapes(rest uint16, listed []shape) (t [256]uint16) {
	arithmetic := [8]uint16{hasModRM, hasModRM, hasModRM, hasModRM, imm8, immZ, 0, 0}
	for op := range t {
		t[op] = rest
		if rest == 0 && op < 0x40 {
			t[op] = arithmetic[op&7]
		}
	}
	for _, s := range listed {
		for op := int(s.low); op <= int(s.high); op++ {
			t[op] = s.flags
		}
	}
	return t
}

// x86Length returns the length of the first instruction of code, and the distance of its jump from its end (0 if
// it is not a direct jump). The length is 0 if the instruction is invalid or incomplete.
func x86Length(code []byte) (n int, jump int64) {
	p := x86Parts(code)
	if p.length == 0 || p.flags&relative == 0 {
		return p.length, 0
	}
	return p.length, signedAt(code, p.imm, p.length-p.imm)
}

// signedAt returns the signed number of 1 or 4 bytes at an index; 0 for other sizes.
func signedAt(code []byte, at, size int) int64 {
	switch size {
	case 1:
		return int64(int8(code[at]))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(code[at:])))
	}
	return 0
}

// parts are the indexes of the parts of an instruction.
type parts struct {
	length  int // 0 if the instruction is invalid or incomplete
	op      int // the opcode, after the prefixes
	modRM   int // 0 if missing
	disp    int // the displacement of the memory operand; imm if missing
	imm     int // the immediate operands; length if missing
	flags   uint16
	small   bool // has an operand-size prefix
	short   bool // has an address-size prefix
	segment byte // the prefix of FS or GS, 0 if missing
	rex     byte // 0 if missing
}

// x86Parts finds the parts of the first instruction of code.
func x86Parts(code []byte) (p parts) {
	for n := 0; n < len(code) && n < maxInst; n++ {
		switch c := code[n]; {
		case c == 0x66:
			p.small = true
		case c == 0x67:
			p.short = true
		case c == 0x64, c == 0x65:
			p.segment = c
		case c == 0xf0, c == 0xf2, c == 0xf3, c&^0x18 == 0x26:
		case c&^0xf == 0x40:
			p.rex = c
			p.findOperands(code, n+1)
			return p
		default:
			p.findOperands(code, n)
			return p
		}
	}
	return p
}

// findOperands finds the parts after the prefixes, from the opcode at n.
func (p *parts) findOperands(code []byte, n int) {
	p.op = n
	flags, n := opcode(code, n)
	p.disp = n
	if flags&hasModRM != 0 {
		if n >= len(code) {
			return
		}
		if flags&group3 != 0 && code[n]>>3&7 > 1 {
			flags = hasModRM
		}
		p.modRM = n
		p.disp, n = modRM(code, n)
	}
	wide := p.rex&8 != 0
	p.flags, p.imm = flags, n
	end := n + immediate(flags, p.small && !wide, p.short, wide)
	if flags&invalid == 0 && end <= len(code) && end <= maxInst {
		p.length = end
	}
}

// opcode returns the shape and the end of the opcode at n.
func opcode(code []byte, n int) (flags uint16, end int) {
	at := func(i int) byte {
		if i < len(code) {
			return code[i]
		}
		return 0
	}
	switch c := at(n); c {
	case 0x0f:
		switch at(n + 1) {
		case 0x38:
			return hasModRM, n + 3
		case 0x3a:
			return hasModRM | imm8, n + 3
		}
		return twoByte[at(n+1)], n + 2
	case 0xc5:
		return vexShape(1, at(n+2)), n + 3
	case 0xc4:
		return vexShape(at(n+1)&0x1f, at(n+3)), n + 4
	case 0x62:
		return vexShape(at(n+1)&7, at(n+4)), n + 5
	default:
		return oneByte[c], n + 1
	}
}

// vexShape returns the shape of opcode op in one of the maps of VEX and EVEX.
func vexShape(table, op byte) uint16 {
	switch table {
	case 1:
		return twoByte[op]
	case 2, 5, 6:
		return hasModRM
	case 3:
		return hasModRM | imm8
	}
	return invalid
}

// modRM returns the index of the displacement after the ModRM byte at n and its SIB byte, and the end of the
// displacement.
func modRM(code []byte, n int) (disp, end int) {
	mod, rm := code[n]>>6, code[n]&7
	n++
	if mod == 3 {
		return n, n
	}
	size := 0
	if rm == 4 {
		if n < len(code) && mod == 0 && code[n]&7 == 5 {
			size = 4
		}
		n++
	}
	switch {
	case mod == 0 && rm == 5, mod == 2:
		size = 4
	case mod == 1:
		size = 1
	}
	return n, n + size
}

// immediate returns the size of an instruction's immediate operands in bytes.
func immediate(flags uint16, small, short, wide bool) (n int) {
	z := 4
	if small {
		z = 2
	}
	if flags&imm8 != 0 {
		n++
	}
	if flags&imm16 != 0 {
		n += 2
	}
	switch {
	case flags&immZ != 0, flags&immV != 0 && !wide:
		n += z
	case flags&imm32 != 0:
		n += 4
	case flags&immAddr != 0 && short:
		n += 4
	case flags&immV != 0, flags&immAddr != 0:
		n += 8
	}
	return n
}
