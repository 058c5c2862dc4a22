package symbolic

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrWrites says that a function would change the target's memory.
var ErrWrites = errors.New("the function would change memory")

// Live is the thread for which a function is run with numbers. The first error
// stays and ends the run.
type Live struct {
	Mem           callbacks.Memory
	ThreadPointer uint64
	Err           error
}

// Fail ends the run with an error, unless there is one already.
func (l *Live) Fail(err error) {
	if l.Err == nil {
		l.Err = err
	}
}

// load reads the target.
func (l *Live) load(addr *Expr, size uint8) *Expr {
	var b [8]byte
	switch {
	case addr.Kind != KindConst && addr.Kind != KindGlobal || size > 8:
		return Leaf(KindUnknown, 0)
	case l.Err != nil:
		return Constant(0)
	}
	if err := l.Mem.ReadMemory(callbacks.At(addr.Val), b[:size]); err != nil {
		l.Fail(err)
	}
	return Constant(callbacks.Word(b[:size]))
}
