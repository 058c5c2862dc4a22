package arch

import (
	"encoding/binary"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxPrologue bounds the instructions of a prologue up to the one that sets the frame pointer. Compilers save at most
// twenty registers before it.
const maxPrologue = 24

// Prologue is the layout of the frame of a function, as its first instructions make it.
type Prologue struct {
	Size  uint64  // bytes from the frame pointer to the canonical frame address
	Saved []Saved // registers that the function saved, relative to the frame pointer
}

// Instructions of aarch64 that make a frame (Arm ARM, section C4.1). The saved registers are of 64 bits.
const (
	armPushPairMask, armPushPair   = 0xffc003e0, 0xa98003e0 // stp xA, xB, [sp, #imm7*8]!
	armStorePairMask, armStorePair = 0xffc003e0, 0xa90003e0 // stp xA, xB, [sp, #imm7*8]
	armSubSPMask, armSubSP         = 0xff8003ff, 0xd10003ff // sub sp, sp, #imm12 {, lsl #12}
	armSetFPMask, armSetFP         = 0xff8003ff, 0x910003fd // add x29, sp, #imm12; with 0: mov x29, sp
	armHintMask, armHint           = 0xfffff01f, 0xd503201f // nop, paciasp, bti
)

// FramePrologue reads the frame of the function at entry, for an instruction at pc after the one that sets the frame
// pointer. ok is false if the code up to there does anything but save registers, and on other architectures than
// aarch64.
func FramePrologue(a callbacks.Arch, mem callbacks.Memory, entry, pc uint64) (p Prologue, ok bool) {
	if a != callbacks.ArchAArch64 || pc <= entry {
		return Prologue{}, false
	}
	code := readFrom(mem, entry, int(min(pc-entry, 4*maxPrologue)))
	depth := int64(0) // bytes that the function put on the stack so far
	for ; len(code) >= 4; code = code[4:] {
		w := binary.LittleEndian.Uint32(code)
		pair := int64(int32(w<<10)>>25) * 8
		switch {
		case w&armHintMask == armHint:
		case w&armPushPairMask == armPushPair && pair < 0:
			depth -= pair
			p.save(w, -depth)
		case w&armStorePairMask == armStorePair && pair >= 0:
			p.save(w, pair-depth)
		case w&armSubSPMask == armSubSP:
			depth += addImmediate(w)
		case w&armSetFPMask == armSetFP:
			return p.relativeTo(addImmediate(w) - depth)
		default:
			return Prologue{}, false
		}
	}
	return Prologue{}, false
}

// addImmediate returns the number that an add or sub instruction has.
func addImmediate(w uint32) int64 { return int64(w>>10&0xfff) << (12 * (w >> 22 & 1)) }

// save records that an instruction saves a pair of registers at a distance from the canonical frame address.
func (p *Prologue) save(w uint32, at int64) {
	p.Saved = append(p.Saved, Saved{int(w & 31), uint64(at)}, Saved{int(w >> 10 & 31), uint64(at + 8)})
}

// relativeTo converts distances from the canonical frame address to distances from the frame pointer, which is fp
// from there. ok is false unless the function saved the frame pointer and the return address.
func (p *Prologue) relativeTo(fp int64) (q Prologue, ok bool) {
	q.Size = uint64(-fp)
	linked := 0
	for _, s := range p.Saved {
		if s.Register == callbacks.AArch64FP || s.Register == callbacks.AArch64LR {
			linked++
		}
		q.Saved = append(q.Saved, Saved{s.Register, s.Offset - uint64(fp)})
	}
	return q, linked == 2 && fp < 0
}
