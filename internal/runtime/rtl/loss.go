package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// LossReader is a runtime that keeps its threads in a list of its own, which may
// name threads that the process does not have: a child after fork has only the
// thread that called it, and a copy of the list. It is a power beyond what OMPD
// asks of a runtime.
type LossReader interface {
	// LostThreads finds the threads that the runtime counts on and that are not there, or are ending.
	// of gives what is known of a thread.
	LostThreads(of func(handles.Thread) *handles.Evidence) Loss
}

// Loss is what a runtime counts on and the process does not have, or will not have: threads that have ended, and
// threads that are ending within a region.
type Loss struct {
	Count    int              // threads that are not there
	Ending   []handles.Thread // threads that will not come back to their region
	Waiting  []handles.Thread // threads that wait for some of them
	Evidence string           // what this was read from, for people
}

// DamageReader is a runtime that can tell that its own memory was overwritten: its fields
// contradict one another in a way that it leaves them in at no time.
type DamageReader interface {
	// Damage says which fields do, each once.
	Damage() []string
}
