package rtl

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// WaitReader is a runtime that can tell more of a wait than its state: who has
// what a thread waits for. It is a power beyond what OMPD asks of a runtime.
//
// What it answers is what the runtime's memory proves at this stop; what that
// does not prove is left out, never guessed. A thread that does not wait for such
// a thing, or a wait of which nothing is known, is callbacks.Unavailable.
type WaitReader interface {
	// WaitedLock describes the lock, critical section or atomic section that
	// the thread waits for, or the turn in an ordered loop.
	WaitedLock(h handles.Thread, ev *Evidence) (LockInfo, error)
	// WaitedBarrier describes the barrier that the thread waits at. of gives
	// what is known of it, and of the other members of its team.
	WaitedBarrier(h handles.Thread, of func(handles.Thread) *Evidence) (BarrierInfo, error)
	// WaitedGroup lists the unfinished tasks of the taskgroup at whose end
	// the thread waits, as far as they are known, and says whether they are
	// all.
	WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error)
	// WaitedDependences lists the unfinished tasks that the thread waits for
	// since a taskwait with dependences, or a task that it must execute at
	// once, depends on them. It is callbacks.Unavailable for a thread that
	// waits for all of its task's children.
	WaitedDependences(h handles.Thread, ev *Evidence) ([]handles.Task, error)
}

// LockInfo is what a runtime keeps of a lock.
type LockInfo struct {
	Kind     string            // how the runtime implements it: "queuing", "ticket", "drdpa", "test-and-set", "futex"
	Lock     callbacks.Address // the runtime's lock
	Variable callbacks.Address // the program's variable; null if it is not known
	Nested   bool              // a nestable lock
	Held     bool              // some thread has it, or it is just being passed on
	// Owner is the thread that has it, zero if the runtime records none.
	Owner handles.Thread
	// OwnerNumber is the runtime's own number of the owner, -1 if it records
	// none. With a zero Owner, the thread of that number is gone.
	OwnerNumber int64
	// Counted tells that Waiting is how many threads wait by the lock's own
	// count. A lock that has none does not tell a thread that waits from one
	// that has just taken it.
	Counted bool
	Waiting int
	// Waiters are the threads in its queue, in their order, if it has one.
	Waiters  []handles.Thread
	Evidence string // what this was read from, for people
}

// BarrierInfo is a barrier that is not complete, as one of its threads sees it.
type BarrierInfo struct {
	Counter  callbacks.Address // names the barrier of the team
	TeamSize int
	// Arrived are the members of which it is proven that they have arrived at
	// this barrier and cannot leave it.
	Arrived []handles.Thread
	// Missing are the members of which it is proven that they have not
	// arrived. Members that pass the barrier just now are in neither.
	Missing []handles.Thread
	// Tasks tells that all members have arrived and that the barrier now
	// waits for explicit tasks of the team.
	Tasks    bool
	Evidence string
}

// LockCall is what a function does with a lock.
type LockCall struct {
	Arg    int  // integer argument that is the program's variable; -1 for those of which there is only one
	Set    bool // takes it, and returns when it is taken
	Unset  bool // gives it back
	Try    bool // takes it or not
	Family string
}

// Families of lock calls: what one of them takes only one of the same gives back.
const (
	FamilyLock     = "lock"
	FamilyNest     = "nest_lock"
	FamilyCritical = "critical"
	FamilyMutex    = "mutex"
	// FamilyAtomic is the section in which the runtime executes atomic
	// constructs for which the processor has no instruction.
	FamilyAtomic = "atomic"
	// FamilyReduction is the critical section in which threads combine their
	// parts of a reduction, if the runtime chose that way.
	FamilyReduction = "reduction"
	// FamilyCondition is the condition variables, which nobody has: a call that
	// wakes those who wait stands for one that gives back.
	FamilyCondition = "condition"
	// FamilyEvent is the events of detached tasks: a call that fulfils one
	// stands for one that gives back.
	FamilyEvent = "event"
)

// lockCalls are the functions that compilers and programs call for locks and
// critical sections, on every runtime that serves both.
var lockCalls = map[string]LockCall{
	"omp_set_lock": {Set: true, Family: FamilyLock}, "__kmpc_set_lock": {Arg: 2, Set: true, Family: FamilyLock},
	"omp_unset_lock": {Unset: true, Family: FamilyLock}, "__kmpc_unset_lock": {Arg: 2, Unset: true, Family: FamilyLock},
	"omp_test_lock": {Try: true, Family: FamilyLock}, "__kmpc_test_lock": {Arg: 2, Try: true, Family: FamilyLock},
	"omp_destroy_lock": {Unset: true, Family: FamilyLock}, "omp_init_lock": {Unset: true, Family: FamilyLock},
	"omp_set_nest_lock": {Set: true, Family: FamilyNest}, "__kmpc_set_nest_lock": {Arg: 2, Set: true, Family: FamilyNest},
	"omp_unset_nest_lock": {Unset: true, Family: FamilyNest}, "__kmpc_unset_nest_lock": {Arg: 2, Unset: true, Family: FamilyNest},
	"omp_test_nest_lock": {Try: true, Family: FamilyNest}, "__kmpc_test_nest_lock": {Arg: 2, Try: true, Family: FamilyNest},
	"__kmpc_critical": {Arg: 2, Set: true, Family: FamilyCritical}, "__kmpc_critical_with_hint": {Arg: 2, Set: true, Family: FamilyCritical},
	"__kmpc_end_critical": {Arg: 2, Unset: true, Family: FamilyCritical},
	"GOMP_critical_start": {Arg: -1, Set: true, Family: FamilyCritical}, "GOMP_critical_end": {Arg: -1, Unset: true, Family: FamilyCritical},
	"GOMP_critical_name_start": {Set: true, Family: FamilyCritical}, "GOMP_critical_name_end": {Unset: true, Family: FamilyCritical},
	"__kmpc_reduce": {Arg: 6, Try: true, Family: FamilyReduction}, "__kmpc_end_reduce": {Arg: 2, Unset: true, Family: FamilyReduction},
	"__kmpc_reduce_nowait": {Arg: 6, Try: true, Family: FamilyReduction}, "__kmpc_end_reduce_nowait": {Arg: 2, Unset: true, Family: FamilyReduction},
	"GOMP_atomic_start": {Arg: -1, Set: true, Family: FamilyAtomic}, "GOMP_atomic_end": {Arg: -1, Unset: true, Family: FamilyAtomic},
	"__kmpc_atomic_start": {Arg: -1, Set: true, Family: FamilyAtomic}, "__kmpc_atomic_end": {Arg: -1, Unset: true, Family: FamilyAtomic},
	"pthread_mutex_lock": {Set: true, Family: FamilyMutex}, "pthread_mutex_unlock": {Unset: true, Family: FamilyMutex},
	"omp_fulfill_event":     {Unset: true, Family: FamilyEvent},
	"pthread_mutex_trylock": {Try: true, Family: FamilyMutex},
	"pthread_cond_signal":   {Unset: true, Family: FamilyCondition}, "pthread_cond_broadcast": {Unset: true, Family: FamilyCondition},
	"_ZNSt18condition_variable10notify_oneEv": {Unset: true, Family: FamilyCondition}, "_ZNSt18condition_variable10notify_allEv": {Unset: true, Family: FamilyCondition},
	"_ZNSt3__118condition_variable10notify_oneEv": {Unset: true, Family: FamilyCondition}, "_ZNSt3__118condition_variable10notify_allEv": {Unset: true, Family: FamilyCondition},
}

// LockCallOf tells what the function of that name does with a lock. The name may
// have a symbol version, or the underscore of Fortran's names.
func LockCallOf(name string) (LockCall, bool) {
	name, _, _ = strings.Cut(name, "@")
	if c, ok := lockCalls[name]; ok {
		return c, true
	}
	c, ok := lockCalls[strings.TrimSuffix(strings.ToLower(name), "_")]
	return c, ok
}

// MakesEvent tells whether the function of that name makes the event of a detached
// task.
func MakesEvent(name string) bool { return name == "__kmpc_task_allow_completion_event" }

// CriticalName is the name of the critical section whose variable has the given
// symbol, empty for the unnamed one; not ok if it is no such symbol.
func CriticalName(symbol string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimPrefix(symbol, "."), "gomp_critical_user_")
	return strings.TrimSuffix(name, ".var"), ok
}

// ForkCall is what a function has to do with the size of a region that is forked
// next.
type ForkCall uint8

// The kinds of such functions.
const (
	ForkNone   ForkCall = iota
	ForkAsks            // asks for a number of threads, its third argument
	ForkSerial          // begins a region that this thread executes alone
	ForkMakes           // executes a region
)

// ForkCallOf classifies a function by name; undo tells that it ends what another
// of its kind began.
func ForkCallOf(name string) (kind ForkCall, undo bool) {
	switch name {
	case "__kmpc_push_num_threads", "__kmpc_push_num_threads_strict":
		return ForkAsks, false
	case "__kmpc_serialized_parallel":
		return ForkSerial, false
	case "__kmpc_end_serialized_parallel":
		return ForkSerial, true
	case "__kmpc_fork_call", "__kmpc_fork_call_if", "__kmpc_fork_teams", "GOMP_teams_reg":
		return ForkMakes, false
	}
	if _, ok := ForkSize(name); ok {
		return ForkMakes, false
	}
	return ForkNone, false
}

// ForkSize is the integer argument of a function that executes a region which is
// the number of threads of its num_threads clause: 0 if it has none, and 1 also if
// its if clause is false. It is not ok for a function that has no such argument.
func ForkSize(name string) (arg int, ok bool) {
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "GOMP_parallel", "GOMP_parallel_sections", "GOMP_parallel_reductions", "GOMP_parallel_start":
		return 2, true
	}
	return 2, strings.HasPrefix(name, "GOMP_parallel_loop_")
}
