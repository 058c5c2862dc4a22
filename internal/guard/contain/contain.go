// Package contain isolates clients from each other: Run turns a panic into an error of the call.
package contain

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic.
type Panic struct {
	Value any
	Stack []byte // at the panic
}

// Error implements error. The stack is for a log.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrCutShort means that a file was truncated while it was mapped, as by a linker that rewrites an
// executable.
var ErrCutShort = errors.New(
	"a file was cut short while it was read: is the program being rebuilt? Repeat the command when that is done")

// Fault reports whether the result of recover is an access to missing memory, which is a panic
// where debug.SetPanicOnFault is set: a mapped file was truncated.
func Fault(recovered any) bool {
	_, ok := recovered.(interface{ Addr() uintptr })
	return ok
}

// caught returns the error for a result of recover. The deferred function itself calls it, so that
// the stack contains the place of the panic.
func caught(recovered any) error {
	switch {
	case recovered == nil:
		return nil
	case Fault(recovered):
		return ErrCutShort
	}
	return &Panic{recovered, debug.Stack()}
}

// Run calls f. A panic in it, and a fault in a mapped file, is its error. A goroutine that f
// starts needs a Run of its own.
func Run(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = caught(v)
		}
	}()
	return f()
}
