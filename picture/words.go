package picture

import (
	"slices"
	"strings"
)

// The words of a picture. Each is a type of its own, so that none is taken for another;
// JSON has them as strings. A value that is not among the constants can come from a
// picture that a newer version of the tool saved.

// TargetKind is the kind of a target.
type TargetKind string

// Kinds of targets.
const (
	TargetCore     TargetKind = "core"
	TargetProcess  TargetKind = "process"
	TargetDebugger TargetKind = "debugger" // a program that a debugger lends without its kind
)

// Role is what a thread is in OpenMP terms.
type Role string

// Roles of threads.
const (
	RoleInitial Role = "initial" // of an implicit outermost region
	RolePrimary Role = "primary" // thread number 0 of a team that it forked, and not an initial thread
	RoleWorker  Role = "worker"
	RoleIdle    Role = "idle"    // in the runtime's pool, in no team
	RoleNone    Role = "none"    // not an OpenMP thread
	RoleUnknown Role = "unknown" // what the thread is could not be read
)

// StateName is a state of a thread, in the standard's words without the prefix.
type StateName string

// The states of OpenMP 6.0, in the order of their values, and those that the tool adds.
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

	// The standard has none of these: such a thread is at work for OpenMP.

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
	StateEnding      StateName = "ending"       // it will not come back to the program's code
	StateMPI         StateName = "wait_mpi"     // in a function of MPI
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

// StateSource is how the state of a thread is known.
type StateSource string

// Sources of states.
const (
	StateTracked  StateSource = "tracked"  // the runtime keeps it
	StateInferred StateSource = "inferred" // from registers, stacks and the runtime's fields
)

// FrameKind is whose code a frame of a stack is in.
type FrameKind string

// Kinds of frames.
const (
	FrameUser    FrameKind = "user"
	FrameRuntime FrameKind = "runtime" // code of an OpenMP runtime, or called by it
	FrameSystem  FrameKind = "system"  // C library, loader, thread start
	FramePseudo  FrameKind = "pseudo"  // stands for what the runtime is doing
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

// TaskState is where a task is in its life.
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

// Flags of tasks that are told apart here; a runtime may have more.
const (
	FlagUntied     = "untied"
	FlagDetachable = "detachable"
)

// InterpreterLock names the lock of CPython's interpreter, of kind WaitMutex.
const InterpreterLock = "of Python's interpreter (GIL)"

// Unnamed stands for the name of the critical section that has none.
const Unnamed = "(unnamed)"

// VerdictKind is the kind of a verdict. Package diagnose has their titles, and
// docs/verdicts.md what each means.
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
)

// Certainty is how sure something is.
type Certainty string

// Certainties, the surest first.
const (
	Certain  Certainty = "certain"
	Likely   Certainty = "likely"
	Possible Certainty = "possible"
)

// Rank is 0 for the surest; a word that is not known is the least sure.
func (c Certainty) Rank() int { return rank(c, Certain, Likely, Possible) }

// Weaker returns the less sure of two certainties.
func (c Certainty) Weaker(d Certainty) Certainty {
	if c.Rank() >= d.Rank() {
		return c
	}
	return d
}

// Severity is how bad what a verdict says is.
type Severity string

// Severities, the worst first.
const (
	SeverityCrash   Severity = "crash"
	SeverityHang    Severity = "hang"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Rank is 0 for the worst; a word that is not known comes last.
func (s Severity) Rank() int {
	return rank(s, SeverityCrash, SeverityHang, SeverityWarning, SeverityInfo)
}

// rank is the place of a word among those that are known, their number for another.
func rank[T ~string](word T, known ...T) int {
	if i := slices.Index(known, word); i >= 0 {
		return i
	}
	return len(known)
}

// CheckStatus says whether a thing that the tool needs of a target is there.
type CheckStatus string

// Statuses of checks.
const (
	CheckOK      CheckStatus = "ok"
	CheckPartly  CheckStatus = "partly"
	CheckMissing CheckStatus = "missing"
)
