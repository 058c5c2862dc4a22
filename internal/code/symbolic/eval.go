package symbolic

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// Env is the state of one thread of a target, for the evaluation of expressions.
type Env struct {
	// Mem is the target's memory.
	Mem callbacks.Memory
	// ThreadPointer is fs_base or tpidr_el0 of the thread.
	ThreadPointer uint64
	// TLS returns the address of the byte at offset of a module's thread-local block, like __tls_get_addr. It is
	// nil if that is unknown.
	TLS func(module, offset uint64) (uint64, error)
	// Call returns the result of a call that was not followed. It is nil if results are unknown.
	Call func(c Call) (uint64, error)
	// Args are the arguments of the function.
	Args []uint64
}

// ErrOpaque means that an expression depends on code that was not followed or on facts missing in the Env.
var ErrOpaque = errors.New("depends on code that was not followed")

// Eval returns the value of e for one thread.
func Eval(e *Expr, env Env) (uint64, error) {
	switch e.Kind {
	case KindConst, KindGlobal:
		return e.Val, nil
	case KindTLSBase:
		return env.ThreadPointer, nil
	case KindTLSVar:
		return env.tlsVariable(e.Val)
	case KindArg:
		if e.Val < uint64(len(env.Args)) {
			return env.Args[e.Val], nil
		}
	case KindCall:
		if env.Call != nil {
			return env.Call(*e.Callee)
		}
	case KindLoad:
		a, err := Eval(e.A, env)
		if err != nil {
			return 0, err
		}
		return env.Word(a, e.Size, e.Signed)
	case KindExtend:
		a, err := Eval(e.A, env)
		return lift.ExtendWord(a, e.Size, e.Signed), err
	case KindBinary, kindCompare:
		return env.pair(e)
	}
	return 0, fmt.Errorf("value of %v: %w", e, ErrOpaque)
}

// pair evaluates an expression with two parts.
func (env Env) pair(e *Expr) (uint64, error) {
	a, err := Eval(e.A, env)
	if err != nil {
		return 0, err
	}
	b, err := Eval(e.B, env)
	switch {
	case err != nil:
		return 0, err
	case e.Kind == KindBinary:
		return lift.Compute(e.Op, a, b), nil
	case e.cond.Holds(a, b):
		return 1, nil
	}
	return 0, nil
}

// Word reads a number from the target.
func (env Env) Word(a uint64, size uint8, signed bool) (uint64, error) {
	if size > 8 {
		return 0, fmt.Errorf("value of %d bytes: %w", size, ErrOpaque)
	}
	var b [8]byte
	if err := env.Mem.ReadMemory(callbacks.Addr(a), b[:size]); err != nil {
		return 0, err
	}
	return lift.ExtendWord(callbacks.Word(b[:size]), size, signed), nil
}

// tlsVariable returns the address of the variable described by the words at slot.
func (env Env) tlsVariable(slot uint64) (uint64, error) {
	if env.TLS == nil {
		return 0, fmt.Errorf("thread-local variable at %#x: %w", slot, ErrOpaque)
	}
	module, err := env.Word(slot, 8, false)
	if err != nil {
		return 0, err
	}
	offset, err := env.Word(slot+8, 8, false)
	if err != nil {
		return 0, err
	}
	return env.TLS(module, offset)
}
