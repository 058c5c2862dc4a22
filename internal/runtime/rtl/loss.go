package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// LossReader is a runtime with a list of its threads, which may contain threads that no longer exist: a child
// after fork has only the thread that called it, and a copy of the list. OMPD does not require it.
type LossReader interface {
	// LostThreads finds threads that the runtime counts on but that do not exist, or are ending. of returns the
	// evidence of a thread.
	LostThreads(of func(handles.Thread) *handles.Evidence) Loss
}

// Loss is the threads that a runtime counts on and the process lacks or will lack: threads that have ended, and
// threads that are ending within a region.
type Loss struct {
	Count    int              // missing threads
	Ending   []handles.Thread // threads that will not return to their region
	Waiting  []handles.Thread // threads that wait for missing or ending ones
	Evidence string           // source of these facts, for users
}

// DamageReader is a runtime that detects that its own memory was overwritten: its fields contradict each other
// in a way that it never leaves them in.
type DamageReader interface {
	// Damage describes each contradiction once.
	Damage() []string
}
