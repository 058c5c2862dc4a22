// Package accessor computes the answers of a runtime to one of its threads: it emulates the
// omp_get_ functions that the runtime exports, on the target's memory, with the thread's own thread
// pointer. Nothing runs in the target, and nothing in it changes.
//
// It needs no layout and no knowledge of the runtime. So it checks every number that a reader takes
// from fields, and is the only source for a runtime without a reader. A call costs some 20 µs, and
// the runtime's code must be available.
package accessor

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
)

// Caller calls the functions that one module of a target exports. It may be used
// by several goroutines at once.
type Caller struct {
	target callbacks.Target
	module *callbacks.Module

	mu      sync.Mutex
	code    *emulate.Caller
	entries map[string]entry
}

// entry is the address of an exported function.
type entry struct {
	at  callbacks.Address
	err error
}

// New returns a caller of the functions of mod. The error is for an architecture whose code cannot
// be read.
func New(t callbacks.Target, mod *callbacks.Module) (*Caller, error) {
	code, err := emulate.NewCaller(t.Arch(), t)
	if err != nil {
		return nil, fmt.Errorf("omp_get_ functions: %w", err)
	}
	return &Caller{target: t, module: mod, code: code, entries: map[string]entry{}}, nil
}

// Int returns the result of function for the thread with the given thread pointer (fs_base on
// x86-64, tpidr_el0 on aarch64), as a C int. args are its arguments, C ints too.
//
// A function that the module does not export is callbacks.ErrNoSymbol. A function that does more
// than read, such as setting the thread up as an OpenMP thread, is emulate.ErrWrites or
// emulate.ErrOpaque.
func (c *Caller) Int(threadPointer uint64, function string, args ...int) (int, error) {
	out, err := c.call(threadPointer, function, args, 0)
	return int(int32(out.Result)), err
}

func (c *Caller) call(threadPointer uint64, function string, args []int, words int) (emulate.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[function]
	if !ok {
		e.at, e.err = c.target.Symbol(function, c.module.Path)
		if e.err == nil && !c.module.Contains(e.at) {
			e.err = callbacks.ErrNoSymbol
		}
		c.entries[function] = e
	}
	var numbers []uint64
	for _, a := range args {
		numbers = append(numbers, uint64(uint32(int32(a))))
	}
	out, err := emulate.Outcome{}, e.err
	if err == nil {
		out, err = c.code.Call(e.at.Offset, threadPointer, numbers, words)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", function, err)
	}
	return out, nil
}
