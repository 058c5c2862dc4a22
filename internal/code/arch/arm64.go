package arch

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// aarch64 instructions as mask and pattern (Arm ARM, section C4.1).
const (
	armBLMask, armBL     = 0xfc000000, 0x94000000 // bl imm26
	armBMask, armB       = 0xfc000000, 0x14000000 // b imm26
	armBLRMask, armBLR   = 0xfefff000, 0xd63f0000 // blr, blraaz …: all forms
	armADRPMask, armADRP = 0x9f00001f, 0x90000010 // adrp x16, page
	armLDRMask, armLDR   = 0xffc003ff, 0xf9400211 // ldr x17, [x16, #imm12*8]
	armBTIC              = 0xd503245f             // bti c
	armSVC               = 0xd4000001             // svc #0

	armLDRBMask, armLDRB = 0xffc003ff, 0x39400210 // ldrb w16, [x16, #imm12]
	armCBZMask, armCBZ   = 0xff00001f, 0x34000010 // cbz w16, label
	armCASMask, armCAS   = 0x3fa07c00, 0x08a07c00 // cas and its forms with order
	armLSEMask, armLSE   = 0x3f200c00, 0x38200000 // swp, ldadd and the other instructions that read and write
	armRET               = 0xd65f03c0             // ret

	armMOVZMask, armMOVZ         = 0x7fe0001f, 0x52800000 // movz Rd, #imm16, without a shift
	armBranchesMask, armBranches = 0x1c000000, 0x14000000 // all branches, and system instructions
	armMemoryMask, armMemory     = 0x0a000000, 0x08000000 // all loads and stores
	armRegister                  = 0x1f                   // Rd, which most instructions write
	armInstruction               = 4                      // bytes
)

// arm64CallBefore decodes bl and blr.
func arm64CallBefore(mem callbacks.Memory, ret uint64) (Call, bool) {
	if ret < 4 {
		return Call{}, false
	}
	b := readFrom(mem, ret-4, 4)
	if len(b) < 4 {
		return Call{}, false
	}
	switch w := binary.LittleEndian.Uint32(b); {
	case w&armBLMask == armBL:
		return Call{CallDirect, ret - 4 + branch26(w)}, true
	case w&armBLRMask == armBLR:
		return Call{Kind: CallRegister}, true
	}
	return Call{}, false
}

// branch26 returns the distance in bytes of a branch with a 26-bit immediate.
func branch26(w uint32) uint64 { return uint64(int64(int32(w<<6)>>6) * 4) }

// ReadsSettled reports whether the instruction at pc reads size bytes that are only written before the program starts.
// On aarch64 the functions for atomic operations that compilers call read so whether the processor has instructions for
// them: "adrp x16, page; ldrb w16, [x16, #off]; cbz w16, label", one such instruction, and ret.
func ReadsSettled(a callbacks.Arch, mem callbacks.Memory, pc uint64, size uint8) bool {
	if a != callbacks.ArchAArch64 || size != 1 {
		return false
	}
	b := readFrom(mem, pc-armInstruction, 5*armInstruction)
	if len(b) < 5*armInstruction {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i*armInstruction:]) }
	return word(0)&armADRPMask == armADRP && word(1)&armLDRBMask == armLDRB && word(2)&armCBZMask == armCBZ &&
		(word(3)&armCASMask == armCAS || word(3)&armLSEMask == armLSE) && word(4) == armRET
}

// arm64PLTSlot decodes "adrp x16, page; ldr x17, [x16, #off]".
func arm64PLTSlot(b []byte, addr uint64) (uint64, bool) {
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == armBTIC {
		b, addr = b[4:], addr+4
	}
	if len(b) < 8 {
		return 0, false
	}
	adrp, ldr := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if adrp&armADRPMask != armADRP || ldr&armLDRMask != armLDR {
		return 0, false
	}
	pages := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3) // immhi:immlo, signed
	page := addr&^0xfff + uint64(pages<<12)
	return page + uint64(ldr>>10&0xfff)*8, true
}
