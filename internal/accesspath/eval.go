package accesspath

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Env is the state of one thread of a target, to evaluate expressions on.
type Env struct {
	// Mem is the target's memory.
	Mem callbacks.Memory
	// ThreadPointer is fs_base or tpidr_el0 of the thread.
	ThreadPointer uint64
	// TLS is the address of the byte at offset of a module's thread-local
	// block, as __tls_get_addr would return it. Nil if it cannot be told.
	TLS func(module, offset uint64) (uint64, error)
	// Call is what a call that was not followed would return. Nil if no call
	// can be answered.
	Call func(c Call) (uint64, error)
	// Args are the arguments of the function.
	Args []uint64
}

// ErrOpaque says that an expression depends on something that the executor did
// not follow or that the environment cannot tell.
var ErrOpaque = errors.New("depends on code that was not followed")

// ErrNoPath says that no path's conditions hold.
var ErrNoPath = errors.New("no path of the function fits this state")

// Eval is the value of e for one thread.
func Eval(e *Expr, env Env) (uint64, error) {
	switch e.kind {
	case kindConst, kindGlobal:
		return e.val, nil
	case kindTLSBase:
		return env.ThreadPointer, nil
	case kindTLSVar:
		return env.tlsVariable(e.val)
	case kindArg:
		if e.val < uint64(len(env.Args)) {
			return env.Args[e.val], nil
		}
	case kindCall:
		if env.Call != nil {
			return env.Call(*e.callee)
		}
	case kindLoad:
		a, err := Eval(e.a, env)
		if err != nil {
			return 0, err
		}
		return env.word(a, e.size, e.signed)
	case kindExtend:
		a, err := Eval(e.a, env)
		return extendWord(a, e.size, e.signed), err
	case kindBinary, kindCompare:
		return env.pair(e)
	}
	return 0, fmt.Errorf("value of %v: %w", e, ErrOpaque)
}

// pair evaluates a node with two parts.
func (env Env) pair(e *Expr) (uint64, error) {
	a, err := Eval(e.a, env)
	if err != nil {
		return 0, err
	}
	b, err := Eval(e.b, env)
	switch {
	case err != nil:
		return 0, err
	case e.kind == kindBinary:
		return compute(e.op, a, b), nil
	case e.cond.holds(a, b):
		return 1, nil
	}
	return 0, nil
}

// word reads a number from the target.
func (env Env) word(a uint64, size uint8, signed bool) (uint64, error) {
	if size > 8 {
		return 0, fmt.Errorf("value of %d bytes: %w", size, ErrOpaque)
	}
	var b [8]byte
	if err := env.Mem.ReadMemory(callbacks.At(a), b[:size]); err != nil {
		return 0, err
	}
	return extendWord(callbacks.Word(b[:size]), size, signed), nil
}

// tlsVariable is the address of the variable described by the words at slot.
func (env Env) tlsVariable(slot uint64) (uint64, error) {
	if env.TLS == nil {
		return 0, fmt.Errorf("thread-local variable at %#x: %w", slot, ErrOpaque)
	}
	module, err := env.word(slot, 8, false)
	if err != nil {
		return 0, err
	}
	offset, err := env.word(slot+8, 8, false)
	if err != nil {
		return 0, err
	}
	return env.TLS(module, offset)
}

// Holds tells whether a condition is true for one thread.
func (c Cond) Holds(env Env) (bool, error) {
	if c.Op == CondUnknown {
		return false, ErrOpaque
	}
	a, err := Eval(c.A, env)
	if err != nil {
		return false, err
	}
	b, err := Eval(c.B, env)
	return c.Op.holds(a, b), err
}

// EvalPaths is what the function would return for one thread: the result of the
// path whose conditions hold. It fails if none fits, or if it cannot be told
// which does; the error then names the first obstacle.
func EvalPaths(paths []Path, env Env) (uint64, error) {
	obstacle := ErrNoPath
	for _, p := range paths {
		fits, err := p.fits(env)
		if err == nil && fits && p.End == EndReturn {
			return Eval(p.Result, env)
		}
		if err == nil && fits {
			err = fmt.Errorf("%w: %v", ErrNoPath, p.End)
		}
		if err != nil && obstacle == ErrNoPath {
			obstacle = err
		}
	}
	return 0, obstacle
}

// fits tells whether all conditions of the path hold. A condition that does not
// hold decides, even behind one that cannot be told.
func (p Path) fits(env Env) (bool, error) {
	var unknown error
	for _, c := range p.Conds {
		ok, err := c.Holds(env)
		switch {
		case err != nil && unknown == nil:
			unknown = err
		case err == nil && !ok:
			return false, nil
		}
	}
	return unknown == nil, unknown
}
