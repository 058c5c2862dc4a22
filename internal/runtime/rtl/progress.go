package rtl

import "github.com/ompd-inspect/ompd-inspect/handles"

// ProgressReader is a runtime that counts what its threads have done. It is a
// power beyond what OMPD asks of a runtime.
type ProgressReader interface {
	// Progress gives the counters of a thread, each name once. Those that cannot
	// be read are left out; if none can, the error says why.
	Progress(h handles.Thread) ([]Counter, error)
}

// Counter is a number that changes when the thread gets on, and only then.
type Counter struct {
	Name  string // what is counted, in the plural: "barriers"
	Value uint64
}
