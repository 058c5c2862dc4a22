// Package rtl defines the interface between the OMPD library and the readers of OpenMP runtimes.
//
// A reader implements Runtime over callbacks.Target. It knows the runtime's structures by name, but not file
// formats, unwinding or printing. Errors that have an OMPD return code wrap that code: callbacks.Unavailable for
// a query without an answer in this context, callbacks.StaleHandle for a handle that the memory does not
// confirm, callbacks.BadInput for an argument out of range, callbacks.DeviceReadError for unreadable memory.
package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Runtime is one OpenMP runtime in a target at one stop, with the layout by which it is read. It may be used by
// several goroutines at once.
type Runtime interface {
	handles.Runtime
	// Layout returns every field and global with its offset or address, and the sources that gave it.
	Layout() layout.Report
}
