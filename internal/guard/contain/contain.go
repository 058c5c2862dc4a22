// Package contain keeps a defect that one client runs into from the others: what is done for
// a client is done by Run, and a panic there is an error of that client's.
package contain

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a panic that was caught.
type Panic struct {
	Value any
	Stack []byte // where it was
}

// Error implements error. The stack is for a log.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrCutShort says that a file was cut short while it was mapped, as by a linker that writes an
// executable anew.
var ErrCutShort = errors.New(
	"a file was cut short while it was read: is the program being rebuilt? Repeat the command when that is done")

// Fault reports whether what recover returned is an access to memory that is not there, which is
// a panic where debug.SetPanicOnFault is set: a mapped file has lost its end.
func Fault(recovered any) bool {
	_, ok := recovered.(interface{ Addr() uintptr })
	return ok
}

// caught is the error for what recover returned. It is called by the deferred function itself,
// so that the stack has the place of the panic.
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
