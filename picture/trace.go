package picture

// Trace is where all threads of a process are, and which regions and tasks there are, to
// compare with another moment (package watch). It is no part of the JSON form.
type Trace struct {
	Threads map[int]ThreadTrace // by LWP
	Regions map[ID]bool
	Tasks   map[TaskTrace]bool
	// Handled is set if a handler of a signal may be set: it may write the word that a loop waits for.
	Handled bool
	// Posted is set if such a handler may wake threads that sleep.
	Posted bool
}

// ThreadTrace is where a thread is.
type ThreadTrace struct {
	Role         Role
	Hidden       bool // it is a helper of the runtime
	State        StateName
	Region, Task ID
	Stack        string // of the program's own functions
	Counters     []Counter
	Inside       bool // it is inside of a runtime, or idle
	Known        bool // where it is, and not only what the runtime says

	// Registers are those that differ when code that loops has made progress, with the words of the program's
	// innermost frame. Inside of a runtime, they are those of the program's code that called it.
	Registers string
	Frames    string     // the words of the program's other frames
	Written   string     // the words that a loop writes without end, if it is known to write no others
	Lock      string     // the owner and the queue of the lock that it waits for
	Spins     *SpinTrace // set if its code proves that it only waits, in a loop, for memory to change

	Blocked bool // it is in a system call
	Sleeps  bool // it sleeps in a futex, and only a thread of its own process can wake it
	Woken   bool // it sleeps there no longer, though it has not run yet
	Timed   bool // it waits, with a time limit, or sleeps in a call of the program's
	Outside bool // it waits for what another process may do
}

// SpinTrace is a loop in which a thread only waits for memory to change.
type SpinTrace struct {
	Awaited map[uint64]uint64 // the words that it waits for, by address, with what they have
	Kept    string            // the words that its function keeps meanwhile
	Shared  bool              // another process may write a word that it waits for
}

// Same reports whether o is the same wait: nothing changed that the loop depends on.
func (s *SpinTrace) Same(o *SpinTrace) bool {
	common := len(s.Awaited) == 0 && len(o.Awaited) == 0
	for at, v := range s.Awaited {
		was, both := o.Awaited[at]
		if both && was != v {
			return false
		}
		common = common || both
	}
	return common && s.Kept == o.Kept
}

// TaskTrace tells a task from one that has its memory later.
type TaskTrace struct {
	ID, Parent ID
	Function   Hex // 0 if it is not known
}

// Counter is a number that changes when a thread gets on, and only then.
type Counter struct {
	Name  string // what is counted, in the plural: "barriers"
	Value uint64
}
