// Package rtl is what the OMPD library asks of an OpenMP runtime.
//
// A reader of a runtime implements Runtime over callbacks.Target. It knows the
// runtime's structures by name and nothing of file formats, unwinding or
// printing. Errors that have an OMPD return code wrap that code: a question that
// has no answer in this context wraps callbacks.Unavailable, a handle that the
// memory does not confirm wraps callbacks.StaleHandle, an argument out of range
// wraps callbacks.BadInput, unreadable memory wraps callbacks.DeviceReadError.
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
