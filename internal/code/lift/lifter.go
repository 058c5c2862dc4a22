package lift

import (
	"errors"
	"fmt"
	"maps"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrUnsupported is the error for an unsupported instruction set.
var ErrUnsupported = errors.New("no reader for the machine code of this architecture")

var lifters = map[callbacks.Arch]Lifter{callbacks.ArchX86_64: x86{}, callbacks.ArchAArch64: a64{}}

// Decoder decodes the instructions of a target and caches them.
type Decoder struct {
	Arch   callbacks.Arch
	Code   Code
	Lifter Lifter
	insts  map[uint64]Instruction
}

// NewDecoder returns a decoder of the code in mem.
func NewDecoder(arch callbacks.Arch, mem callbacks.Memory) (*Decoder, error) {
	l := lifters[arch]
	if l == nil {
		return nil, fmt.Errorf("%v: %w", arch, ErrUnsupported)
	}
	return &Decoder{Arch: arch, Code: Code{Mem: mem}, Lifter: l, insts: map[uint64]Instruction{}}, nil
}

// Retarget switches to another snapshot of the same code. Code that was unreadable is read again.
func (d *Decoder) Retarget(mem callbacks.Memory) {
	d.Code.Mem = mem
	maps.DeleteFunc(d.Code.blocks, func(_ uint64, b []byte) bool { return b == nil })
	maps.DeleteFunc(d.insts, func(_ uint64, in Instruction) bool { return in.Length == 0 })
}

// fewUops is the number of micro-operations of most instructions.
const fewUops = 4

// Fetch decodes the instruction at pc. It is not ok if the code is unreadable or invalid.
func (d *Decoder) Fetch(pc uint64) (Instruction, bool) {
	if in, ok := d.insts[pc]; ok {
		return in, in.Length > 0
	}
	var in Instruction
	if b, err := d.Code.BytesAt(pc, d.Lifter.Convention().MaxLength); err == nil {
		in, _ = d.Lifter.Lift(b, pc, make([]Uop, 0, fewUops))
	}
	d.insts[pc] = in
	return in, in.Length > 0
}
