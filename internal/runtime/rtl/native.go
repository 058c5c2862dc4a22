package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// NativeReader is a runtime that keeps which OpenMP thread a native thread is in
// that thread's own storage. It is a power beyond what OMPD asks of a runtime: it
// also knows threads that have not entered themselves in the runtime's lists, and
// needs to read no other.
type NativeReader interface {
	// NativeThread is the OpenMP thread that native thread id of t is. One that
	// is none is callbacks.Unavailable; a target that does not find thread-local
	// variables has its own error.
	NativeThread(t callbacks.Symbols, id callbacks.ThreadID) (handles.Thread, error)
}
