package picture

import (
	"cmp"
	"strings"
)

// Disputed reports whether the state that was recorded is another one than the state's name
// says: not only a finer or a coarser one, and not that of a worker whose runtime does not tell
// yet that the barrier at the end of its last region is over, nor that of one which waits for another
// iteration of a loop (depend(sink)), of which events tell when it is over and not that it begins.
func (s *State) Disputed() bool {
	is, was := cmp.Or(s.Standard, s.Name), s.Recorded
	barrier := func(n StateName) bool { return strings.HasPrefix(string(n), "wait_barrier") }
	work := func(n StateName) bool { return strings.HasPrefix(string(n), "work_") }
	switch {
	case was == "" || is == was, is == StateUndefined, is == StateOverhead: // nobody says otherwise
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
