package picture

import (
	"cmp"
	"strings"
)

// WaitKind is the kind of a wait.
type WaitKind string

// Kinds of waits. WaitKinds has a row for each.
const (
	WaitLock      WaitKind = "lock"
	WaitNestLock  WaitKind = "nest_lock"
	WaitCritical  WaitKind = "critical"
	WaitBarrier   WaitKind = "barrier"
	WaitTaskwait  WaitKind = "taskwait"
	WaitTaskgroup WaitKind = "taskgroup"
	WaitOrdered   WaitKind = "ordered"
	WaitAtomic    WaitKind = "atomic"
	WaitMutex     WaitKind = "mutex"
	WaitReadWrite WaitKind = "rwlock" // a read-write lock of the C library
	WaitJoin      WaitKind = "join"   // the end of a thread
	WaitCondition WaitKind = "condition"
	WaitSemaphore WaitKind = "semaphore"
	WaitThreads   WaitKind = "pthread_barrier" // a barrier of the C library
	WaitFutex     WaitKind = "futex"           // a word of memory of unknown purpose
	WaitFlag      WaitKind = "flag"            // a word of memory that a loop reads until it changes
	WaitMPI       WaitKind = "mpi"             // other processes, in a function of MPI
	WaitCall      WaitKind = "call"            // the end of a system call, by another process or a device
	WaitNothing   WaitKind = "nothing"         // a loop of the program has no way out
	WaitStatic    WaitKind = "static"          // the initialization of a static variable in a function of C++
	WaitOnce      WaitKind = "once"            // the end of a function that is executed once per flag
	WaitSleep     WaitKind = "sleep"           // time to pass, or a signal
	WaitReduction WaitKind = "reduction"       // the critical section in which threads combine a reduction
	WaitDevice    WaitKind = "target"          // the end of a target region that a device executes
	WaitMapping   WaitKind = "target_map"      // the mapping of data to a device or back
	WaitUpdate    WaitKind = "target_update"   // the update of mapped data
	WaitPause     WaitKind = "pause"           // start or end of a pause of all threads of a free-threaded Python
)

// WaitNeed is the event that ends a wait.
type WaitNeed string

// Needs of waits.
const (
	NeedHolder   WaitNeed = "holder"   // the thread that holds it must release it
	NeedTeam     WaitNeed = "team"     // the other members of the team must arrive
	NeedChildren WaitNeed = "children" // child tasks must finish
	NeedGroup    WaitNeed = "group"    // the tasks of a taskgroup must finish
	NeedSignal   WaitNeed = "signal"   // another thread must signal a condition variable
	NeedThread   WaitNeed = "thread"   // one thread must end
	NeedThreads  WaitNeed = "threads"  // each of some threads must continue
	NeedWrite    WaitNeed = "write"    // another thread must post or write it, or the wait never ends
	NeedOther    WaitNeed = "other"    // another thread, process or device; the wait itself does not show which
)

// WaitTraits is one row of the table of waits, which printers and verdicts use.
type WaitTraits struct {
	Kind  WaitKind
	State StateName // of a thread in such a wait
	// Own is set if the standard has no such state: for OpenMP, the thread is at work.
	Own bool
	// Phrase is the awaited object in a sentence, with %s for its name; Unnamed is the phrase for one
	// without a known name or address.
	Phrase, Unnamed string
	// NameOnly is set if it is not named by its address.
	NameOnly bool
	Need     WaitNeed
	// Lock is set for locks and similar objects, which one thread after the other holds.
	Lock bool
	// Exclusive is set if one thread holds it, and others wait for its release.
	Exclusive bool
	// Executes is set if that thread executes code rather than holding a lock.
	Executes bool
	// AgainFix is the fix if a thread waits for an object that it holds itself, CycleFix if such a wait is part of a
	// deadlock; "" means the general fix.
	AgainFix, CycleFix string
	// WakeCall is the call that ends the wait, "" for any code; WakeFix is the fix if no such call remains.
	WakeCall, WakeFix string
}

const initializeFix = "initialize the static variable before any parallel region (call its function once, " +
	"early), and let its initializer neither wait for other threads nor use functions that need the variable"

// WaitKinds returns the table of waits.
func WaitKinds() []WaitTraits { return waitKinds }

var waitKinds = []WaitTraits{
	{
		Kind: WaitLock, State: StateLock, Phrase: "lock %s", Unnamed: "a lock", Need: NeedHolder, Lock: true,
		Exclusive: true,
		AgainFix: "release the lock before acquiring it again, or make it a nestable lock (omp_nest_lock_t) if the " +
			"same thread may acquire it twice",
	},
	{
		Kind: WaitNestLock, State: StateLock, Phrase: "nestable lock %s", Unnamed: "a nestable lock", Need: NeedHolder,
		Lock: true, Exclusive: true,
	},
	{
		Kind: WaitCritical, State: StateCritical, Phrase: "critical section %s", Unnamed: "a critical section",
		Need: NeedHolder, Lock: true, Exclusive: true,
		AgainFix: "a critical section must not be entered again from within: " +
			"give the inner one another name, or remove it",
	},
	{Kind: WaitBarrier, State: StateBarrier, Phrase: "the other threads at a barrier", Need: NeedTeam},
	{Kind: WaitTaskwait, State: StateTaskwait, Phrase: "its child tasks in a taskwait", Need: NeedChildren},
	{Kind: WaitTaskgroup, State: StateTaskgroup, Phrase: "the tasks of a taskgroup", Need: NeedGroup},
	{
		Kind: WaitOrdered, State: StateOrdered, Phrase: "its turn in an ordered loop", Need: NeedHolder, Lock: true,
		CycleFix: "release all locks before waiting for the turn in an ordered loop: the thread whose turn it is may " +
			"need them",
	},
	{
		Kind: WaitAtomic, State: StateAtomic, Phrase: "the lock of atomic constructs", Need: NeedHolder, Lock: true,
		Exclusive: true,
	},
	{
		Kind: WaitMutex, State: StateMutex, Own: true, Phrase: "mutex %s", Unnamed: "a mutex", Need: NeedHolder,
		Lock: true, Exclusive: true,
		AgainFix: "unlock the mutex before locking it again, or make it recursive (PTHREAD_MUTEX_RECURSIVE)",
	},
	{
		Kind: WaitReadWrite, State: StateReadWrite, Own: true, Phrase: "read-write lock %s",
		Unnamed: "a read-write lock",
		Need:    NeedHolder, Lock: true, Exclusive: true,
		AgainFix: "unlock it before locking it again: it is not recursive",
	},
	{
		Kind: WaitJoin, State: StateJoin, Own: true, Phrase: "the %s", Unnamed: "the end of a thread", NameOnly: true,
		Need: NeedThread,
	},
	{
		Kind: WaitCondition, State: StateCondition, Own: true, Phrase: "condition variable %s",
		Unnamed: "a condition variable", Need: NeedSignal,
		WakeCall: "a call that signals a condition variable",
		WakeFix: "hold the mutex to change what the condition is about, and signal or broadcast after it; test the " +
			"condition, in a loop, before each wait: a signal for which nobody waits is lost",
	},
	{
		Kind: WaitSemaphore, State: StateSemaphore, Own: true, Phrase: "semaphore %s", Unnamed: "a semaphore",
		Need: NeedWrite, WakeCall: "a call that posts a semaphore",
		WakeFix: "post the semaphore once for each time that it is waited for, on every path",
	},
	{
		Kind: WaitThreads, State: StateThreads, Own: true, Phrase: "pthread barrier %s", Unnamed: "a pthread barrier",
		Need: NeedOther,
		WakeFix: "initialize the barrier for as many threads as come to it: a team may have fewer than " +
			"were requested, and every one of them must reach it",
	},
	{
		Kind: WaitFutex, State: StateFutex, Own: true, Phrase: "the word %s",
		Unnamed: "a word of memory", Need: NeedOther,
		WakeFix: "change the word before waking those who sleep on it, and wake all of them",
	},
	{
		Kind: WaitFlag, State: StateFlag, Own: true, Phrase: "%s to change", Unnamed: "a word of memory to change",
		Need: NeedWrite,
	},
	{
		Kind: WaitMPI, State: StateMPI, Own: true, Phrase: "other processes in %s", Unnamed: "other processes",
		NameOnly: true, Need: NeedOther,
	},
	{
		Kind: WaitCall, State: StateCall, Own: true, Phrase: "the end of system call %s",
		Unnamed:  "the end of a system call",
		NameOnly: true, Need: NeedOther,
	},
	{
		Kind: WaitNothing, State: StateEndlessLoop, Own: true, Phrase: "nothing, in a loop that has no way out",
		Need: NeedWrite,
	},
	{
		Kind: WaitStatic, State: StateStatic, Own: true, Phrase: "the initialization of static %s",
		Unnamed: "the initialization of a static variable", Need: NeedHolder, Exclusive: true, Executes: true,
		AgainFix: initializeFix, CycleFix: initializeFix,
	},
	{
		Kind: WaitOnce, State: StateOnce, Own: true, Phrase: "the function of once flag %s",
		Unnamed: "the function of a once flag", Need: NeedHolder, Exclusive: true, Executes: true,
		AgainFix: "a function that is executed once must not come to a call for the same flag again: let it call " +
			"what it needs directly, or make a function of that part which both use",
		CycleFix: "let a function that is executed once wait for no other thread, at a barrier or for a lock: make " +
			"the call before the parallel region, and with no lock that the function needs",
	},
	{
		Kind: WaitSleep, State: StateSleep, Own: true, Phrase: "time to pass in %s", Unnamed: "time to pass",
		NameOnly: true, Need: NeedOther,
	},
	{
		Kind: WaitReduction, State: StateCritical, Phrase: "the critical section of a reduction", Need: NeedHolder,
		Lock: true, Exclusive: true,
	},
	{
		Kind: WaitDevice, State: StateTarget, Phrase: "target region %s", Unnamed: "a target region", NameOnly: true,
		Need: NeedOther,
	},
	{
		Kind: WaitMapping, State: StateTargetMap, Phrase: "the mapping of data %s", Unnamed: "the mapping of data",
		NameOnly: true, Need: NeedOther,
	},
	{
		Kind: WaitUpdate, State: StateTargetUpdate, Phrase: "the update of mapped data %s",
		Unnamed: "the update of mapped data", NameOnly: true, Need: NeedOther,
	},
	{
		Kind: WaitPause, State: StatePause, Own: true, Phrase: "the %s",
		Unnamed: "a pause of all Python threads", NameOnly: true, Need: NeedThreads,
		CycleFix: "detach the thread from Python before the code that waits for other threads, as a pause of all " +
			"Python threads (gc.collect, a change of a class, os.fork) waits for each attached thread: " +
			"ctypes.CDLL in place of PyDLL, `with nogil` in Cython, py::gil_scoped_release in pybind11, " +
			"Py_BEGIN_ALLOW_THREADS in C",
	},
}

// OfTarget reports whether a thread in the wait is in a target construct, which its runtime does not record.
func (k WaitKind) OfTarget() bool { return k == WaitDevice || k == WaitMapping || k == WaitUpdate }

// Traits returns the row of a kind of wait. A word that is not known has the traits of a lock but for its phrase: no
// verdict concludes that such a wait ends.
func (k WaitKind) Traits() WaitTraits {
	for i := range waitKinds {
		if waitKinds[i].Kind == k {
			return waitKinds[i]
		}
	}
	word := strings.ReplaceAll(string(k), "_", " ")
	return WaitTraits{Kind: k, Phrase: strings.TrimSpace(word + " %s"), Unnamed: cmp.Or(word,
		"something"), Need: NeedHolder}
}

// OfLock reports whether the wait is for a lock or a similar object.
func (k WaitKind) OfLock() bool { return k.Traits().Lock }

// Exclusive reports whether one thread holds the awaited object, and others wait for its release.
func (k WaitKind) Exclusive() bool { return k.Traits().Exclusive }
