package arch

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ValueKind is the origin of a value.
type ValueKind uint8

// The kinds of values.
const (
	ValueConst        ValueKind = iota + 1 // the number N; in a non-PIE executable it may be an address
	ValueAddress                           // the address N, relative to the instruction in the code
	ValueMemory                            // the content of memory at address N
	ValueRegister                          // register Register at the call, callee-saved or the stack pointer
	ValueFrameAddress                      // the address Register + N
	ValueFrameSlot                         // the content of memory at Register + N
)

// Value is a value that a program loads into a register before a call.
type Value struct {
	Kind     ValueKind
	Register int    // DWARF number, for the last three kinds
	N        uint64 // see ValueKind
	Size     int    // size of the load in bytes, 4 or 8; zero-extended
}

// errNoRegister means that a register that a value depends on is unknown.
var errNoRegister = errors.New("register not known")

// Resolve returns the value in a calling frame with registers r. For an unfinished call, these are the registers
// that the unwinder restored for the caller.
func (v Value) Resolve(r *callbacks.Registers, mem callbacks.Memory) (uint64, error) {
	addr := v.N
	switch v.Kind {
	case ValueConst, ValueAddress:
		return v.N, nil
	case ValueRegister, ValueFrameAddress, ValueFrameSlot:
		base, ok := r.Get(v.Register)
		if !ok {
			return 0, fmt.Errorf("argument in register %d: %w", v.Register, errNoRegister)
		}
		addr = base + v.N
	}
	if v.Kind != ValueMemory && v.Kind != ValueFrameSlot {
		return addr, nil
	}
	p := make([]byte, v.Size)
	if err := mem.ReadMemory(callbacks.Addr(addr), p); err != nil {
		return 0, fmt.Errorf("argument in memory: %w", err)
	}
	return callbacks.Word(p), nil
}

// ArgBefore returns the value that the instructions before the call that returns to ret load into integer
// argument register arg (0 is the first). fnLow is the start of the calling function; decoding starts there.
//
// Only straight-line code counts. The result is not ok if another call, a jump target or an instruction of
// unknown effect is between the load and the call. Targets of jump tables are not recognized. It is never ok on
// aarch64.
func ArgBefore(a callbacks.Arch, mem callbacks.Memory, fnLow, ret uint64, arg int) (Value, bool) {
	if a != callbacks.ArchX86_64 || arg < 0 || arg >= len(x86ArgRegs) {
		return Value{}, false
	}
	s, ok := x86Scan(mem, fnLow, ret)
	if !ok {
		return Value{}, false
	}
	return s.valueOf(x86ArgRegs[arg])
}

// ArgsBefore yields the values that ArgBefore returns if the calling function starts at first or at one of the
// addresses after it, in their order. Equal values of the same instructions are yielded once. It is for callers
// that do not know where the function starts.
func ArgsBefore(a callbacks.Arch, mem callbacks.Memory, first, ret uint64, arg int) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if a != callbacks.ArchX86_64 || arg < 0 || arg >= len(x86ArgRegs) {
			return
		}
		for s := range x86Scans(mem, first, ret) {
			if v, ok := s.valueOf(x86ArgRegs[arg]); ok && !yield(v) {
				return
			}
		}
	}
}
