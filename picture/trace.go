package picture

// Trace is where all threads of a process are, and which regions and tasks there are, to
// compare with another moment (package watch). It is no part of the JSON form.
type Trace struct {
	Threads map[int]ThreadTrace // by LWP
	Regions map[ID]bool
	Tasks   map[TaskTrace]bool
}

// ThreadTrace is where a thread is.
type ThreadTrace struct {
	Role         Role
	Hidden       bool // it is a helper of the runtime
	State        StateName
	Region, Task ID
	Stack        string // of the program's own functions
	Counters     []Counter
	Inside       bool   // it is inside of a runtime, or idle
	Known        bool   // where it is, and not only what the runtime says
	Registers    string // those that differ when code that loops has got on
	Timed        bool   // it waits, with a time limit, or sleeps in a call of the program's
	Outside      bool   // it waits for what another process may do
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
