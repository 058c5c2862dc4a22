package picture

import (
	"cmp"
	"strings"
)

// Disputed reports whether the recorded state contradicts the state's name. Finer and coarser states are no
// contradiction; nor is that of a worker whose runtime has not yet reported the end of the barrier after its last
// region, nor that of a thread that waits for another iteration of a loop (depend(sink)), as only the end of such a
// wait is an event.
func (s *State) Disputed() bool {
	is, was := cmp.Or(s.Standard, s.Name), s.Recorded
	barrier := func(n StateName) bool { return strings.HasPrefix(string(n), "wait_barrier") }
	work := func(n StateName) bool { return strings.HasPrefix(string(n), "work_") }
	switch {
	case was == "" || is == was, is == StateUndefined, is == StateOverhead: // no contradiction
		return false
	case barrier(is) && barrier(was), is == StateIdle && barrier(was), work(is) && work(was):
		return false
	case is == StateOrdered && work(was) && strings.Contains(s.Evidence, "doacross"):
		return false
	case is == StateMutex:
		return was != StateLock && was != StateCritical && was != StateAtomic && was != StateOrdered
	}
	return true
}
