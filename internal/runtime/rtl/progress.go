package rtl

import "github.com/ompd-inspect/ompd-inspect/handles"

// ProgressReader is a runtime that counts the progress of its threads. OMPD does not require it.
type ProgressReader interface {
	// Progress returns the counters of a thread, each name once. It omits those that cannot be read. If none can
	// be read, it returns an error with the reason.
	Progress(h handles.Thread) ([]Counter, error)
}

// Counter is a number that changes only when the thread makes progress.
type Counter struct {
	Name  string // what is counted, in the plural: "barriers"
	Value uint64
}
