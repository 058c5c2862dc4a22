package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// NativeReader is a runtime that stores the OpenMP thread of a native thread in thread-local storage. This finds
// threads that are not yet in the runtime's lists, and reads no other thread. OMPD does not require it.
type NativeReader interface {
	// NativeThread returns the OpenMP thread of native thread id. The error is callbacks.Unavailable for a
	// thread that is not an OpenMP thread; a target that cannot find thread-local variables returns its own
	// error.
	NativeThread(t callbacks.Symbols, id callbacks.ThreadID) (handles.Thread, error)
}
