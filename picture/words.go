package picture

import (
	"fmt"
	"slices"
	"strings"
)

// The words of a picture. Each set has a type of its own, so that the compiler keeps them apart;
// JSON has them as strings. A picture that a newer version of the tool saved may have values
// that are not among the constants.

// TargetKind is the kind of a target.
type TargetKind string

// Kinds of targets.
const (
	TargetCore     TargetKind = "core"
	TargetProcess  TargetKind = "process"
	TargetDebugger TargetKind = "debugger" // a program in a debugger that did not name its kind
)

// Role is the role of a thread in OpenMP terms.
type Role string

// Roles of threads.
const (
	RoleInitial Role = "initial" // the thread of an implicit outermost region
	RolePrimary Role = "primary" // thread number 0 of a team that it forked, and not an initial thread
	RoleWorker  Role = "worker"
	RoleIdle    Role = "idle"    // in the runtime's pool, in no team
	RoleNone    Role = "none"    // not an OpenMP thread
	RoleUnknown Role = "unknown" // the role could not be read
)

// StateName is a state of a thread, by the standard's name without the prefix.
type StateName string

// The states of OpenMP 6.0 in the order of their values, and the states that the tool adds.
const (
	StateWorkSerial            StateName = "work_serial"
	StateWorkParallel          StateName = "work_parallel"
	StateWorkReduction         StateName = "work_reduction"
	StateWorkFreeAgent         StateName = "work_free_agent"
	StateWorkInduction         StateName = "work_induction"
	StateBarrier               StateName = "wait_barrier"
	StateBarrierParallel       StateName = "wait_barrier_implicit_parallel"
	StateBarrierWorkshare      StateName = "wait_barrier_implicit_workshare"
	StateBarrierImplicit       StateName = "wait_barrier_implicit"
	StateBarrierExplicit       StateName = "wait_barrier_explicit"
	StateBarrierImplementation StateName = "wait_barrier_implementation"
	StateBarrierTeams          StateName = "wait_barrier_teams"
	StateTaskwait              StateName = "wait_taskwait"
	StateTaskgroup             StateName = "wait_taskgroup"
	StateMutex                 StateName = "wait_mutex"
	StateLock                  StateName = "wait_lock"
	StateCritical              StateName = "wait_critical"
	StateAtomic                StateName = "wait_atomic"
	StateOrdered               StateName = "wait_ordered"
	StateTarget                StateName = "wait_target"
	StateTargetMap             StateName = "wait_target_map"
	StateTargetUpdate          StateName = "wait_target_update"
	StateIdle                  StateName = "idle"
	StateOverhead              StateName = "overhead"
	StateUndefined             StateName = "undefined" // unknown; the evidence has the reason

	// The standard does not have these: for OpenMP, such a thread is at work.

	StateCondition   StateName = "wait_condition"
	StateSemaphore   StateName = "wait_semaphore"
	StateStatic      StateName = "wait_static" // for the initialization of a static variable in a function of C++
	StateOnce        StateName = "wait_once"   // for the end of a function that is executed once for a flag
	StateJoin        StateName = "wait_join"
	StateFutex       StateName = "wait_futex"
	StateFlag        StateName = "wait_flag" // for a word that a loop reads until it changes
	StateReadWrite   StateName = "wait_rwlock"
	StateCall        StateName = "wait_call"  // in a system call that another process or a device ends
	StateSleep       StateName = "wait_sleep" // for time to pass, or for a signal
	StateThreads     StateName = "wait_pthread_barrier"
	StateEndlessLoop StateName = "endless_loop" // in a loop of the program that has no way out
	StateEnding      StateName = "ending"       // it does not return to the program's code
	StateMPI         StateName = "wait_mpi"     // in a function of MPI
	StatePause       StateName = "wait_pause"   // for the start or the end of a pause of all Python threads
)

// Waits reports whether a thread in this state waits for another thread or a task.
func (s StateName) Waits() bool { return strings.HasPrefix(string(s), "wait") }

// Counted reports whether the runtime counts the waits of threads in this state: those at barriers and for tasks, not
// those for locks.
func (s StateName) Counted() bool {
	return slices.ContainsFunc([]string{"wait_barrier", "wait_task"}, func(prefix string) bool {
		return strings.HasPrefix(string(s), prefix)
	})
}

// StateSource is the source of a thread's state.
type StateSource string

// Sources of states.
const (
	StateTracked  StateSource = "tracked"  // the runtime keeps a state word
	StateInferred StateSource = "inferred" // from registers, stacks and the runtime's fields
)

// FrameKind classifies the code of a frame by its owner.
type FrameKind string

// Kinds of frames.
const (
	FrameUser    FrameKind = "user"
	FrameRuntime FrameKind = "runtime" // code of an OpenMP runtime, or called by it
	FrameSystem  FrameKind = "system"  // C library, loader, thread start
	FramePseudo  FrameKind = "pseudo"  // represents the runtime's activity
)

// TaskKind is the kind of a task region.
type TaskKind string

// Kinds of tasks.
const (
	TaskInitial  TaskKind = "initial"
	TaskImplicit TaskKind = "implicit"
	TaskExplicit TaskKind = "explicit"
	TaskTarget   TaskKind = "target"
)

// TaskState is the state of a task.
type TaskState string

// States of tasks.
const (
	TaskRunning   TaskState = "running"
	TaskWaiting   TaskState = "waiting" // suspended at a scheduling point
	TaskQueued    TaskState = "queued"  // ready, not yet started
	TaskBlocked   TaskState = "blocked" // has unfinished predecessors
	TaskCreated   TaskState = "created" // allocated, not yet handed to the scheduler
	TaskCompleted TaskState = "completed"
)

// Flags of tasks that this tool distinguishes; a runtime may have more.
const (
	FlagUntied     = "untied"
	FlagDetachable = "detachable"
	// FlagCancelledGroup is set for a started task in a taskgroup that is cancelled, or within one: other tasks of it
	// that had not started are discarded.
	FlagCancelledGroup = "in_cancelled_taskgroup"
)

// Languages of interpreted code.
const (
	LanguagePython = "Python"
	LanguageR      = "R"
)

// InterpreterLock names the lock of CPython's interpreter, of kind WaitMutex.
const InterpreterLock = "of Python's interpreter (GIL)"

// InterpreterLockOf names the lock of a CPython interpreter in a process with several such locks.
func InterpreterLockOf(interpreter int64) string {
	return fmt.Sprintf("of Python's interpreter %d (GIL)", interpreter)
}

// IsInterpreterLock reports whether a name is that of a lock of a CPython interpreter.
func IsInterpreterLock(name string) bool {
	return strings.HasPrefix(name, "of Python's interpreter") && strings.HasSuffix(name, "(GIL)")
}

// Names of waits of kind WaitPause: of the thread that requested the pause, and of the threads that it stopped.
const (
	PauseStart = "start of the pause of all Python threads"
	PauseEnd   = "end of the pause of all Python threads"
)

// Names of locks of kind WaitMutex that libraries have for themselves.
const (
	LoaderLock    = "of the dynamic loader (held while libraries are loaded or unloaded and their constructors run)"
	AllocatorLock = "of malloc"
	FortranUnits  = "of Fortran's table of units"
	FortranUnit   = "of Fortran unit" // with its number
)

// InterruptedBy is the start of the How of a frame that a signal interrupted, followed by the name of the signal.
// CrashedBy follows if the signal reported the end of the program, with its reason.
const (
	InterruptedBy = "interrupted by "
	CrashedBy     = ": the program had crashed, as "
)

// RegionLeft is the error of a region whose thread 0 has left its code.
const RegionLeft = "thread 0 is no longer in its code: the call that forked it is not on that thread's stack (left " +
	"by longjmp, or by an exception that was caught outside?)"

// Unnamed is used in place of a name for the critical section without one.
const Unnamed = "(unnamed)"

// VerdictKind is the kind of a verdict. Package diagnose has their titles, and
// docs/verdicts their meanings.
type VerdictKind string

// Kinds of verdicts.
const (
	VerdictDeadlock         VerdictKind = "deadlock"
	VerdictSelfDeadlock     VerdictKind = "self_deadlock"
	VerdictLockOrphaned     VerdictKind = "lock_orphaned"
	VerdictLockFreed        VerdictKind = "lock_freed"
	VerdictLockHandedOver   VerdictKind = "lock_handed_over"
	VerdictBarrierMissing   VerdictKind = "barrier_missing"
	VerdictBarrierDivergent VerdictKind = "barrier_divergent"
	VerdictTaskStarved      VerdictKind = "task_starved"
	VerdictNeverWoken       VerdictKind = "never_woken"
	VerdictSpinning         VerdictKind = "spinning"
	VerdictIllegalBarrier   VerdictKind = "illegal_barrier"
	VerdictBlockedOutside   VerdictKind = "blocked_outside"
	VerdictDoacrossStuck    VerdictKind = "doacross_stuck"
	VerdictStackOverflow    VerdictKind = "stack_overflow"
	VerdictCrash            VerdictKind = "crash"
	VerdictOneThread        VerdictKind = "one_thread"
	VerdictForkChild        VerdictKind = "fork_child"
	VerdictThreadEnded      VerdictKind = "thread_ended"
	VerdictTwoRuntimes      VerdictKind = "two_runtimes"
	VerdictOversubscribed   VerdictKind = "oversubscribed"
	VerdictSharedProcessor  VerdictKind = "shared_processor"
	VerdictOverwritten      VerdictKind = "memory_overwritten"
	VerdictLockOrder        VerdictKind = "lock_order"
	VerdictImbalance        VerdictKind = "imbalance"
	VerdictContention       VerdictKind = "contention"
	VerdictTinyTasks        VerdictKind = "tiny_tasks"
	VerdictHostFallback     VerdictKind = "host_fallback"
)

// Certainty is the certainty of a conclusion.
type Certainty string

// Certainties, the surest first.
const (
	Certain  Certainty = "certain"
	Likely   Certainty = "likely"
	Possible Certainty = "possible"
)

// Rank returns 0 for the highest certainty; an unknown word has the lowest.
func (c Certainty) Rank() int { return rank(c, Certain, Likely, Possible) }

// Weaker returns the lower of two certainties.
func (c Certainty) Weaker(d Certainty) Certainty {
	if c.Rank() >= d.Rank() {
		return c
	}
	return d
}

// Severity is the severity of a verdict.
type Severity string

// Severities, the worst first.
const (
	SeverityCrash   Severity = "crash"
	SeverityHang    Severity = "hang"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Rank returns 0 for the worst; an unknown word comes last.
func (s Severity) Rank() int {
	return rank(s, SeverityCrash, SeverityHang, SeverityWarning, SeverityInfo)
}

// rank returns the index of a word among the known ones, or their number for another word.
func rank[T ~string](word T, known ...T) int {
	if i := slices.Index(known, word); i >= 0 {
		return i
	}
	return len(known)
}

// CheckStatus is the result of a check of doctor.
type CheckStatus string

// Statuses of checks.
const (
	CheckOK      CheckStatus = "ok"
	CheckPartly  CheckStatus = "partly"
	CheckMissing CheckStatus = "missing"
)
