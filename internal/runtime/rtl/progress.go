package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// ProgressReader is a runtime that counts the progress of its threads. OMPD does not require it.
type ProgressReader interface {
	// Progress returns the counters of a thread, each name once. It omits unreadable ones. If all are
	// unreadable, it returns an error with the reason.
	Progress(h handles.Thread) ([]Counter, error)
}

// Counter is a number that changes only when the thread makes progress.
type Counter struct {
	Name  string // the counted object, in the plural: "barriers"
	Value uint64
	// Word is the address of the count, if it is one word; a loop that only waits may write it. Null otherwise.
	Word callbacks.Address
}
