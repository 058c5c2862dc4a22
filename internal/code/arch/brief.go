package arch

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Brief contains the facts about an instruction that its opcode and operands show without full decoding: enough to
// find the callees of a function.
type Brief struct {
	Length int
	Leads  Leads
	By     LedBy
	Target uint64 // of a call, jump or branch; of LedBySlot, the address of the pointer
	// Address and Number are the memory operand and the number in the instruction, which may be addresses of code or
	// data; 0 if missing. An address relative to a general register is only the distance.
	Address, Number uint64
}

// Leads is the way in which an instruction may continue elsewhere than at the next one.
type Leads uint8

// The ways to continue.
const (
	LeadsOn Leads = iota // to the next instruction
	LeadsCall
	LeadsJump
	LeadsBranch // a jump that depends on a condition
)

// LedBy is the form in which an instruction shows its target.
type LedBy uint8

// The forms of targets.
const (
	LedByNumber   LedBy = iota // by its address
	LedBySlot                  // by a pointer at a fixed address
	LedByMemory                // by a pointer in memory that is found by a register
	LedByRegister              // in a register
)

// HasBriefs reports whether BriefOf reads the code of an architecture.
func HasBriefs(a callbacks.Arch) bool { return a == callbacks.ArchX86_64 }

// BriefOf returns the facts about the first instruction of code, at address pc. It is not ok for an invalid
// instruction, one of a rare form, or an unsupported instruction set.
func BriefOf(a callbacks.Arch, code []byte, pc uint64) (Brief, bool) {
	if !HasBriefs(a) {
		return Brief{}, false
	}
	p := x86Parts(code)
	b := Brief{Length: p.length}
	if p.length == 0 {
		return b, false
	}
	next := pc + uint64(p.length)
	op := code[p.op]
	if op == 0x0f && code[p.op+1]&^0xf == 0x80 || op&^0xf == 0x70 || op&^3 == 0xe0 {
		b.Leads = LeadsBranch
	}
	switch op {
	case 0xc4, 0xc5, 0x62: // vector instructions
		return b, true
	case 0xe8:
		b.Leads = LeadsCall
	case 0xe9, 0xeb:
		b.Leads = LeadsJump
	case 0xff:
		return b, p.pointer(code, next, &b)
	}
	if b.Leads != LeadsOn {
		b.Target = next + uint64(signedAt(code, p.imm, p.length-p.imm))
		return b, !p.narrow()
	}
	b.Address, _ = p.address(code, next)
	switch p.length - p.imm {
	case 4:
		b.Number = uint64(signedAt(code, p.imm, 4))
	case 8:
		b.Number = binary.LittleEndian.Uint64(code[p.imm:])
	}
	return b, true
}

// narrow reports whether the operands have 2 bytes. The instruction then jumps elsewhere on some processors.
func (p *parts) narrow() bool { return p.small && p.rex&8 == 0 }

// pointer adds the facts about an instruction with opcode FF: a call or a jump through a pointer, or another
// instruction. It is not ok for rare forms.
func (p *parts) pointer(code []byte, next uint64, b *Brief) (ok bool) {
	address, fixed := p.address(code, next)
	switch code[p.modRM] >> 3 & 7 {
	case 2:
		b.Leads = LeadsCall
	case 4:
		b.Leads = LeadsJump
	default:
		b.Address = address
		return true
	}
	switch {
	case code[p.modRM]>>6 == 3:
		b.By = LedByRegister
	case fixed && p.segment == 0:
		b.By, b.Target = LedBySlot, address
	default:
		b.By = LedByMemory
	}
	return b.By != LedBySlot || !p.narrow() && !p.short
}

// address returns the address of the memory operand; 0 if it is missing or has no distance of 4 bytes. fixed is
// set if it does not depend on general registers.
func (p *parts) address(code []byte, next uint64) (address uint64, fixed bool) {
	if p.modRM == 0 || p.imm-p.disp != 4 {
		return 0, false
	}
	address = uint64(signedAt(code, p.disp, 4))
	mod, rm := code[p.modRM]>>6, code[p.modRM]&7
	switch {
	case mod == 0 && rm == 5: // relative to the program counter
		return next + address, true
	case mod == 0 && rm == 4: // without a base if the base is 5; index 4 without REX.X means no index
		sib := code[p.modRM+1]
		return address, sib&7 == 5 && sib>>3&7 == 4 && p.rex&2 == 0
	}
	return address, false
}
