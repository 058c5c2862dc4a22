// Package picture is what is known of a target, as plain structs: the JSON contract of
// the tool (proto/picture.schema.json), which the printers print and from which verdicts
// are drawn. It imports nothing of this module and knows no target.
//
// Addresses are strings "0x…" in JSON, what is absent is missing and never 0, and each
// part that could not be read has its error beside it.
//
// The structs are the only declaration of the contract. The tags of a field have its JSON
// key, its number in the .proto, and what its type does not say of its values; go generate
// makes the .proto, the JSON schemas and the list of the API of them (tools/contract).
package picture

//go:generate go -C ../tools run ./contract -root ..

import (
	"slices"
	"strconv"
	"strings"
)

// Schema names the version of the JSON form of a Picture. The number before the
// point changes when a consumer of the former version would break.
const Schema = SchemaName + "/3.0"

// SchemaName is the part of Schema that all versions have.
const SchemaName = "ompd-inspect/picture"

// Picture is everything that was asked for of a target.
type Picture struct {
	// Version of the JSON form, such as ompd-inspect/picture/3.0.
	Schema string `json:"schema" pb:"1" schema:"const=Schema"`
	Target Target `json:"target" pb:"2"`
	// Verdicts say what is wrong, if something is; the worst first.
	Verdicts []Verdict `json:"verdicts,omitempty" pb:"13"`
	Runtimes []Runtime `json:"runtimes,omitempty" pb:"3"`
	Threads  []Thread  `json:"threads,omitempty" pb:"4"`
	Regions  []Region  `json:"regions,omitempty" pb:"5"`
	Tasks    []Task    `json:"tasks,omitempty" pb:"6"`
	ICVs     []ICV     `json:"icvs,omitempty" pb:"7"`
	// ControlVars are the control variables in force.
	ControlVars []ControlVar `json:"control_vars,omitempty" pb:"8"`
	// Stacks are the user-model stacks, merged.
	Stacks []MergedStack `json:"stacks,omitempty" pb:"9"`
	// Layout says where everything lies in the runtimes' memory.
	Layout []LayoutEntry `json:"layout,omitempty" pb:"10"`
	// Checks are what doctor found.
	Checks []Check `json:"checks,omitempty" pb:"11"`
	// Facts are what the verdicts were drawn from.
	Facts    *Facts   `json:"facts,omitempty" pb:"15"`
	Warnings []string `json:"warnings,omitempty" pb:"12"`
	// Incomplete are parts that are not complete as the budget of the look was spent:
	// threads, regions, tasks, verdicts. A warning says what to do.
	Incomplete []string `json:"incomplete,omitempty" pb:"14" schema:"enum=threads|regions|tasks|verdicts"`
}

// Target says what was looked at.
type Target struct {
	Kind       TargetKind `json:"kind" pb:"1"`
	Path       string     `json:"path,omitempty" pb:"2"`
	PID        int        `json:"pid,omitempty" pb:"3"`
	Executable string     `json:"executable,omitempty" pb:"4"`
	Arch       string     `json:"arch" pb:"5" schema:"enum=x86-64|aarch64"`
	// Such as SIGSEGV; missing if none was recorded.
	Signal string `json:"signal,omitempty" pb:"6"`
	// Of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP.
	FaultAddress *Hex `json:"fault_address,omitempty" pb:"7" schema:"null"`
	SignalCode   *int `json:"signal_code,omitempty" pb:"15"`               // why the signal came: si_code
	CrashedLWP   int  `json:"crashed_lwp,omitempty" pb:"8" schema:"min=1"` // the thread that got the signal
	// Who wrote the core: kernel, gcore, ompd-inspect.
	Producer string `json:"producer,omitempty" pb:"9"`
	// Command line, as far as the core keeps it.
	Command string `json:"command,omitempty" pb:"10"`
	Threads int    `json:"threads" pb:"11" schema:"min=0"` // native threads
	// Where the crashed thread was in OpenMP terms.
	Place  *Place  `json:"place,omitempty" pb:"12"`
	Frames []Frame `json:"frames,omitempty" pb:"13"` // the crashed thread's user stack
	// Of a process: what looking at it cost it.
	Pause *Pause `json:"pause,omitempty" pb:"14"`
	Rank  *Rank  `json:"rank,omitempty" pb:"16"` // of a process of an MPI job
}

// Name is what to type for the target behind a verb: the path of a core, the number
// of a process.
func (t Target) Name() string {
	if t.Path == "" && t.PID != 0 {
		return strconv.Itoa(t.PID)
	}
	return t.Path
}

// Pause is what looking at a process cost it.
type Pause struct {
	// Standstill is why it was looked at, if nobody asked for it: it made no progress.
	Standstill *Standstill `json:"standstill,omitempty" pb:"6"`

	Threads      int   `json:"threads" pb:"1" schema:"min=0"`             // that were stopped at once; 0 if none was
	Stops        int   `json:"stops" pb:"2" schema:"min=0"`               // how often
	Microseconds int64 `json:"microseconds" pb:"3" schema:"min=0"`        // all stops together
	Unsettled    int   `json:"unsettled,omitempty" pb:"4" schema:"min=1"` // words that changed while they were read
	Running      int   `json:"running,omitempty" pb:"5" schema:"min=1"`   // threads that ran while they were looked at
}

// Standstill is a time in which a process made no progress.
type Standstill struct {
	Seconds      float64 `json:"seconds" pb:"1" schema:"min=0"`
	WaitsOutside bool    `json:"waits_outside,omitempty" pb:"3"` // a thread waits for what another process may do
	Spinning     []Spin  `json:"spinning,omitempty" pb:"2"`      // threads that used processors, and came nowhere
}

// Spin is what a thread used without getting on.
type Spin struct {
	LWP        int     `json:"lwp" pb:"1" schema:"min=1"`
	CPUSeconds float64 `json:"cpu_seconds" pb:"2" schema:"min=0"`
}

// Place is a thread's place in OpenMP terms.
type Place struct {
	Role      Role      `json:"role" pb:"1"`
	ThreadNum *int      `json:"thread_num,omitempty" pb:"2" schema:"min=0"`
	TeamSize  *int      `json:"team_size,omitempty" pb:"3" schema:"min=1"`
	Level     *int      `json:"level,omitempty" pb:"4" schema:"min=0"`
	Region    ID        `json:"region,omitempty" pb:"5"`
	Task      ID        `json:"task,omitempty" pb:"6"`
	State     StateName `json:"state,omitempty" pb:"7"`
}

// Runtime is one OpenMP runtime in the target.
type Runtime struct {
	ID         string `json:"id" pb:"1"` // its family, with -2 behind it for the second of its kind
	Name       string `json:"name" pb:"2"`
	Version    string `json:"version,omitempty" pb:"3"`    // missing if it could not be told
	VersionBy  string `json:"version_by,omitempty" pb:"4"` // what the version was concluded from
	OMPVersion int64  `json:"openmp,omitempty" pb:"5"`     // value of _OPENMP
	Path       string `json:"path,omitempty" pb:"6"`
	BuildID    string `json:"build_id,omitempty" pb:"7"` // hexadecimal
	Layout     string `json:"layout" pb:"8"`             // where its layout came from, in one line
	Tracking   bool   `json:"state_tracking" pb:"9"`     // the runtime keeps states itself
	// Damage says which of its fields contradict one another: its memory was overwritten.
	Damage []string `json:"damage,omitempty" pb:"10"`
}

// ID names a region, a task, a lock or a barrier within the pictures of one stop; it is
// opaque.
//
//contract:schema {"type": "string", "minLength": 1}
type ID string

// Thread is one native thread of the target, or one that only the runtime knows.
type Thread struct {
	LWP         int         `json:"lwp,omitempty" pb:"1" schema:"min=1"`
	Pthread     *Hex        `json:"pthread,omitempty" pb:"2"`
	Runtime     string      `json:"runtime,omitempty" pb:"3"` // ID of the runtime that knows it
	Number      *int64      `json:"number,omitempty" pb:"4"`  // the runtime's own number (LLVM: the gtid)
	Role        Role        `json:"role" pb:"5"`
	ThreadNum   *int        `json:"thread_num,omitempty" pb:"6" schema:"min=0"`
	TeamSize    *int        `json:"team_size,omitempty" pb:"7" schema:"min=1"`
	Level       *int        `json:"level,omitempty" pb:"8" schema:"min=0"`
	ActiveLevel *int        `json:"active_level,omitempty" pb:"9" schema:"min=0"`
	Levels      []LevelInfo `json:"levels,omitempty" pb:"10"` // outermost (level 0) first
	Region      ID          `json:"region,omitempty" pb:"11"`
	Task        ID          `json:"task,omitempty" pb:"12"`
	State       *State      `json:"state,omitempty" pb:"13"`
	WaitID      *Hex        `json:"wait_id,omitempty" pb:"14"`
	WaitKind    WaitKind    `json:"wait_kind,omitempty" pb:"15"` // what is at wait_id
	WaitName    string      `json:"wait_name,omitempty" pb:"16"` // of the lock or critical section, if it is known
	// LWP that must go on first, if what it waits for says so.
	WaitOn    int      `json:"wait_on,omitempty" pb:"24"`
	Sleep     *Sleep   `json:"sleep,omitempty" pb:"26"` // how long it sleeps, if WaitKind is sleep
	MPI       *MPICall `json:"mpi,omitempty" pb:"25"`   // the routine of MPI that it waits in
	Loop      *Loop    `json:"loop,omitempty" pb:"23"`  // the worksharing loop that it is in, if that is known
	Hidden    bool     `json:"hidden_helper,omitempty" pb:"17"`
	Goroutine int64    `json:"goroutine,omitempty" pb:"22" schema:"min=1"` // of Go's, that the thread runs
	Crashed   bool     `json:"crashed,omitempty" pb:"18"`
	Stack     []Frame  `json:"stack,omitempty" pb:"19"`      // native, innermost first
	UserStack []Frame  `json:"user_stack,omitempty" pb:"20"` // user model, innermost first
	Errors    []string `json:"errors,omitempty" pb:"21"`     // what could not be read of this, and why
}

// Sleep is how long a thread sleeps.
type Sleep struct {
	// Seconds is the time that the call was given; missing if it is not known, or the kernel has
	// overwritten it.
	Seconds *float64 `json:"seconds,omitempty" pb:"1" schema:"min=0"`
	// Left is what was left of it when it was inspected: what the kernel wrote when the call was
	// interrupted, or the time to its deadline. It is missing if neither tells.
	Left    *float64 `json:"left_seconds,omitempty" pb:"2" schema:"min=0"`
	Endless bool     `json:"endless,omitempty" pb:"3"` // only a signal ends it
}

// Loop is a worksharing loop, or sections, as a thread sees it, by what the runtime
// keeps and what the code of the thread's frames shows; what neither tells is
// missing. Values of the loop's variable are those that the compiler gave to the
// runtime: GCC gives the program's, clang counts iterations from 0. Of sections they
// are their numbers.
type Loop struct {
	Schedule string `json:"schedule" pb:"1" schema:"enum=static|dynamic|guided|trapezoidal|distribute|sections|dynamic or sections"`
	// Iterations that a thread gets at once; of guided the least.
	Chunk      *uint64 `json:"chunk,omitempty" pb:"2" schema:"min=1"`
	Ordered    bool    `json:"ordered,omitempty" pb:"3"`
	First      *int64  `json:"first,omitempty" pb:"4"` // value of the loop's variable
	Last       *int64  `json:"last,omitempty" pb:"5"`  // the last value of the loop's variable
	Step       *int64  `json:"step,omitempty" pb:"6"`
	Iterations *uint64 `json:"iterations,omitempty" pb:"7" schema:"min=1"` // of the whole loop
	Left       *uint64 `json:"left,omitempty" pb:"8" schema:"min=0"`       // iterations that no thread has got yet
	From       *int64  `json:"from,omitempty" pb:"9"`                      // the values that the thread has got
	To         *int64  `json:"to,omitempty" pb:"10"`                       // the last value that the thread has got
	At         *int64  `json:"at,omitempty" pb:"12"`                       // the value that the thread is in
	Evidence   string  `json:"evidence,omitempty" pb:"11"`                 // what it was read from
}

// LevelInfo is a thread's place at one nesting level.
type LevelInfo struct {
	Level     int  `json:"level" pb:"1" schema:"min=0"`
	ThreadNum *int `json:"thread_num,omitempty" pb:"2" schema:"min=0"`
	TeamSize  *int `json:"team_size,omitempty" pb:"3" schema:"min=1"`
	Region    ID   `json:"region,omitempty" pb:"4"`
}

// State is what a thread does, in the standard's words without the prefix.
type State struct {
	Name     StateName   `json:"name" pb:"1"`
	Source   StateSource `json:"source" pb:"2"`
	Evidence string      `json:"evidence,omitempty" pb:"3"` // what the state was read or inferred from
	// Standard is the state in the standard's words, if the standard has none of that name:
	// a thread that waits for a mutex of the C library is at work for OpenMP.
	Standard StateName `json:"standard,omitempty" pb:"4"`
	// Recorded is the state that the thread's events lead to, of a program with the recorder.
	Recorded StateName `json:"recorded,omitempty" pb:"5"`
}

// Frame is one frame of a stack.
type Frame struct {
	Kind     FrameKind `json:"kind" pb:"1"`
	Function string    `json:"function,omitempty" pb:"2"`
	File     string    `json:"file,omitempty" pb:"3"`
	Line     int       `json:"line,omitempty" pb:"4" schema:"min=1"`
	// Near tells that the compiler gave the code no line, as it does where it makes one call of two: Line is that
	// of the nearest code before it.
	Near  bool `json:"near,omitempty" pb:"15"`
	PC    *Hex `json:"pc,omitempty" pb:"5"`
	Entry *Hex `json:"entry,omitempty" pb:"14"` // of the native function; not on frames that are inlined in it
	// from the function's entry, bytes; without a name, in the module's file
	Offset  uint64 `json:"offset,omitempty" pb:"6" schema:"min=1"`
	Module  string `json:"module,omitempty" pb:"7"` // base name of the file
	Inlined bool   `json:"inlined,omitempty" pb:"8"`
	How     string `json:"how,omitempty" pb:"9"` // set if the frame was guessed: by what
	// LWP is set on the first frame that belongs to another thread: the one
	// that forked the region in which the frames above run.
	LWP int `json:"lwp,omitempty" pb:"10" schema:"min=1"`
	// Goroutine is the number of the goroutine on whose stack the frame lies.
	Goroutine int64 `json:"goroutine,omitempty" pb:"13" schema:"min=1"`
	Outlined

	values *Values
}

// Outlined is what compilers make functions of, of the code of constructs.
type Outlined struct {
	// Construct is what the function was outlined from, such as "parallel" or
	// "task"; empty for a plain function.
	Construct string `json:"construct,omitempty" pb:"11" schema:"enum=parallel|task|outlined"`
	// In is the function of the program in which that construct stands.
	In string `json:"in,omitempty" pb:"12"`
}

// Region is one parallel region; every level has one, serialized ones too.
type Region struct {
	ID          ID     `json:"id" pb:"1"`
	Runtime     string `json:"runtime,omitempty" pb:"2"`
	Parent      ID     `json:"parent,omitempty" pb:"3"`
	Level       int    `json:"level" pb:"4" schema:"min=0"`
	ActiveLevel int    `json:"active_level" pb:"5" schema:"min=0"`
	TeamSize    int    `json:"team_size" pb:"6" schema:"min=0"`
	Serialized  bool   `json:"serialized" pb:"7"`
	// Teams in the league, inside a teams construct.
	League   int   `json:"league,omitempty" pb:"8" schema:"min=1"`
	Function *Code `json:"function,omitempty" pb:"9"`
	// LWPs by thread number; those that are elsewhere now are left out.
	Threads []int    `json:"threads" pb:"10" schema:"min=1"`
	Errors  []string `json:"errors,omitempty" pb:"11"` // what could not be read of this, and why
}

// Code is a function and the source line of the construct that it was made from.
type Code struct {
	Address *Hex   `json:"address,omitempty" pb:"1"`
	Name    string `json:"name,omitempty" pb:"2"`
	File    string `json:"file,omitempty" pb:"3"`
	Line    int    `json:"line,omitempty" pb:"4" schema:"min=1"` // from 1
	// How the line is known: runtime, debug information, call site.
	LineFrom string `json:"line_from,omitempty" pb:"5" schema:"enum=runtime|debug information|call site"`
	// Module and Offset are the file that the code is in, and where, if it has no name.
	Module string `json:"module,omitempty" pb:"6"`
	Offset uint64 `json:"offset,omitempty" pb:"7"` // where in that file
}

// Task is one task region.
type Task struct {
	ID                 ID        `json:"id" pb:"1"`
	Runtime            string    `json:"runtime,omitempty" pb:"2"`
	Kind               TaskKind  `json:"kind" pb:"3" schema:"empty"`
	State              TaskState `json:"state" pb:"4" schema:"empty"`
	Parent             ID        `json:"parent,omitempty" pb:"5"`
	Region             ID        `json:"region,omitempty" pb:"6"`
	Thread             int       `json:"thread,omitempty" pb:"7" schema:"min=1"` // LWP that runs it or has it suspended
	ThreadNum          *int      `json:"thread_num,omitempty" pb:"8" schema:"min=0"`
	Function           *Code     `json:"function,omitempty" pb:"9"`
	Flags              []string  `json:"flags,omitempty" pb:"10"`
	IncompleteChildren *int      `json:"incomplete_children,omitempty" pb:"11" schema:"min=0"`
	// Unfinished tasks that this one depends on.
	WaitsFor []ID `json:"waits_for,omitempty" pb:"12"`
	// Unfinished ones, by the runtime's own count.
	Predecessors int `json:"predecessors,omitempty" pb:"13" schema:"min=1"`
	// What could not be read of this, and why.
	Errors []string `json:"errors,omitempty" pb:"14"`
}

// ICV is one internal control variable at one place.
//
//contract:message Icv
type ICV struct {
	Name    string `json:"name" pb:"1"` // the standard's name
	Scope   string `json:"scope" pb:"2" schema:"enum=global|address_space|thread|parallel|implicit_task|task"`
	Runtime string `json:"runtime,omitempty" pb:"3"`
	Thread  int    `json:"thread,omitempty" pb:"4" schema:"min=1"` // LWP, for scope thread
	Region  ID     `json:"region,omitempty" pb:"5"`                // for scope parallel
	Task    ID     `json:"task,omitempty" pb:"6"`                  // for scope task and implicit_task
	Value   string `json:"value,omitempty" pb:"7"`
	Source  string `json:"source,omitempty" pb:"8"` // field or global in the runtime's own names
	Error   string `json:"error,omitempty" pb:"9"`  // why there is no value
}

// ControlVar is one control variable as it is in force.
type ControlVar struct {
	Name   string `json:"name" pb:"1"`
	Value  string `json:"value" pb:"2"`
	Source string `json:"source" pb:"3"`
}

// MergedStack is one user-model stack and the threads that have it.
type MergedStack struct {
	Count   int     `json:"count" pb:"1" schema:"min=1"`
	Threads []int   `json:"threads" pb:"2"` // LWPs
	Frames  []Frame `json:"frames" pb:"3"`
}

// Unbegun reports whether a thread may still come to execute the task from its start.
func (t *Task) Unbegun() bool {
	return t.Kind != TaskImplicit && (t.State == TaskQueued || t.State == TaskBlocked || t.State == TaskCreated)
}

// Pending reports whether the task is an explicit one that no thread executes now, and
// that is not finished.
func (t *Task) Pending() bool {
	return t.Kind == TaskExplicit && t.State != TaskRunning && t.State != TaskCompleted
}

// AwaitsEvent reports whether the runtime keeps the task as one that has run and is not
// finished before its event is fulfilled.
func (t *Task) AwaitsEvent() bool {
	return t.State == TaskWaiting && t.Thread == 0 && slices.Contains(t.Flags, FlagDetachable)
}

// Unfinished reports whether the task keeps the one that generated it waiting in a taskwait.
func (t *Task) Unfinished() bool { return t.Kind != TaskImplicit && t.State != TaskCompleted }

// InnermostUser is the place in a stack of the frame that tells best where the program's own
// code is: its innermost one, or, if that has no name, the first of the same module behind it
// that has one. It is -1 if there is none.
func InnermostUser(fs []Frame) int {
	i := innermostUser(fs)
	for j := max(i, 0); j < len(fs); j++ {
		if fs[j].Kind == FrameUser && !fs[j].ofLanguage() {
			return innermostUser(fs[j:]) + j
		}
	}
	return i
}

// languagePaths are parts of the paths of the headers of C++'s standard library, and languageNames
// begin the names of its functions.
var (
	languagePaths = []string{"/include/c++/", "/c++/v1/"}
	languageNames = []string{"std::", "void std::", "bool std::", "__gnu_cxx::", "__gthread_"}
)

// ofLanguage reports whether a frame is that of a function of C++'s standard library, which is in
// headers for the most part.
func (f *Frame) ofLanguage() bool {
	in := func(s string) func(string) bool { return func(part string) bool { return strings.Contains(s, part) } }
	begins := func(p string) bool { return strings.HasPrefix(f.Function, p) }
	return slices.ContainsFunc(languagePaths, in(f.File)) || slices.ContainsFunc(languageNames, begins) ||
		strings.HasPrefix(f.Module, "libstdc++.") || strings.HasPrefix(f.Module, "libc++.")
}

func innermostUser(fs []Frame) int {
	first := slices.IndexFunc(fs, func(f Frame) bool { return f.Kind == FrameUser })
	if first < 0 {
		return -1
	}
	for i, f := range fs[first:] {
		switch {
		case f.Kind != FrameUser || f.Module != fs[first].Module:
			return first
		case f.Function != "" || f.Construct != "" || f.In != "":
			return first + i
		}
	}
	return first
}
