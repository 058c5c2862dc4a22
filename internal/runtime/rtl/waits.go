package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
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
	WaitedLock(h handles.Thread, ev *handles.Evidence) (LockInfo, error)
	// WaitedBarrier describes the barrier that the thread waits at. of gives
	// what is known of it, and of the other members of its team.
	WaitedBarrier(h handles.Thread, of func(handles.Thread) *handles.Evidence) (BarrierInfo, error)
	// WaitedGroup lists the unfinished tasks of the taskgroup at whose end
	// the thread waits, as far as they are known, and says whether they are
	// all.
	WaitedGroup(h handles.Thread) (tasks []handles.Task, all bool, err error)
	// WaitedDependences lists the unfinished tasks that the thread waits for
	// since a taskwait with dependences, or a task that it must execute at
	// once, depends on them. It is callbacks.Unavailable for a thread that
	// waits for all of its task's children.
	WaitedDependences(h handles.Thread, ev *handles.Evidence) ([]handles.Task, error)
	// WaitedIteration tells which iteration of a loop with dependences
	// (depend(sink) or doacross) the thread waits for, if nobody has posted it.
	WaitedIteration(h handles.Thread, ev *handles.Evidence) (Iteration, error)
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
	Waiters []handles.Thread
	// Destroyed tells that the lock was destroyed while the thread waits for it,
	// and that it forgot the thread.
	Destroyed bool
	// Overwritten tells that what is in the lock's memory is no state of a lock;
	// Evidence says what is there.
	Overwritten bool
	Evidence    string // what this was read from, for people
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

// MaxDoacrossLoops bounds the loops whose iterations depend on each other: the number in an
// ordered clause.
const MaxDoacrossLoops = 64

// Iteration is one of a loop with dependences.
type Iteration struct {
	Values   []int64 // of the loops' variables, the outermost first, as the runtime counts
	Evidence string  // that nobody has posted it
}

// LockCall is what a function does with a lock.
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
