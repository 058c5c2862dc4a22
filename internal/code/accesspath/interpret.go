package accesspath

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// callBounds limits one call of an Interpreter. The longest accessor executes
// some 200 instructions, and one more dozen for each nesting level that it walks
// through; programs have no thousands of these.
var callBounds = Bounds{Steps: 50000, Paths: 1, Visits: 50000, Depth: 16}

// Interpreter runs functions of a target on its memory, with the numbers that
// are there: what a function would return if a thread called it at this stop. It
// changes nothing: a function that would write anything but its own stack is
// ErrWrites. It is not for concurrent use.
type Interpreter struct{ x explorer }

// NewInterpreter makes an interpreter of code in mem, which also answers what the
// functions read.
func NewInterpreter(arch callbacks.Arch, mem callbacks.Memory) (*Interpreter, error) {
	x, err := newExplorer(Config{Arch: arch, Mem: mem, Bounds: callBounds,
		Follow: func(symbolic.Target) bool { return true }})
	if err != nil {
		return nil, err
	}
	return &Interpreter{x: *x}, nil
}

// Outcome is what a call leaves.
type Outcome struct {
	Result uint64   // the whole result register: a C int is its low 4 bytes
	Words  []uint32 // what the function stored through its last arguments
}

// Call runs the function at entry for the thread whose thread pointer is given.
// Behind args, it passes pointers to as many 4-byte words of its own; what the
// function stores there is in the outcome. The error wraps ErrWrites, ErrOpaque
// if the code does something that is not understood, or the fault of a read.
func (in *Interpreter) Call(entry, threadPointer uint64, args []uint64, words int) (Outcome, error) {
	x := &in.x
	x.steps, x.paths, x.work = 0, nil, nil
	s := symbolic.NewState(x.ABI, entry)
	s.Live = &symbolic.Live{Mem: x.Mem, ThreadPointer: threadPointer}
	if len(args)+words > len(x.ABI.Args) {
		return Outcome{}, fmt.Errorf("call of %#x: %d arguments: %w", entry, len(args)+words, symbolic.ErrOpaque)
	}
	for i, r := range x.ABI.Args {
		switch {
		case i < len(args):
			s.Regs[r] = symbolic.Constant(args[i])
		case i < len(args)+words:
			s.Regs[r] = symbolic.Leaf(symbolic.KindStack, wordAt(i-len(args)))
		default:
			s.Regs[r] = symbolic.Leaf(symbolic.KindUnknown, 0)
		}
	}
	end := x.follow(s)
	if err := s.Live.Err; err != nil {
		return Outcome{}, fmt.Errorf("function at %#x: at %#x: %w", entry, s.PC, err)
	}
	result := s.Content(x.ABI.Result)
	if end != symbolic.EndReturn {
		return Outcome{}, fmt.Errorf("function at %#x: %v at %#x: %w", entry, end, s.PC, symbolic.ErrOpaque)
	}
	if result.Kind != symbolic.KindConst {
		return Outcome{}, fmt.Errorf("function at %#x: its result: %w", entry, symbolic.ErrOpaque)
	}
	out := Outcome{Result: result.Val}
	for i := range words {
		w := s.LoadStack(wordAt(i), 4)
		if w.Kind != symbolic.KindConst {
			return Outcome{}, fmt.Errorf("function at %#x: what it stores: %w", entry, symbolic.ErrOpaque)
		}
		out.Words = append(out.Words, uint32(w.Val))
	}
	return out, nil
}

// wordAt is the place of the caller's word i, relative to the stack pointer at
// entry: above what a callee's frame may begin with.
func wordAt(i int) uint64 { return 256 + 16*uint64(i) }
