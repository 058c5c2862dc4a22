package emulate

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Bounds of one call. The longest accessor executes some 200 instructions, plus a dozen for each nesting level
// that it walks through; programs have far fewer than thousands of levels.
const (
	maxCallSteps = 50000
	maxCallDepth = 16
)

// The stack of the calls is at an address without memory in any target. Accesses further than stackReach from
// the stack pointer at entry are not followed.
const (
	stackTop   = 0x7000_0000_0000_0000
	stackReach = 1 << 20
)

// ErrWrites is the error for a function that would change the target's memory.
var ErrWrites = errors.New("the function would change memory")

// Caller runs functions of a target on its memory, to find the result that a thread would get from a call at
// this stop. It does not change the target: a function that would write memory outside its own stack fails with
// ErrWrites. It is not for concurrent use.
type Caller struct {
	code *lift.Decoder
	mem  callbacks.Memory
}

// NewCaller returns a Caller of functions in mem, which also serves their reads.
func NewCaller(arch callbacks.Arch, mem callbacks.Memory) (*Caller, error) {
	code, err := lift.NewDecoder(arch, mem)
	if err != nil {
		return nil, err
	}
	return &Caller{code, mem}, nil
}

// Outcome is the result of a call.
type Outcome struct {
	Result uint64   // the whole result register: a C int is its low 4 bytes
	Words  []uint32 // words that the function stored through its last arguments
}

// Call runs the function at entry for the thread with the given thread pointer. After args, it passes pointers
// to a number of its own 4-byte words; the outcome contains their values after the call. The error wraps
// ErrWrites, the fault of a read, or, for code that is not followed, ErrOpaque.
func (c *Caller) Call(entry, threadPointer uint64, args []uint64, words int) (Outcome, error) {
	abi := c.code.Lifter.Convention()
	if len(args)+words > len(abi.Args) {
		return Outcome{}, fmt.Errorf("call of %#x: %d arguments: %w", entry, len(args)+words, ErrOpaque)
	}
	r := run{Machine: newMachine(abi, entry), mem: c.mem, sp: stackTop - abi.LinkBytes}
	r.ThreadPointer = Number(threadPointer)
	*r.SP() = onStack(r.sp)
	for i, reg := range abi.Args[:len(args)+words] {
		if i < len(args) {
			r.Regs[reg] = Number(args[i])
		} else {
			r.Regs[reg] = onStack(r.sp + wordAt(i-len(args)))
		}
	}
	var err error
	for n := 0; err == nil && !r.returned; n++ {
		if err = r.Step(c.code, &r); err == nil && n == maxCallSteps {
			err = fmt.Errorf("more than %d instructions: %w", n, ErrOpaque)
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("function at %#x: at %#x: %w", entry, r.At, err)
	}
	result := r.Regs[abi.Result]
	if !result.IsKnown() || result.From != 0 {
		return Outcome{}, fmt.Errorf("function at %#x: its result: %w", entry, ErrOpaque)
	}
	out := Outcome{Result: result.V}
	for i := range words {
		w, err := r.Load(onStack(r.sp+wordAt(i)), 4)
		if err != nil || !w.IsKnown() || w.From != 0 {
			return Outcome{}, fmt.Errorf("function at %#x: what it stores: %w", entry, ErrOpaque)
		}
		out.Words = append(out.Words, uint32(w.V))
	}
	return out, nil
}

// wordAt returns the offset of the caller's word i from the stack pointer at entry: above the frame of the
// function.
func wordAt(i int) uint64 { return 256 + 16*uint64(i) }

// byStack is the origin of values that depend on the stack's address. That address is made up, so neither a
// result nor a branch may depend on it.
const byStack Origins = 1

func onStack(addr uint64) Value { return Value{V: addr, Known: allBits, From: byStack} }

// run is one call.
type run struct {
	Machine
	mem      callbacks.Memory
	sp       uint64  // the stack pointer at entry
	frames   []frame // of the calls that are being followed
	returned bool
}

// frame is a call that is being followed.
type frame struct{ pc, sp uint64 }

// isOwn reports whether an address is on the stack of the call.
func (r *run) isOwn(addr uint64) bool { return addr-(r.sp-stackReach) < 2*stackReach }

// unmapped is the unknown initial content of the stack.
type unmapped struct{}

func (unmapped) ReadMemory(a callbacks.Address, _ []byte) error {
	return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
}

// Load reads the target, or the stack with the call's writes.
func (r *run) Load(at Value, size uint8) (Value, error) {
	switch {
	case !at.IsKnown():
		return Value{}, nil
	case r.isOwn(at.V):
		v, _, err := r.Read(unmapped{}, at.V, size)
		if err != nil { // never written
			return Value{}, nil
		}
		return v, nil
	case at.From != 0:
		return Value{}, ErrOpaque
	}
	v, _, err := r.Read(r.mem, at.V, size)
	return v, err
}

// Store writes to the stack of the call.
func (r *run) Store(at, v Value, size uint8, perhaps bool) error {
	switch {
	case !at.IsKnown():
		return fmt.Errorf("%w at an unknown address", ErrWrites)
	case !r.isOwn(at.V):
		return fmt.Errorf("%w at %#x", ErrWrites, at.V)
	case perhaps:
		v = Value{}
	}
	r.Write(at.V, v, size)
	return nil
}

// Branch takes the side of the condition, which must be known.
func (r *run) Branch(c Truth, to uint64) error {
	if err := r.Skip(c); err != nil {
		return err
	}
	if c.Holds {
		r.PC = to
	}
	return nil
}

// Skip accepts known conditions.
func (r *run) Skip(c Truth) error {
	if !c.Known || c.From != 0 {
		return fmt.Errorf("a branch %w", ErrOpaque)
	}
	return nil
}

// Jump continues at a known address.
func (r *run) Jump(to Value, _ bool) error {
	if !to.IsKnown() || to.From != 0 {
		return fmt.Errorf("a jump %w", ErrOpaque)
	}
	r.PC = to.V
	return nil
}

// Call follows a call.
func (r *run) Call(to Value) error {
	if !to.IsKnown() || to.From != 0 || len(r.frames) == maxCallDepth || !r.SP().IsKnown() {
		return fmt.Errorf("a call %w", ErrOpaque)
	}
	back := r.PC
	if err := r.PushReturn(back, r); err != nil {
		return err
	}
	r.frames = append(r.frames, frame{back, r.SP().V})
	r.PC = to.V
	return nil
}

// Return leaves the innermost function. Its stack pointer must be that of its entry.
func (r *run) Return() error {
	f := frame{sp: r.sp}
	if r.returned = len(r.frames) == 0; !r.returned {
		f = r.frames[len(r.frames)-1]
		r.frames = r.frames[:len(r.frames)-1]
	}
	if sp := r.SP(); !sp.IsKnown() || sp.V != f.sp {
		return fmt.Errorf("an unbalanced stack: %w", ErrOpaque)
	}
	r.SP().V += r.ABI.LinkBytes
	r.PC = f.pc
	return nil
}
