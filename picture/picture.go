// Package picture defines a picture: the snapshot of a target as plain structs, which printers print and verdicts are
// drawn from. Its JSON form is the contract of the tool (proto/picture.schema.json). The package imports no other
// package of this module.
//
// Addresses are strings "0x…" in JSON. An absent value is missing, never 0, and a part that could not be read has its
// error next to it.
//
// The structs are the only declaration of the contract. A field's tags have its JSON key, its number in the .proto, and
// the range of its values where the type does not give it; go generate makes the .proto, the JSON schemas and the list
// of the API from them (tools/contract).
package picture

//go:generate go -C ../tools run ./contract -root ..

import (
	"slices"
	"strconv"
	"strings"
)

// Schema names the version of the JSON form of a Picture. The number before the
// point changes with each change that breaks consumers of the former version.
const Schema = SchemaName + "/3.0"

// SchemaName is the part of Schema that all versions have.
const SchemaName = "ompd-inspect/picture"

// Picture is a snapshot of a target: all parts that the question asked for.
type Picture struct {
	// Version of the JSON form, such as ompd-inspect/picture/3.0.
	Schema string `json:"schema" pb:"1" schema:"const=Schema"`
	Target Target `json:"target" pb:"2"`
	// Verdicts are the problems that were found, the worst first.
	Verdicts []Verdict `json:"verdicts,omitempty" pb:"13"`
	Runtimes []Runtime `json:"runtimes,omitempty" pb:"3"`
	Threads  []Thread  `json:"threads,omitempty" pb:"4"`
	Regions  []Region  `json:"regions,omitempty" pb:"5"`
	Tasks    []Task    `json:"tasks,omitempty" pb:"6"`
	ICVs     []ICV     `json:"icvs,omitempty" pb:"7"`
	// ControlVars are the control variables with their effective values.
	ControlVars []ControlVar `json:"control_vars,omitempty" pb:"8"`
	// Devices are the devices of LLVM's offloading library, with the data that is mapped to them.
	Devices []Device `json:"devices,omitempty" pb:"16"`
	// Stacks are the user-model stacks, merged.
	Stacks []MergedStack `json:"stacks,omitempty" pb:"9"`
	// Layout has the offsets of fields and the addresses of globals of the runtimes.
	Layout []LayoutEntry `json:"layout,omitempty" pb:"10"`
	// Checks are the results of doctor.
	Checks []Check `json:"checks,omitempty" pb:"11"`
	// Facts are the input of the verdicts.
	Facts    *Facts   `json:"facts,omitempty" pb:"15"`
	Warnings []string `json:"warnings,omitempty" pb:"12"`
	// Incomplete lists the parts that are not complete because the budget of the snapshot was spent:
	// threads, regions, tasks, verdicts. A warning has the next command.
	Incomplete []string `json:"incomplete,omitempty" pb:"14" schema:"enum=threads|regions|tasks|verdicts"`
}

// Target describes the inspected core, process or debugger.
type Target struct {
	Kind       TargetKind `json:"kind" pb:"1"`
	Path       string     `json:"path,omitempty" pb:"2"`
	PID        int        `json:"pid,omitempty" pb:"3"`
	Executable string     `json:"executable,omitempty" pb:"4"`
	Arch       string     `json:"arch" pb:"5" schema:"enum=x86-64|aarch64"`
	// Such as SIGSEGV; missing without a signal.
	Signal string `json:"signal,omitempty" pb:"6"`
	// The address of the access or the instruction; for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP.
	FaultAddress *Hex `json:"fault_address,omitempty" pb:"7" schema:"null"`
	SignalCode   *int `json:"signal_code,omitempty" pb:"15"`               // si_code: why the signal was raised
	CrashedLWP   int  `json:"crashed_lwp,omitempty" pb:"8" schema:"min=1"` // the thread that got the signal
	// The writer of the core: kernel, gcore, ompd-inspect.
	Producer string `json:"producer,omitempty" pb:"9"`
	// Command line, as far as the core keeps it.
	Command string `json:"command,omitempty" pb:"10"`
	Threads int    `json:"threads" pb:"11" schema:"min=0"` // native threads
	// Where the crashed thread was in OpenMP terms.
	Place  *Place  `json:"place,omitempty" pb:"12"`
	Frames []Frame `json:"frames,omitempty" pb:"13"` // the crashed thread's user stack
	// For a process: how long the snapshot stopped it.
	Pause *Pause `json:"pause,omitempty" pb:"14"`
	Rank  *Rank  `json:"rank,omitempty" pb:"16"` // for a process of an MPI job
	// Seconds since the start of a process; missing if it is unknown.
	Elapsed float64 `json:"elapsed_seconds,omitempty" pb:"17" schema:"min=0"`
	// CPU time of all threads of the process, in seconds; missing if it is unknown.
	CPU float64 `json:"cpu_seconds,omitempty" pb:"18" schema:"min=0"`
	// Forked is set if it is a fork of another process, and has executed no program since.
	Forked bool `json:"forked,omitempty" pb:"20"`
	// For a process: child processes that its threads wait for, and that hang.
	Hung []Child `json:"hung_children,omitempty" pb:"19"`
}

// Child is a child process that hangs.
type Child struct {
	PID     int     `json:"pid" pb:"1" schema:"min=1"`
	Name    string  `json:"name,omitempty" pb:"2"` // of its program
	Verdict Verdict `json:"verdict" pb:"3"`        // the first verdict of a hang on it
}

// Name returns the argument that names the target on the command line: the path of a core, the PID
// of a process.
func (t Target) Name() string {
	if t.Path == "" && t.PID != 0 {
		return strconv.Itoa(t.PID)
	}
	return t.Path
}

// Pause is the cost of a snapshot for a process.
type Pause struct {
	// Standstill is set if the snapshot was taken because the process made no progress.
	Standstill *Standstill `json:"standstill,omitempty" pb:"6"`

	Threads      int   `json:"threads" pb:"1" schema:"min=0"`             // stopped together, or 0
	Stops        int   `json:"stops" pb:"2" schema:"min=0"`               // number of stops
	Microseconds int64 `json:"microseconds" pb:"3" schema:"min=0"`        // total time of all stops
	Unsettled    int   `json:"unsettled,omitempty" pb:"4" schema:"min=1"` // words that changed while they were read
	Running      int   `json:"running,omitempty" pb:"5" schema:"min=1"`   // threads that ran while they were read
	Suspended    bool  `json:"suspended,omitempty" pb:"7"`                // a signal (SIGSTOP, Ctrl-Z) had stopped the process before
}

// Standstill is a time in which a process made no progress.
type Standstill struct {
	Seconds      float64 `json:"seconds" pb:"1" schema:"min=0"`
	WaitsOutside bool    `json:"waits_outside,omitempty" pb:"3"` // a thread waits for something that another process may do
	Spinning     []Spin  `json:"spinning,omitempty" pb:"2"`      // threads that used CPU time without making progress
}

// Spin is the CPU time that a thread used without making progress.
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
	ID         string `json:"id" pb:"1"` // its family; a suffix -2 marks the second of its kind
	Name       string `json:"name" pb:"2"`
	Version    string `json:"version,omitempty" pb:"3"`    // missing if it is unknown
	VersionBy  string `json:"version_by,omitempty" pb:"4"` // the evidence for the version
	OMPVersion int64  `json:"openmp,omitempty" pb:"5"`     // value of _OPENMP
	Path       string `json:"path,omitempty" pb:"6"`
	BuildID    string `json:"build_id,omitempty" pb:"7"` // hexadecimal
	Layout     string `json:"layout" pb:"8"`             // the sources of its layout, in one line
	Tracking   bool   `json:"state_tracking" pb:"9"`     // the runtime keeps states itself
	// Damage lists fields that contradict one another: the memory was overwritten.
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
	WaitKind    WaitKind    `json:"wait_kind,omitempty" pb:"15"` // the kind of the object at wait_id
	WaitName    string      `json:"wait_name,omitempty" pb:"16"` // name of the lock or critical section, if known
	// LWP of the thread that must proceed first, if the awaited object names it.
	WaitOn int      `json:"wait_on,omitempty" pb:"24"`
	Sleep  *Sleep   `json:"sleep,omitempty" pb:"26"` // the length of the sleep, if WaitKind is sleep
	MPI    *MPICall `json:"mpi,omitempty" pb:"25"`   // the MPI routine that it waits in
	Loop   *Loop    `json:"loop,omitempty" pb:"23"`  // the worksharing loop that it executes, if known
	// Target is the target construct that the thread executes, or waits for.
	Target    *TargetConstruct `json:"target,omitempty" pb:"27"`
	Hidden    bool             `json:"hidden_helper,omitempty" pb:"17"`
	Goroutine int64            `json:"goroutine,omitempty" pb:"22" schema:"min=1"` // number of the goroutine that the thread runs
	// Name is the name of the thread in Python's module threading. The names MainThread and Dummy-N are left out.
	Name      string   `json:"name,omitempty" pb:"28"`
	Crashed   bool     `json:"crashed,omitempty" pb:"18"`
	Stack     []Frame  `json:"stack,omitempty" pb:"19"`      // native, innermost first
	UserStack []Frame  `json:"user_stack,omitempty" pb:"20"` // user model, innermost first
	Errors    []string `json:"errors,omitempty" pb:"21"`     // the parts that could not be read, with the reasons
}

// TargetConstruct is a target construct that a thread has encountered and not left. It is read from the thread's stack,
// the code of its frames and the names of functions; values that these do not show are missing.
type TargetConstruct struct {
	// Construct is target for a region; target data for the begin or the end of a data region, also without a
	// block; or target update.
	Construct string `json:"construct" pb:"1" schema:"enum=target|target data|target update"`
	Function  string `json:"function,omitempty" pb:"2"` // the function of the program that contains the construct
	File      string `json:"file,omitempty" pb:"3"`
	Line      int    `json:"line,omitempty" pb:"4" schema:"min=1"`
	Kernel    string `json:"kernel,omitempty" pb:"5"` // name of the region's function on devices
	// Device is the number of the device, as the program passed it to the runtime.
	Device *int `json:"device,omitempty" pb:"6" schema:"min=0"`
	// DefaultDevice is set if the program passed no number: default-device-var has it.
	DefaultDevice bool `json:"default_device,omitempty" pb:"7"`
	// Executes is set if this thread executes the region itself: the device is the host, or no device executes it.
	Executes bool   `json:"executes,omitempty" pb:"8"`
	OnHost   bool   `json:"on_host,omitempty" pb:"9"` // no device executes the region: the host does
	Call     string `json:"call,omitempty" pb:"10"`   // the runtime's function that the program called
	Evidence string `json:"evidence" pb:"11"`
	// HostReason is the reason why no device executes the region, if it is known.
	HostReason string `json:"host_reason,omitempty" pb:"12"`
	// NoDevice is set if the program asked for a device that the offloading library does not have.
	NoDevice bool `json:"no_device,omitempty" pb:"13"`
}

// Sleep is the length of a thread's sleep.
type Sleep struct {
	// Seconds is the argument of the call; missing if it is unknown, or if the kernel has
	// overwritten it.
	Seconds *float64 `json:"seconds,omitempty" pb:"1" schema:"min=0"`
	// Left is the time that remained at the snapshot: the value that the kernel wrote when the call was
	// interrupted, or the time to its deadline. It is missing if both are unknown.
	Left    *float64 `json:"left_seconds,omitempty" pb:"2" schema:"min=0"`
	Endless bool     `json:"endless,omitempty" pb:"3"` // only a signal ends it
}

// Loop is a worksharing loop, or sections, as a thread sees it. It is read from the runtime's fields and from the
// code of the thread's frames; values that neither has are missing. Values of the loop's variable are those that the
// compiler passes to the runtime: GCC passes the program's, clang counts iterations from 0. For sections they are
// section numbers.
type Loop struct {
	Schedule string `json:"schedule" pb:"1" schema:"enum=static|dynamic|guided|trapezoidal|distribute|sections|dynamic or sections"`
	// Iterations that a thread gets at once; with guided the smallest number.
	Chunk      *uint64 `json:"chunk,omitempty" pb:"2" schema:"min=1"`
	Ordered    bool    `json:"ordered,omitempty" pb:"3"`
	First      *int64  `json:"first,omitempty" pb:"4"` // value of the loop's variable
	Last       *int64  `json:"last,omitempty" pb:"5"`  // the last value of the loop's variable
	Step       *int64  `json:"step,omitempty" pb:"6"`
	Iterations *uint64 `json:"iterations,omitempty" pb:"7" schema:"min=1"` // of the whole loop
	Left       *uint64 `json:"left,omitempty" pb:"8" schema:"min=0"`       // iterations that are not assigned to a thread yet
	From       *int64  `json:"from,omitempty" pb:"9"`                      // the first value that the thread was given
	To         *int64  `json:"to,omitempty" pb:"10"`                       // the last value that the thread was given
	At         *int64  `json:"at,omitempty" pb:"12"`                       // the value that the thread executes now
	Evidence   string  `json:"evidence,omitempty" pb:"11"`                 // where it was read
}

// LevelInfo is a thread's place at one nesting level.
type LevelInfo struct {
	Level     int  `json:"level" pb:"1" schema:"min=0"`
	ThreadNum *int `json:"thread_num,omitempty" pb:"2" schema:"min=0"`
	TeamSize  *int `json:"team_size,omitempty" pb:"3" schema:"min=1"`
	Region    ID   `json:"region,omitempty" pb:"4"`
}

// State is the state of a thread, by the standard's names without the prefix.
type State struct {
	Name     StateName   `json:"name" pb:"1"`
	Source   StateSource `json:"source" pb:"2"`
	Evidence string      `json:"evidence,omitempty" pb:"3"` // where the state was read, or the facts it is inferred from
	// Standard is the closest state of the standard, if that name is not in the standard: for OpenMP, a thread
	// that waits for a mutex of the C library is at work.
	Standard StateName `json:"standard,omitempty" pb:"4"`
	// Recorded is the state by the thread's recorded events, for a program with the recorder.
	Recorded StateName `json:"recorded,omitempty" pb:"5"`
}

// Frame is one frame of a stack.
type Frame struct {
	Kind     FrameKind `json:"kind" pb:"1"`
	Function string    `json:"function,omitempty" pb:"2"`
	File     string    `json:"file,omitempty" pb:"3"`
	Line     int       `json:"line,omitempty" pb:"4" schema:"min=1"`
	// Near is set if the compiler gave the code no line, as it does where it merges two calls: Line is that
	// of the nearest code before it.
	Near  bool `json:"near,omitempty" pb:"15"`
	PC    *Hex `json:"pc,omitempty" pb:"5"`
	Entry *Hex `json:"entry,omitempty" pb:"14"` // entry of the native function; missing on inlined frames
	// from the function's entry, bytes; without a name, in the module's file
	Offset  uint64 `json:"offset,omitempty" pb:"6" schema:"min=1"`
	Module  string `json:"module,omitempty" pb:"7"` // base name of the file
	Inlined bool   `json:"inlined,omitempty" pb:"8"`
	How     string `json:"how,omitempty" pb:"9"` // set if the frame was guessed: the method
	// LWP is set on the first frame that belongs to another thread: the one
	// that forked the region in which the frames above run.
	LWP int `json:"lwp,omitempty" pb:"10" schema:"min=1"`
	// Goroutine is the number of the goroutine with this frame on its stack.
	Goroutine int64 `json:"goroutine,omitempty" pb:"13" schema:"min=1"`
	// Language is the language of interpreted code; empty for machine code. Such a frame has no PC.
	Language string `json:"language,omitempty" pb:"16" schema:"enum=Python|R"`
	Outlined

	values *Values
}

// Outlined describes a function that the compiler made from the body of a construct.
type Outlined struct {
	// Construct is the construct, such as "parallel" or "task"; empty for a plain function.
	Construct string `json:"construct,omitempty" pb:"11" schema:"enum=parallel|task|outlined|target|teams"`
	// In is the function of the program that contains the construct.
	In string `json:"in,omitempty" pb:"12"`
}

// Region is one parallel region. Every level has one, also serialized ones.
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
	// LWPs by thread number, without threads that have left the region.
	Threads []int    `json:"threads" pb:"10" schema:"min=1"`
	Errors  []string `json:"errors,omitempty" pb:"11"` // the parts that could not be read, with the reasons
}

// Code is a function, with the source line of the construct that it was outlined from.
type Code struct {
	Address *Hex   `json:"address,omitempty" pb:"1"`
	Name    string `json:"name,omitempty" pb:"2"`
	File    string `json:"file,omitempty" pb:"3"`
	Line    int    `json:"line,omitempty" pb:"4" schema:"min=1"` // from 1
	// The source of the line: runtime, debug information, call site.
	LineFrom string `json:"line_from,omitempty" pb:"5" schema:"enum=runtime|debug information|call site"`
	// Module is the file of the code, if the function has no name.
	Module string `json:"module,omitempty" pb:"6"`
	Offset uint64 `json:"offset,omitempty" pb:"7"` // offset in that file, bytes
}

// Task is one task region.
type Task struct {
	ID                 ID        `json:"id" pb:"1"`
	Runtime            string    `json:"runtime,omitempty" pb:"2"`
	Kind               TaskKind  `json:"kind" pb:"3" schema:"empty"`
	State              TaskState `json:"state" pb:"4" schema:"empty"`
	Parent             ID        `json:"parent,omitempty" pb:"5"`
	Region             ID        `json:"region,omitempty" pb:"6"`
	Thread             int       `json:"thread,omitempty" pb:"7" schema:"min=1"` // LWP that runs it, or has suspended it
	ThreadNum          *int      `json:"thread_num,omitempty" pb:"8" schema:"min=0"`
	Function           *Code     `json:"function,omitempty" pb:"9"`
	Flags              []string  `json:"flags,omitempty" pb:"10"`
	IncompleteChildren *int      `json:"incomplete_children,omitempty" pb:"11" schema:"min=0"`
	// Unfinished tasks that this one depends on.
	WaitsFor []ID `json:"waits_for,omitempty" pb:"12"`
	// Number of unfinished predecessors, by the runtime's own count.
	Predecessors int `json:"predecessors,omitempty" pb:"13" schema:"min=1"`
	// The parts that could not be read, with the reasons.
	Errors []string `json:"errors,omitempty" pb:"14"`
}

// ICVScopes returns the scopes of internal control variables, the widest first.
func ICVScopes() []string {
	return []string{"global", "address_space", "thread", "parallel", "implicit_task", "task"}
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
	Source  string `json:"source,omitempty" pb:"8"` // field or global, by the runtime's own name
	Error   string `json:"error,omitempty" pb:"9"`  // why there is no value
}

// Device is a device that LLVM's offloading library uses. The host is none.
type Device struct {
	Number  int    `json:"number" pb:"1" schema:"min=0"`
	Library string `json:"library" pb:"2"`          // path of the offloading library
	Plugin  string `json:"plugin,omitempty" pb:"3"` // such as cuda; missing if it is unknown
	// Mapped is the mapped data, by host address.
	Mapped []MappedData `json:"mapped,omitempty" pb:"4"`
	Error  string       `json:"error,omitempty" pb:"5"` // the reason why mapped data is missing
}

// MappedData is a range of the host's memory that is mapped to a device.
type MappedData struct {
	Host    Hex    `json:"host" pb:"1"` // its start
	Bytes   uint64 `json:"bytes" pb:"2" schema:"min=0"`
	Address Hex    `json:"address" pb:"3" schema:"null"` // of the data on the device
	// References is the reference count; missing if the data stays mapped.
	References *uint64 `json:"references,omitempty" pb:"4" schema:"min=0"`
	// Name is the data's expression in the clause that mapped it, or the variable that contains it; missing if neither
	// is known.
	Name string `json:"name,omitempty" pb:"5"`
	File string `json:"file,omitempty" pb:"6"` // of the declaration of its variable or member
	Line int    `json:"line,omitempty" pb:"7" schema:"min=1"`
}

// ControlVar is one control variable with its effective value.
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

// Unbegun reports whether the task has not started, so that a thread may still execute it from its start.
func (t *Task) Unbegun() bool {
	return t.Kind != TaskImplicit && (t.State == TaskQueued || t.State == TaskBlocked || t.State == TaskCreated)
}

// Pending reports whether the task is explicit, its code has not ended, and no thread executes it now.
func (t *Task) Pending() bool {
	return t.Kind == TaskExplicit && t.State != TaskRunning && t.State != TaskCompleted && !t.AwaitsEvent()
}

// AwaitsEvent reports whether the task's code has ended and the task is finished when its event is fulfilled.
func (t *Task) AwaitsEvent() bool {
	return t.State == TaskWaiting && t.Thread == 0 && slices.Contains(t.Flags, FlagDetachable)
}

// Unfinished reports whether a taskwait of the task's parent waits for it.
func (t *Task) Unfinished() bool { return t.Kind != TaskImplicit && t.State != TaskCompleted }

// InnermostUser returns the index of the frame that shows the program's own code best: the innermost one, or,
// if that has no name, the next one of the same module that has a name. It returns -1 without one.
func InnermostUser(fs []Frame) int {
	i := innermostUser(fs)
	for j := max(i, 0); j < len(fs); j++ {
		if fs[j].Kind == FrameUser && !fs[j].InStandardLibrary() {
			return innermostUser(fs[j:]) + j
		}
	}
	return i
}

// languageNames are prefixes of the names of functions of the standard library of C++, and of flang's and gfortran's
// libraries, which static programs contain.
var languageNames = []string{
	"std::", "__gnu_cxx::", "__gthread_", "_FortranA", "_gfortran_",
}

// InStandardLibrary reports whether a frame is in a function of the C++ standard library, which is mostly in headers,
// or of Fortran's.
func (f *Frame) InStandardLibrary() bool {
	_, within, _ := strings.Cut(f.File, "/include/") // such as /usr/include/x86_64-linux-gnu/c++/12/bits
	name := withoutResult(f.Function)
	begins := func(p string) bool { return strings.HasPrefix(name, p) }
	return strings.Contains("/"+within, "/c++/") || slices.ContainsFunc(languageNames, begins) ||
		strings.HasPrefix(f.Module, "libstdc++.") || strings.HasPrefix(f.Module, "libc++.")
}

// withoutResult returns the name of a C++ function without the type of its result, which names of template functions
// start with.
func withoutResult(name string) string {
	start, depth := 0, 0
	for i, c := range name {
		switch {
		case c == '<', c == '{', c == '(' && (depth > 0 || strings.HasPrefix(name[i:], "(anonymous namespace)")):
			depth++
		case c == '(', depth == 0 && strings.HasPrefix(name[i:], "operator"):
			return name[start:]
		case c == '>', c == '}', c == ')':
			depth--
		case c == ' ' && depth == 0:
			start = i + 1
		}
	}
	return name[start:]
}

// InSystemHeader reports whether a frame is in a function that is inlined from a header of the C library or of a
// compiler.
func (f *Frame) InSystemHeader() bool {
	within := func(dir string) bool { return strings.HasPrefix(f.File, dir) }
	return f.Inlined && (within("/usr/include/") || within("/usr/lib/") && strings.Contains(f.File, "/include/"))
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
