package handles

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ThreadInfo is a runtime's data on a thread.
type ThreadInfo struct {
	Number       int64              // the runtime's own number of the thread (LLVM: the gtid)
	Pthread      callbacks.ThreadID // Kind is ThreadIDPthread
	LWP          uint64             // kernel thread id if the runtime stores it, else 0
	Role         picture.Role
	ThreadNum    int // in the current team; -1 for an idle thread
	HiddenHelper bool
	StackBase    callbacks.Address // highest address of the stack by the runtime's data; null if unknown
	StackSize    uint64            // bytes; 0 if unknown
}

// ParallelInfo is a runtime's data on a parallel region.
type ParallelInfo struct {
	Level       int // nesting level, 0 for the implicit outermost region
	ActiveLevel int // enclosing active regions, including this one
	TeamSize    int
	Serialized  bool              // executed by one thread only, inside another team's structure or its own
	Function    callbacks.Address // outlined function; null if the runtime does not store it
	Source      SourceLocation    // of the construct, as the compiler passed it to the runtime
	// Hint means that Function and Source belong to the region that the team forked last, which may be over; a
	// frame of Function proves them.
	Hint bool
	// Passed is the first argument of Function if that is the runtime's own: the outlined function of GCC's programs on
	// LLVM's runtime. It may also be data. Null if unknown.
	Passed     callbacks.Address
	Return     callbacks.Address // address in user code to which the fork returns; null if unknown
	PrimaryNum int               // thread number of the primary thread in the enclosing team; -1 if unknown
	League     int               // number of teams of the league, 0 outside a teams construct
}

// SourceLocation is a place in the source as the compiler recorded it for the runtime (LLVM: in
// ident_t.psource). Empty and 0 mean not recorded.
type SourceLocation struct {
	File     string
	Function string
	Line     int
}

// TaskInfo is a runtime's data on a task.
type TaskInfo struct {
	Kind  picture.TaskKind
	State picture.TaskState
	// tied, untied, final, merged, undeferred, detachable, proxy, …, in a fixed order
	Flags              []string
	Function           callbacks.Address // outlined function; null if unknown
	Source             SourceLocation    // of the construct, as the compiler passed it to the runtime
	IncompleteChildren int               // unfinished children; -1 if the runtime does not store the number
	Generating         Task              // the task that generated it; zero for initial tasks, or if unknown
	Thread             Thread            // the thread that executes or suspended it; zero if unstarted or unknown
	ThreadNum          int               // of an implicit task; -1 otherwise
	Predecessors       int               // unfinished predecessors in the dependence graph
	Priority           int
	Frame              TaskFrame
}

// TaskFrame contains the frames by which a task was entered and left (ompd_get_task_frame). A null address is
// absent.
type TaskFrame struct {
	Exit, Enter callbacks.Address
	// ompt_frame_flag_t: runtime 0, application 1, cfa 0x10, framepointer 0x20, stackaddress 0x30
	ExitFlags, EnterFlags uint32
}

// Scope is the scope of an ICV or of a handle (ompd_scope_t).
type Scope uint8

// The scopes of OpenMP 6.0; 5.2 has those up to ScopeTask.
const (
	ScopeGlobal       Scope = 1
	ScopeAddressSpace Scope = 2
	ScopeThread       Scope = 3
	ScopeParallel     Scope = 4
	ScopeImplicitTask Scope = 5
	ScopeTask         Scope = 6
	ScopeTeams        Scope = 7 // a league: the handle of its parallel region
	ScopeTarget       Scope = 8 // a target region: the handle of its implicit parallel region
)

// String returns the specification's name without its prefix.
func (s Scope) String() string {
	switch s {
	case ScopeGlobal:
		return "global"
	case ScopeAddressSpace:
		return "address_space"
	case ScopeThread:
		return "thread"
	case ScopeParallel:
		return "parallel"
	case ScopeImplicitTask:
		return "implicit_task"
	case ScopeTask:
		return "task"
	case ScopeTeams:
		return "teams"
	case ScopeTarget:
		return "target"
	}
	return "unknown"
}

// Subject is the address space or the handle whose variable is read.
type Subject struct {
	Scope    Scope
	Thread   Thread   // for ScopeThread
	Parallel Parallel // for ScopeParallel, ScopeTeams and ScopeTarget
	Task     Task     // for ScopeTask and ScopeImplicitTask
}

// ICV describes an internal control variable.
type ICV struct {
	Name  string // the standard's name, such as "nthreads-var"
	Scope Scope
	Text  bool // the value is text only; integers have a text form too
}

// ICVValue is a value of an internal control variable.
type ICVValue struct {
	Int    int64
	Text   string // always set: the value in the standard's notation
	Whole  bool   // Int is the whole value; for lists it is only the first element
	Source string // source of the value: field or global in the runtime's own names
}

// ControlVar is a control variable with its current value.
type ControlVar struct {
	Name   string // environment variable's name, such as OMP_NUM_THREADS
	Value  string
	Source string // source of the value
}
