package picture

// Trace has the places of all threads of a process, and its regions and tasks, for the comparison with
// another snapshot (package watch). It is not part of the JSON form.
type Trace struct {
	Threads map[int]ThreadTrace // by LWP
	Regions map[ID]bool
	Tasks   map[TaskTrace]bool
	// Handled is set if a signal handler may be installed: it may write the word that a loop waits for.
	Handled bool
	// Posted is set if such a handler may wake sleeping threads.
	Posted bool
}

// ThreadTrace is the place of a thread.
type ThreadTrace struct {
	Role         Role
	Hidden       bool // it is a helper thread of the runtime
	State        StateName
	Region, Task ID
	Stack        string // of the program's own functions
	Counters     []Counter
	Inside       bool // it is inside a runtime, or idle
	Known        bool // its stack is known, and not only the runtime's fields

	// Registers are the registers that change when a loop makes progress, with the words of the program's
	// innermost frame. Inside a runtime, they are those of the calling code of the program.
	Registers string
	Frames    string     // the words of the program's other frames
	Written   string     // the words that an endless loop writes, if it is known to write no others
	Lock      string     // the owner and the queue of the lock that it waits for
	Spins     *SpinTrace // set if its code is proved to be a loop that only waits for memory to change

	Blocked bool // it is in a system call
	Sleeps  bool // it sleeps in a futex, and only a thread of its own process can wake it
	Woken   bool // it was woken, but has not run yet
	Timed   bool // it waits with a time limit, or sleeps in a call of the program
	Outside bool // it waits for something that another process may do

	// Polls is set in a routine of MPI that waits: its use of CPU time is no progress. Copies is set if the thread
	// copies data there: a message on its way.
	Polls, Copies bool
}

// SpinTrace is a loop in which a thread only waits for memory to change.
type SpinTrace struct {
	Awaited map[uint64]uint64 // the awaited words and their values, by address
	Kept    string            // the words that its function does not change
	Shared  bool              // another process may write an awaited word
}

// Same reports whether o is the same wait: no word that the loop depends on has changed.
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

// TaskTrace distinguishes a task from a later one in the same memory.
type TaskTrace struct {
	ID, Parent ID
	Function   Hex // 0 if unknown
}

// Counter is a number that changes if and only if a thread makes progress.
type Counter struct {
	Name  string // the counted things, in the plural: "barriers"
	Value uint64
}
