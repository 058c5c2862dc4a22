package accesspath

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// callBounds limits one call of an Interpreter. The longest accessor executes
// some 200 instructions, and one more dozen for each nesting level that it walks
// through; programs have no thousands of these.
var callBounds = Bounds{Steps: 50000, Paths: 1, Visits: 50000, Depth: 16}

// ErrWrites says that a function would change the target's memory.
var ErrWrites = errors.New("the function would change memory")

// Interpreter runs functions of a target on its memory, with the numbers that
// are there: what a function would return if a thread called it at this stop. It
// changes nothing: a function that would write anything but its own stack is
// ErrWrites. It is not for concurrent use.
type Interpreter struct{ x explorer }

// NewInterpreter makes an interpreter of code in mem, which also answers what the
// functions read.
func NewInterpreter(arch callbacks.Arch, mem callbacks.Memory) (*Interpreter, error) {
	x, err := newReader(Config{Arch: arch, Mem: mem, Bounds: callBounds, Follow: func(Target) bool { return true }})
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
	s := newState(x.abi, entry)
	s.live = &live{mem: x.cfg.Mem, threadPointer: threadPointer}
	if len(args)+words > len(x.abi.args) {
		return Outcome{}, fmt.Errorf("call of %#x: %d arguments: %w", entry, len(args)+words, ErrOpaque)
	}
	for i, r := range x.abi.args {
		switch {
		case i < len(args):
			s.regs[r] = constant(args[i])
		case i < len(args)+words:
			s.regs[r] = leaf(kindStack, wordAt(i-len(args)))
		default:
			s.regs[r] = leaf(kindUnknown, 0)
		}
	}
	end := x.follow(s)
	if err := s.live.err; err != nil {
		return Outcome{}, fmt.Errorf("function at %#x: at %#x: %w", entry, s.pc, err)
	}
	result := s.content(x.abi.result)
	if end != EndReturn {
		return Outcome{}, fmt.Errorf("function at %#x: %v at %#x: %w", entry, end, s.pc, ErrOpaque)
	}
	if result.kind != kindConst {
		return Outcome{}, fmt.Errorf("function at %#x: its result: %w", entry, ErrOpaque)
	}
	out := Outcome{Result: result.val}
	for i := range words {
		w := s.loadStack(wordAt(i), 4)
		if w.kind != kindConst {
			return Outcome{}, fmt.Errorf("function at %#x: what it stores: %w", entry, ErrOpaque)
		}
		out.Words = append(out.Words, uint32(w.val))
	}
	return out, nil
}

// wordAt is the place of the caller's word i, relative to the stack pointer at
// entry: above what a callee's frame may begin with.
func wordAt(i int) uint64 { return 256 + 16*uint64(i) }

// live is the thread for which a function is run with numbers. The first error
// stays and ends the run.
type live struct {
	mem           callbacks.Memory
	threadPointer uint64
	err           error
}

func (l *live) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// load reads the target.
func (l *live) load(addr *Expr, size uint8) *Expr {
	var b [8]byte
	switch {
	case addr.kind != kindConst && addr.kind != kindGlobal || size > 8:
		return leaf(kindUnknown, 0)
	case l.err != nil:
		return constant(0)
	}
	if err := l.mem.ReadMemory(callbacks.At(addr.val), b[:size]); err != nil {
		l.fail(err)
	}
	return constant(callbacks.Word(b[:size]))
}
