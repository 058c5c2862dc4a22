package emulate

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// maxEnding bounds the instructions from a call to the end of a function that switches stacks. Those of Go's
// runtime have some 30. maxHelper bounds those of a function that it calls, which sets a register or a word.
const maxEnding, maxHelper = 128, 16

// Ending runs the rest of a function without changing the target. It stops at code that it cannot follow.
type Ending struct {
	// Regs are the registers before and after the run.
	Regs callbacks.Registers
	// Mem is the memory of the target, with the code.
	Mem callbacks.Memory
	// Stores are the writes before the run, followed by those of the run, in order.
	Stores []Store
	// ThreadWord is the address of the last 8-byte word that was written relative to the thread pointer, or 0.
	ThreadWord uint64
	// Calls counts the calls. Short functions without calls are followed, others are skipped.
	Calls int

	m        Machine
	code     *lift.Decoder
	toCall   bool // stop before the first call that is not followed
	inside   bool // a called function
	returned bool
}

// Store is one write to memory.
type Store struct {
	Address uint64
	Size    int    // bytes
	Value   uint64 // little-endian, up to 8 bytes
	Known   bool   // if false, the content of memory is unknown afterwards
}

// byThread is the origin of addresses that are relative to the thread pointer.
const byThread Origins = 1

// errCall ends a run before a call.
var errCall = errors.New("a call")

// RunToReturn runs to the end of the function and returns from it, skipping its calls. It reports whether it
// succeeded.
func (e *Ending) RunToReturn() bool {
	e.toCall = false
	return e.run() == nil && e.returned
}

// RunToCall runs to the first call that cannot be followed and stops before it. It reports whether it succeeded.
func (e *Ending) RunToCall() bool {
	e.toCall = true
	return errors.Is(e.run(), errCall)
}

func (e *Ending) run() error {
	code, err := lift.NewDecoder(e.Regs.Arch, e.Mem)
	if err != nil {
		return err
	}
	e.code = code
	e.m = NewThread(code.Lifter.Convention(), &e.Regs)
	e.m.Flags = Flags{} // earlier calls may have changed them
	e.m.ThreadPointer.From = byThread
	for _, s := range e.Stores {
		v := Value{}
		if s.Known {
			v = Number(s.Value)
		}
		e.m.Write(s.Address, v, uint8(s.Size))
	}
	err = e.steps(maxEnding)
	e.m.saveTo(&e.Regs)
	return err
}

// steps runs up to limit instructions, to the return.
func (e *Ending) steps(limit int) (err error) {
	e.returned = false
	for n := 0; err == nil && !e.returned; n++ {
		if n == limit || !e.m.SP().IsKnown() {
			return ErrOpaque
		}
		err = e.m.Step(e.code, e)
	}
	return err
}

// Load reads memory; unreadable memory is unknown.
func (e *Ending) Load(at Value, size uint8) (Value, error) {
	return e.m.readKnown(e.Mem, at, size), nil
}

// Store buffers a write.
func (e *Ending) Store(at, v Value, size uint8, perhaps bool) error {
	switch {
	case !at.IsKnown():
		return ErrOpaque
	case perhaps:
		v = Value{}
	}
	e.m.Write(at.V, v, size)
	v = v.Extend(size, false)
	e.Stores = append(e.Stores, Store{at.V, int(size), v.V, v.IsKnown() && size <= 8})
	if at.From&byThread != 0 && size == 8 {
		e.ThreadWord = at.V
	}
	return nil
}

// Branch takes the side of the condition, which must be known.
func (e *Ending) Branch(c Truth, to uint64) error {
	switch {
	case !c.Known:
		return ErrOpaque
	case c.Holds:
		e.m.PC = to
	}
	return nil
}

// Skip accepts every condition.
func (e *Ending) Skip(Truth) error { return nil }

// Jump follows a jump to a fixed address.
func (e *Ending) Jump(to Value, direct bool) error {
	if !direct {
		return ErrOpaque
	}
	e.m.PC = to.V
	return nil
}

// Call follows or skips a call.
func (e *Ending) Call(to Value) error {
	switch {
	case e.inside:
		return ErrOpaque
	case e.follow(to):
	case e.toCall:
		return errCall
	default:
		e.m.PassCall()
	}
	e.Calls++
	return nil
}

// follow runs a called function. If it is not a short one that returns, the state remains that before the call.
func (e *Ending) follow(to Value) bool {
	if !to.IsKnown() {
		return false
	}
	m, stores, word := e.m.Clone(), len(e.Stores), e.ThreadWord
	back, sp := e.m.PC, *e.m.SP()
	abi := e.m.ABI
	if abi.LinkBytes == 0 {
		e.m.Regs[abi.Link] = Number(back)
	} else {
		e.m.SP().V -= abi.LinkBytes
		e.m.Write(e.m.SP().V, Number(back), uint8(abi.LinkBytes))
	}
	e.m.PC, e.inside = to.V, true
	err := e.steps(maxHelper)
	e.inside, e.returned = false, false
	if err == nil && e.m.PC == back && *e.m.SP() == sp {
		return true
	}
	e.m, e.Stores, e.ThreadWord = m, e.Stores[:stores], word
	return false
}

// Return continues at the return address.
func (e *Ending) Return() error {
	sp, abi := e.m.SP(), e.m.ABI
	to := e.m.Regs[abi.Link]
	if abi.LinkBytes > 0 {
		to = e.m.readKnown(e.Mem, *sp, uint8(abi.LinkBytes))
		sp.V += abi.LinkBytes
	}
	if !to.IsKnown() {
		return ErrOpaque
	}
	e.m.PC, e.returned = to.V&^e.Regs.PACMask, true
	return nil
}
