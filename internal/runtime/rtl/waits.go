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
	// WaitedBarrier describes the barrier at which the thread waits. of returns the evidence of the thread, and
	// of the other members of its team.
	WaitedBarrier(h handles.Thread, of func(handles.Thread) *handles.Evidence) (BarrierInfo, error)
	// WaitedGroup returns the known unfinished tasks of the taskgroup at the end of which the thread waits, and
	// whether they are all.
	WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error)
	// WaitedDependences lists the unfinished tasks that the thread waits for
	// since a taskwait with dependences, or a task that it must execute at
	// once, depends on them. It is callbacks.Unavailable for a thread that
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
	// Overwritten means that the lock's memory does not contain a lock; Evidence describes its contents.
	Overwritten bool
	Evidence    string // source of these facts, for users
}

// BarrierInfo is a barrier that is not complete, as one of its threads sees it.
type BarrierInfo struct {
	Counter  callbacks.Address // names the barrier of the team
	TeamSize int
	// Arrived are the members proven to have arrived at this barrier; they cannot leave it.
	Arrived []handles.Thread
	// Missing are the members proven not to have arrived. Members that are just passing the barrier are in
	// neither list.
	Missing []handles.Thread
	// Tasks means that all members have arrived and the barrier waits for explicit tasks of the team.
	Tasks    bool
	Evidence string
}

// MaxDoacrossLoops bounds the loops whose iterations depend on each other: the number in an
// ordered clause.
const MaxDoacrossLoops = 64

// Iteration is an iteration of a loop with dependences.
type Iteration struct {
	Values   []int64 // of the loops' variables, the outermost first, as the runtime counts
	Evidence string  // evidence that it is not posted
}

// LockCall describes the effect of a function on a lock.
type LockCall struct {
	Arg    int  // integer argument that is the program's variable; -1 for those of which there is only one
	Set    bool // takes it, and returns when it is taken
	Unset  bool // gives it back
	Try    bool // takes it or not
	Lends  bool // gives it back while it waits, and has it again when it returns
	Makes  bool // initializes or destroys it, which no thread waits for
	Alone  bool // takes what several threads may have at once, as those who read, for itself alone
	Family string
}

// WaitKind returns the kind of wait of a thread in a call that takes a lock, or critical or atomic section, of
// OpenMP; "" for another one.
func (c LockCall) WaitKind() picture.WaitKind {
	switch c.Family {
	case FamilyLock, FamilyNest, FamilyCritical, FamilyAtomic:
		return picture.WaitKind(c.Family)
	}
	return ""
}

// Families of lock calls: what one of them takes only one of the same gives back.
const (
	FamilyLock     = string(picture.WaitLock)
	FamilyNest     = string(picture.WaitNestLock)
	FamilyCritical = string(picture.WaitCritical)
	FamilyMutex    = string(picture.WaitMutex)
	// FamilyAtomic is the section in which the runtime executes atomic
	// constructs for which the processor has no instruction.
	FamilyAtomic = string(picture.WaitAtomic)
	// FamilyReduction is the critical section in which threads combine their
	// parts of a reduction, if the runtime chose that way.
	FamilyReduction = string(picture.WaitReduction)
	// FamilyCondition is the condition variables, which nobody has: a call that
	// wakes those who wait stands for one that gives back.
	FamilyCondition = string(picture.WaitCondition)
	// FamilyReadWrite, FamilySpin and FamilySemaphore are the C library's other
	// locks, of which nobody is known to wait for one by its code.
	FamilyReadWrite = string(picture.WaitReadWrite)
	FamilySpin      = "spin"
	FamilySemaphore = string(picture.WaitSemaphore)
	// FamilyEvent is the events of detached tasks: a call that fulfils one
	// stands for one that gives back.
	FamilyEvent = "event"
	// FamilyStatic is the initializations of static variables in functions of C++, which
	// one thread does while others wait. A function ends those that it begins.
	FamilyStatic = string(picture.WaitStatic)
)
