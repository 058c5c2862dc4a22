package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// WaitReader is a runtime that describes a wait in more detail than its state, such as the holder of a lock.
// OMPD does not require it.
//
// Its answers are proven by the runtime's memory at this stop; other facts are left out, never guessed. For a
// thread without such a wait, or an unknown wait, the error is callbacks.Unavailable.
type WaitReader interface {
	// WaitedLock describes the lock, critical section or atomic section for which the thread waits, or the turn
	// in an ordered loop.
	WaitedLock(h handles.Thread, ev *handles.Evidence) (LockInfo, error)
	// WaitedBarrier describes the barrier at which the thread waits. The parameter returns the evidence of the
	// thread, and of the other members of its team.
	WaitedBarrier(h handles.Thread, of func(handles.Thread) *handles.Evidence) (BarrierInfo, error)
	// WaitedGroup returns the known unfinished tasks of the taskgroup whose end the thread waits for. all
	// reports whether the list is complete.
	WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error)
	// WaitedDependences lists the unfinished tasks for which the thread waits since a taskwait with dependences,
	// or a task that it must execute at once, depends on them. It is callbacks.Unavailable for a thread that
	// waits for all of its task's children.
	WaitedDependences(h handles.Thread, ev *handles.Evidence) ([]handles.Task, error)
	// WaitedIteration returns the unposted iteration for which the thread waits in a loop with dependences
	// (depend(sink) or doacross).
	WaitedIteration(h handles.Thread, ev *handles.Evidence) (Iteration, error)
}

// LockInfo is the runtime's data of a lock.
type LockInfo struct {
	Kind     string            // how the runtime implements it: "queuing", "ticket", "drdpa", "test-and-set", "futex"
	Lock     callbacks.Address // the runtime's lock
	Variable callbacks.Address // the program's variable; null if unknown
	Nested   bool              // a nestable lock
	Held     bool              // a thread holds it, or it is being passed on
	// Owner is the holder; zero if the runtime does not record it.
	Owner handles.Thread
	// OwnerNumber is the runtime's number of the owner; -1 if unrecorded. With a zero Owner, that thread no
	// longer exists.
	OwnerNumber int64
	// Counted means that Waiting is the lock's own count of waiting threads. Without a count, a waiting thread
	// looks like one that has just taken the lock.
	Counted bool
	Waiting int
	// Waiters are the threads in its queue, in order, if it has one.
	Waiters []handles.Thread
	// Destroyed means that the lock was destroyed while the thread waits for it.
	Destroyed bool
	// Unordered is the evidence that the loop with the ordered region has no ordered clause; empty without.
	Unordered string
	// Overwritten means that the lock's memory does not contain a lock; Evidence describes its contents.
	Overwritten bool
	Evidence    string // source of these facts, for users
}

// BarrierInfo is an incomplete barrier, as one of its threads sees it.
type BarrierInfo struct {
	Counter  callbacks.Address // identifies the barrier of the team
	TeamSize int
	// Arrived are the members proven to have arrived at this barrier; they cannot leave it.
	Arrived []handles.Thread
	// Missing are the members proven not to have arrived. Members that are just passing the barrier are in
	// neither list.
	Missing []handles.Thread
	// Tasks means that all members have arrived and the barrier waits for explicit tasks of the team.
	Tasks    bool
	Evidence string
	// Unreleased is the evidence that the runtime can never release the members, though all have arrived; empty
	// without. Defect is the known defect of the runtime that explains it.
	Unreleased, Defect string
}

// MaxDoacrossLoops bounds the loops with dependent iterations: the number in an ordered clause.
const MaxDoacrossLoops = 64

// Iteration is an iteration of a loop with dependences.
type Iteration struct {
	Values   []int64 // of the loops' variables, the outermost first, as the runtime counts
	Evidence string  // evidence that it is not posted
	// Posted is the address of the memory, of PostedSize bytes, that the thread changes which posts the iteration.
	Posted, PostedSize uint64
}

// LockCall describes the effect of a function on a lock.
type LockCall struct {
	Arg    int  // integer argument that is the program's variable; -1 if there is only one such lock
	Set    bool // acquires it, and returns after that
	Unset  bool // releases it
	Try    bool // tries to acquire it
	Lends  bool // releases it while it waits, and holds it again when it returns
	Makes  bool // initializes or destroys it; no thread waits for that
	Alone  bool // acquires exclusively a lock that can be shared, as by readers
	Family string
}

// WaitKind returns the kind of wait of a thread in a call that acquires an OpenMP lock or enters a critical or
// atomic section; "" for other calls.
func (c LockCall) WaitKind() picture.WaitKind {
	switch c.Family {
	case FamilyLock, FamilyNest, FamilyCritical, FamilyAtomic:
		return picture.WaitKind(c.Family)
	}
	return ""
}

// Families of lock calls: a call releases only locks that a call of the same family acquired.
const (
	FamilyLock     = string(picture.WaitLock)
	FamilyNest     = string(picture.WaitNestLock)
	FamilyCritical = string(picture.WaitCritical)
	FamilyMutex    = string(picture.WaitMutex)
	// FamilyAtomic is the section in which the runtime executes atomic constructs that the processor has no
	// instruction for.
	FamilyAtomic = string(picture.WaitAtomic)
	// FamilyReduction is the critical section in which threads combine their parts of a reduction, if the
	// runtime selected that method.
	FamilyReduction = string(picture.WaitReduction)
	// FamilyCondition is the condition variables, which have no holder: a call that wakes waiting threads counts
	// as a release.
	FamilyCondition = string(picture.WaitCondition)
	// FamilyReadWrite, FamilySpin and FamilySemaphore are the C library's other locks. The code of a thread does
	// not show that it waits for one.
	FamilyReadWrite = string(picture.WaitReadWrite)
	FamilySpin      = "spin"
	FamilySemaphore = string(picture.WaitSemaphore)
	// FamilyEvent is the events of detached tasks: a call that fulfils an event counts as a release.
	FamilyEvent = "event"
	// FamilyStatic is the initializations of static variables in functions of C++, which one thread does while
	// others wait. A function ends the initializations that it begins.
	FamilyStatic = string(picture.WaitStatic)
)
