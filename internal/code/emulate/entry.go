package emulate

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

const (
	// maxEntry bounds the instructions that make a frame. Hand-written kernels save six registers, one by one.
	maxEntry = 48
	// maxEntryFrame bounds the bytes from a register that keeps an address of the frame to the frame's end.
	maxEntryFrame = 1 << 20
)

// EntryFrame is the frame of a function, as the function's first instructions make it.
type EntryFrame struct {
	// Bases are the registers that keep an address of the frame, the stack pointer first. Offset is the number of bytes
	// from there to the canonical frame address.
	Bases []arch.Saved
	// Saved are the caller's registers that the function saved. Offset is the number of bytes from there to the
	// canonical frame address.
	Saved []arch.Saved
}

// errBody ends a run at the first instruction that does not only make the frame.
var errBody = errors.New("the body of the function")

// ReadEntry follows the instructions of the function at entry that make its frame: up to pc, or to the first branch,
// call or store to other memory. ok is false if no register keeps an address of the frame, and on architectures whose
// calls do not push the return address.
func ReadEntry(a callbacks.Arch, mem callbacks.Memory, entry, pc uint64) (f EntryFrame, ok bool) {
	if arch.Of(a).HasLinkRegister() {
		return EntryFrame{}, false
	}
	code, err := lift.NewDecoder(a, mem)
	if err != nil {
		return EntryFrame{}, false
	}
	// An aligned stack pointer has an unknown distance to the frame's end: it differs between these two.
	one, other := newEntryRun(code, entry, pc, stackTop), newEntryRun(code, entry, pc, stackTop+maxEntryFrame+1<<12-8)
	abi := one.ABI
	for _, r := range append([]lift.Register{abi.SP}, keptRegisters(abi)...) {
		v, w := one.Regs[r], other.Regs[r]
		size := one.end - v.V
		if v.IsKnown() && w.IsKnown() && size == other.end-w.V && size > 0 && size <= maxEntryFrame {
			f.Bases = append(f.Bases, arch.Saved{Register: abi.DWARFNumber(r), Offset: size})
		}
	}
	for _, r := range keptRegisters(abi) {
		if at, saved := one.savedAt(r); saved {
			f.Saved = append(f.Saved, arch.Saved{Register: abi.DWARFNumber(r), Offset: one.end - at})
		}
	}
	return f, len(f.Bases) > 0
}

// keptRegisters returns the general registers that survive a call, without the stack pointer.
func keptRegisters(abi *lift.Convention) (list []lift.Register) {
	for r := range abi.General {
		if abi.Keeps(r) && r != abi.SP {
			list = append(list, r)
		}
	}
	return list
}

// entryRun is a run of the first instructions of a function.
type entryRun struct {
	Machine
	end uint64 // the canonical frame address
}

// newEntryRun runs the first instructions of a function, on a made-up stack with the canonical frame address end.
func newEntryRun(code *lift.Decoder, entry, pc, end uint64) *entryRun {
	abi := code.Lifter.Convention()
	r := &entryRun{Machine: newMachine(abi, entry), end: end}
	*r.SP() = Number(end - abi.LinkBytes)
	for _, k := range keptRegisters(abi) {
		r.Regs[k] = callersValue(k)
	}
	for n := 0; n < maxEntry && r.PC != pc; n++ {
		before := r.Regs
		if r.Step(code, r) != nil {
			r.Regs = before // a part of the instruction may be done
			break
		}
	}
	return r
}

// callersValue returns a made-up value of a register at the entry of a function.
func callersValue(r lift.Register) Value { return Number(0x5a5a_5a5a_0000_0000 + uint64(r)<<8) }

// savedAt returns the highest address at which the value of a register at the entry was stored.
func (r *entryRun) savedAt(k lift.Register) (highest uint64, found bool) {
	for at := range r.Written {
		v := r.readKnown(unmapped{}, Number(at), 8)
		if v.IsKnown() && v.V == callersValue(k).V && at > highest {
			highest, found = at, true
		}
	}
	return highest, found
}

// Load returns what the function has stored. Other memory, such as the arguments on the stack, is unknown.
func (r *entryRun) Load(at Value, size uint8) (Value, error) {
	return r.readKnown(unmapped{}, at, size), nil
}

// Store keeps what the function stores in its frame.
func (r *entryRun) Store(at, v Value, size uint8, perhaps bool) error {
	if perhaps || !at.IsKnown() || at.V >= r.end || r.end-at.V > maxEntryFrame {
		return errBody
	}
	r.Write(at.V, v, size)
	return nil
}

// Branch ends the run.
func (r *entryRun) Branch(Truth, uint64) error { return errBody }

// Skip ends the run.
func (r *entryRun) Skip(Truth) error { return errBody }

// Jump ends the run.
func (r *entryRun) Jump(Value, bool) error { return errBody }

// Call ends the run.
func (r *entryRun) Call(Value) error { return errBody }

// Return ends the run.
func (r *entryRun) Return() error { return errBody }
