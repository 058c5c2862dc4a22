// Package picture is what is known of a target, as plain structs: the JSON contract of
// the tool (proto/picture.schema.json), which the printers print and from which verdicts
// are drawn. It imports nothing of this module and knows no target.
//
// Addresses are strings "0x…" in JSON, what is absent is missing and never 0, and each
// part that could not be read has its error beside it.
package picture

import (
	"slices"
	"strconv"
	"strings"
)

// Schema names the version of the JSON form of a Picture. The number before the
// point changes when a consumer of the former version would break.
const Schema = SchemaName + "/2.0"

// SchemaName is the part of Schema that all versions have.
const SchemaName = "ompd-inspect/picture"

// Picture is everything that was asked for of a target.
type Picture struct {
	Schema string `json:"schema"`
	Target Target `json:"target"`
	// Verdicts say what is wrong, if something is; the worst first.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	Runtimes []Runtime `json:"runtimes,omitempty"`
	Threads  []Thread  `json:"threads,omitempty"`
	Regions  []Region  `json:"regions,omitempty"`
	Tasks    []Task    `json:"tasks,omitempty"`
	ICVs     []ICV     `json:"icvs,omitempty"`
	// ControlVars are the control variables in force.
	ControlVars []ControlVar `json:"control_vars,omitempty"`
	// Stacks are the user-model stacks, merged.
	Stacks []MergedStack `json:"stacks,omitempty"`
	// Layout says where everything lies in the runtimes' memory.
	Layout []LayoutEntry `json:"layout,omitempty"`
	// Checks are what doctor found.
	Checks []Check `json:"checks,omitempty"`
	// Facts are what the verdicts were drawn from.
	Facts    *Facts   `json:"facts,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Unreached are parts that are not complete as the budget of the look was spent:
	// threads, regions, tasks, verdicts. A warning says what to do.
	Unreached []string `json:"unreached,omitempty"`
}

// Target says what was looked at.
type Target struct {
	Kind         string  `json:"kind"` // core or process
	Path         string  `json:"path,omitempty"`
	PID          int     `json:"pid,omitempty"`
	Executable   string  `json:"executable,omitempty"`
	Arch         string  `json:"arch"`
	Signal       string  `json:"signal,omitempty"`        // such as SIGSEGV; missing if none was recorded
	FaultAddress *Hex    `json:"fault_address,omitempty"` // of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP
	SignalCode   *int    `json:"signal_code,omitempty"`   // why the signal came: si_code
	CrashedLWP   int     `json:"crashed_lwp,omitempty"`   // the thread that got the signal
	Producer     string  `json:"producer,omitempty"`      // who wrote the core: kernel, gcore, ompd-inspect
	Command      string  `json:"command,omitempty"`       // command line, as far as the core keeps it
	Threads      int     `json:"threads"`                 // native threads
	Place        *Place  `json:"place,omitempty"`         // where the crashed thread was in OpenMP terms
	Frames       []Frame `json:"frames,omitempty"`        // the crashed thread's user stack
	Pause        *Pause  `json:"pause,omitempty"`         // of a process: what looking at it cost it
	Rank         *Rank   `json:"rank,omitempty"`          // of a process of an MPI job
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
	Standstill *Standstill `json:"standstill,omitempty"`

	Threads      int   `json:"threads"`             // that were stopped at once; 0 if none was
	Stops        int   `json:"stops"`               // how often
	Microseconds int64 `json:"microseconds"`        // all stops together
	Unsettled    int   `json:"unsettled,omitempty"` // words that changed while they were read
	Running      int   `json:"running,omitempty"`   // threads that ran while they were looked at
}

// Standstill is a time in which a process made no progress.
type Standstill struct {
	Seconds float64 `json:"seconds"`
	Outside bool    `json:"outside,omitempty"` // a thread waits for what another process may do
	Spun    []Spin  `json:"spun,omitempty"`    // threads that used processors, and came nowhere
}

// Spin is what a thread used without getting on.
type Spin struct {
	LWP        int     `json:"lwp"`
	CPUSeconds float64 `json:"cpu_seconds"`
}

// Place is a thread's place in OpenMP terms.
type Place struct {
	Role      Role      `json:"role"`
	ThreadNum *int      `json:"thread_num,omitempty"`
	TeamSize  *int      `json:"team_size,omitempty"`
	Level     *int      `json:"level,omitempty"`
	Region    ID        `json:"region,omitempty"`
	Task      ID        `json:"task,omitempty"`
	State     StateName `json:"state,omitempty"`
}

// Runtime is one OpenMP runtime in the target.
type Runtime struct {
	ID         string `json:"id"` // its family, with -2 behind it for the second of its kind
	Name       string `json:"name"`
	Version    string `json:"version,omitempty"`
	VersionBy  string `json:"version_by,omitempty"`
	OMPVersion int64  `json:"openmp,omitempty"` // value of _OPENMP
	Path       string `json:"path,omitempty"`
	BuildID    string `json:"build_id,omitempty"`
	Layout     string `json:"layout"` // where its layout came from, in one line
	Tracking   bool   `json:"state_tracking"`
	// Damage says which of its fields contradict one another: its memory was overwritten.
	Damage []string `json:"damage,omitempty"`
}

// ID names a region or a task within one picture; equal IDs of pictures of one
// stop name the same thing.
type ID string

// Thread is one native thread of the target, or one that only the runtime knows.
type Thread struct {
	LWP         int         `json:"lwp,omitempty"`
	Pthread     *Hex        `json:"pthread,omitempty"`
	Runtime     string      `json:"runtime,omitempty"` // ID of the runtime that knows it
	Number      *int64      `json:"number,omitempty"`  // the runtime's own number (LLVM: the gtid)
	Role        Role        `json:"role"`
	ThreadNum   *int        `json:"thread_num,omitempty"`
	TeamSize    *int        `json:"team_size,omitempty"`
	Level       *int        `json:"level,omitempty"`
	ActiveLevel *int        `json:"active_level,omitempty"`
	Levels      []LevelInfo `json:"levels,omitempty"` // outermost (level 0) first
	Region      ID          `json:"region,omitempty"`
	Task        ID          `json:"task,omitempty"`
	State       *State      `json:"state,omitempty"`
	WaitID      *Hex        `json:"wait_id,omitempty"`
	WaitKind    WaitKind    `json:"wait_kind,omitempty"`
	WaitName    string      `json:"wait_name,omitempty"` // of the lock or critical section, if it is known
	WaitOn      int         `json:"wait_on,omitempty"`   // LWP that must go on first, if what it waits for says so
	Sleep       *Sleep      `json:"sleep,omitempty"`     // how long it sleeps, if WaitKind is sleep
	MPI         *MPICall    `json:"mpi,omitempty"`       // the routine of MPI that it waits in
	Loop        *Loop       `json:"loop,omitempty"`      // the worksharing loop that it is in, if that is known
	Hidden      bool        `json:"hidden_helper,omitempty"`
	Goroutine   int64       `json:"goroutine,omitempty"` // of Go's, that the thread runs
	Crashed     bool        `json:"crashed,omitempty"`
	Stack       []Frame     `json:"stack,omitempty"`      // native, innermost first
	UserStack   []Frame     `json:"user_stack,omitempty"` // user model, innermost first
	Errors      []string    `json:"errors,omitempty"`
}

// Sleep is how long a thread sleeps.
type Sleep struct {
	// Seconds is the time that the call was given; missing if it is not known, or the kernel has
	// overwritten it.
	Seconds *float64 `json:"seconds,omitempty"`
	// Left is what was left of it when it was inspected: what the kernel wrote when the call was
	// interrupted, or the time to its deadline. It is missing if neither tells.
	Left    *float64 `json:"left_seconds,omitempty"`
	Endless bool     `json:"endless,omitempty"` // only a signal ends it
}

// Loop is a worksharing loop, or sections, as a thread sees it, by what the runtime
// keeps and what the code of the thread's frames shows; what neither tells is
// missing. Values of the loop's variable are those that the compiler gave to the
// runtime: GCC gives the program's, clang counts iterations from 0. Of sections they
// are their numbers.
type Loop struct {
	// static, dynamic, guided, trapezoidal, distribute, sections, dynamic or sections
	Schedule   string  `json:"schedule"`
	Chunk      *uint64 `json:"chunk,omitempty"` // iterations that a thread gets at once; of guided the least
	Ordered    bool    `json:"ordered,omitempty"`
	First      *int64  `json:"first,omitempty"` // value of the loop's variable
	Last       *int64  `json:"last,omitempty"`
	Step       *int64  `json:"step,omitempty"`
	Iterations *uint64 `json:"iterations,omitempty"` // of the whole loop
	Left       *uint64 `json:"left,omitempty"`       // iterations that no thread has got yet
	From       *int64  `json:"from,omitempty"`       // the values that the thread has got
	To         *int64  `json:"to,omitempty"`
	At         *int64  `json:"at,omitempty"` // the value that the thread is in
	Evidence   string  `json:"evidence,omitempty"`
}

// LevelInfo is a thread's place at one nesting level.
type LevelInfo struct {
	Level     int  `json:"level"`
	ThreadNum *int `json:"thread_num,omitempty"`
	TeamSize  *int `json:"team_size,omitempty"`
	Region    ID   `json:"region,omitempty"`
}

// State is what a thread does, in the standard's words without the prefix.
type State struct {
	Name     StateName   `json:"name"`
	Source   StateSource `json:"source"` // tracked or inferred
	Evidence string      `json:"evidence,omitempty"`
	// Standard is the state in the standard's words, if the standard has none of that name:
	// a thread that waits for a mutex of the C library is at work for OpenMP.
	Standard StateName `json:"standard,omitempty"`
	// Recorded is the state that the thread's events lead to, of a program with the recorder.
	Recorded StateName `json:"recorded,omitempty"`
}

// Frame is one frame of a stack.
type Frame struct {
	Kind     FrameKind `json:"kind"` // user, runtime, system, pseudo; see the Frame… constants
	Function string    `json:"function,omitempty"`
	File     string    `json:"file,omitempty"`
	Line     int       `json:"line,omitempty"`
	// Near tells that the compiler gave the code no line, as it does where it makes one call of two: Line is that
	// of the nearest code before it.
	Near  bool `json:"near,omitempty"`
	PC    *Hex `json:"pc,omitempty"`
	Entry *Hex `json:"entry,omitempty"` // of the native function; not on frames that are inlined in it
	// from the function's entry, bytes; without a name, in the module's file
	Offset  uint64 `json:"offset,omitempty"`
	Module  string `json:"module,omitempty"`
	Inlined bool   `json:"inlined,omitempty"`
	How     string `json:"how,omitempty"` // set if the frame was guessed: by what
	// LWP is set on the first frame that belongs to another thread: the one
	// that forked the region in which the frames above run.
	LWP int `json:"lwp,omitempty"`
	// Goroutine is the number of the goroutine on whose stack the frame lies.
	Goroutine int64 `json:"goroutine,omitempty"`
	Outlined

	values *Values
}

// Outlined is what compilers make functions of, of the code of constructs.
type Outlined struct {
	// Construct is what the function was outlined from, such as "parallel" or
	// "task"; empty for a plain function.
	Construct string `json:"construct,omitempty"`
	// In is the function of the program in which that construct stands.
	In string `json:"in,omitempty"`
}

// Region is one parallel region; every level has one, serialized ones too.
type Region struct {
	ID          ID       `json:"id"`
	Runtime     string   `json:"runtime,omitempty"`
	Parent      ID       `json:"parent,omitempty"`
	Level       int      `json:"level"`
	ActiveLevel int      `json:"active_level"`
	TeamSize    int      `json:"team_size"`
	Serialized  bool     `json:"serialized"`
	League      int      `json:"league,omitempty"` // teams in the league, inside a teams construct
	Function    *Code    `json:"function,omitempty"`
	Threads     []int    `json:"threads"` // LWPs by thread number; those that are elsewhere now are left out
	Errors      []string `json:"errors,omitempty"`
}

// Code is a function and the source line of the construct that it was made from.
type Code struct {
	Address  *Hex   `json:"address,omitempty"`
	Name     string `json:"name,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	LineFrom string `json:"line_from,omitempty"` // how the line is known: runtime, debug information, call site
	// Module and Offset are the file that the code is in, and where, if it has no name.
	Module string `json:"module,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
}

// Task is one task region.
type Task struct {
	ID                 ID        `json:"id"`
	Runtime            string    `json:"runtime,omitempty"`
	Kind               TaskKind  `json:"kind"`
	State              TaskState `json:"state"`
	Parent             ID        `json:"parent,omitempty"`
	Region             ID        `json:"region,omitempty"`
	Thread             int       `json:"thread,omitempty"` // LWP that runs it or has it suspended
	ThreadNum          *int      `json:"thread_num,omitempty"`
	Function           *Code     `json:"function,omitempty"`
	Flags              []string  `json:"flags,omitempty"`
	IncompleteChildren *int      `json:"incomplete_children,omitempty"`
	WaitsFor           []ID      `json:"waits_for,omitempty"`
	Predecessors       int       `json:"predecessors,omitempty"` // unfinished ones, by the runtime's own count
	Errors             []string  `json:"errors,omitempty"`
}

// ICV is one internal control variable at one place.
type ICV struct {
	Name    string `json:"name"`
	Scope   string `json:"scope"`
	Runtime string `json:"runtime,omitempty"`
	Thread  int    `json:"thread,omitempty"` // LWP, for scope thread
	Region  ID     `json:"region,omitempty"` // for scope parallel
	Task    ID     `json:"task,omitempty"`   // for scope task and implicit_task
	Value   string `json:"value,omitempty"`
	Source  string `json:"source,omitempty"`
	Error   string `json:"error,omitempty"` // why there is no value
}

// ControlVar is one control variable as it is in force.
type ControlVar struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// MergedStack is one user-model stack and the threads that have it.
type MergedStack struct {
	Count   int     `json:"count"`
	Threads []int   `json:"threads"` // LWPs
	Frames  []Frame `json:"frames"`
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
