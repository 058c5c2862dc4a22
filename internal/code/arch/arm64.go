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
