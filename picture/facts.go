package picture

import (
	"fmt"
	"slices"
)

// Facts are the input of verdicts, together with the threads, regions and tasks of a
// picture. A picture with verdicts has them, so that a saved picture can be
// diagnosed again.
//
// Facts that are expensive to find are only looked for where a verdict can depend on them; the
// comments of the fields name the conditions. A missing fact is unknown, and no verdict of a hang follows
// from an unknown fact.
type Facts struct {
	// in the order of the threads' LWPs; only for threads with a known object of their wait
	Waits    []Wait    `json:"waits,omitempty" pb:"1"`
	Locks    []Lock    `json:"locks,omitempty" pb:"2"`    // the locks that threads wait for, each once
	Barriers []Barrier `json:"barriers,omitempty" pb:"3"` // as waiting threads see them, each view once
	// Wakers may signal a condition variable; only if a thread waits on one.
	Wakers *Candidates `json:"wakers,omitempty" pb:"4"`
	// Fulfillers may fulfil the event of a detached task; only if there may be one.
	Fulfillers *Candidates `json:"fulfillers,omitempty" pb:"5"`
	// EventMakers are LWPs of threads that wait in a taskwait and have code that creates detached tasks; only
	// for runtimes that count children without listing them.
	EventMakers []int `json:"event_makers,omitempty" pb:"6"`
	// StacksComplete is set if the stacks of all threads are completely known, so that a call which is missing
	// in them is not being executed.
	StacksComplete bool `json:"stacks_complete" pb:"7"`
	// Fibers are unset if no thread runs fibers.
	Fibers *Fibers `json:"fibers,omitempty" pb:"20"`
	// Handled is set if a thread sleeps on a word of memory, and a signal handler may be installed, which may wake it.
	Handled        bool          `json:"handled,omitempty" pb:"22"`
	TasksTruncated bool          `json:"tasks_truncated,omitempty" pb:"8"` // the program has more tasks than the picture
	LostThreads    []LostThreads `json:"lost_threads,omitempty" pb:"9"`
	// ForkedAt is the call of fork that made the process, if its one thread is still in the function that called it.
	ForkedAt    *Frame      `json:"forked_at,omitempty" pb:"19"`
	Forks       []Fork      `json:"forks,omitempty" pb:"10"` // for regions of level 1 and deeper
	Processors  *Processors `json:"processors,omitempty" pb:"11"`
	Settings    []Setting   `json:"settings,omitempty" pb:"12"`    // the runtimes' settings for waiting threads
	Environment []Variable  `json:"environment,omitempty" pb:"13"` // variables on which verdicts depend
	Fault       *Fault      `json:"fault,omitempty" pb:"14"`
	Abort       *Abort      `json:"abort,omitempty" pb:"15"`
	Heap        *BrokenHeap `json:"heap,omitempty" pb:"18"`
	Overruns    []Overrun   `json:"overruns,omitempty" pb:"21"`
	Recorded    []Recorded  `json:"recorded,omitempty" pb:"16"` // for a program with the recorder
	History     *History    `json:"history,omitempty" pb:"17"`  // conclusions from the recorder's newest events
}

// Fibers are pieces of code with stacks of their own, which threads execute in turn. The stacks of those that no thread
// executes are not read: a lock that they hold has no holder.
type Fibers struct {
	// Threads are LWPs of threads that run on a stack which is not the thread's own.
	Threads []int `json:"threads,omitempty" pb:"1"`
	// Switch is a function that switches stacks, if code on the stack of a thread is linked with it.
	Switch string `json:"switch,omitempty" pb:"2"`
}

// RunByThreads describes the threads that run on stacks which are not their own; "" if there are none.
func (f *Fibers) RunByThreads() string {
	if f == nil || len(f.Threads) == 0 {
		return ""
	}
	who := fmt.Sprintf("LWP %d runs on a stack that is not its own", f.Threads[0])
	if n := len(f.Threads); n > 1 {
		who = fmt.Sprintf("%d threads (first: LWP %d) run on stacks that are not their own", n, f.Threads[0])
	}
	return who + ", as a fiber or coroutine does: the frames of other fibers are not seen"
}

// Recorded is the state of a thread by the recorder's events (docs/guide/recorder.md).
type Recorded struct {
	Thread int       `json:"thread" pb:"1"` // LWP
	State  StateName `json:"state" pb:"2"`  // exact, by the thread's events
	// Last is its last event; missing if events are recorded all the time.
	Last *PastEvent  `json:"last,omitempty" pb:"3"`
	Held []PastEvent `json:"held,omitempty" pb:"4"` // acquisitions of the locks that it holds, the oldest first
}

// PastEvent is a recorded event.
type PastEvent struct {
	Text  string `json:"text" pb:"1"`           // in words
	When  string `json:"when" pb:"2"`           // "3.2s ago"; in a core "3.2s before the newest event"
	Lock  *Hex   `json:"lock,omitempty" pb:"3"` // wait id of its lock
	Frame *Frame `json:"frame,omitempty" pb:"4"`
}

// Wait is the wait of one thread.
type Wait struct {
	Thread int      `json:"thread" pb:"1"` // LWP
	Kind   WaitKind `json:"kind" pb:"2"`
	// Address is that of the program's variable if known, else that of the runtime's object.
	Address  *Hex   `json:"address,omitempty" pb:"3"`
	Variable *Hex   `json:"variable,omitempty" pb:"4"` // of the program
	Name     string `json:"name,omitempty" pb:"5"`     // the program's name for it
	Region   ID     `json:"region,omitempty" pb:"6"`
	Task     ID     `json:"task,omitempty" pb:"7"`
	Call     string `json:"call,omitempty" pb:"8"` // the function of the runtime that was called
	// EndOfRegion is set for the barrier at the end of the region.
	EndOfRegion bool `json:"end_of_region,omitempty" pb:"9"`
	// Asleep is set if the thread sleeps on a futex until another thread wakes it:
	// it has not just acquired the lock.
	Asleep bool `json:"asleep,omitempty" pb:"10"`
	// Timed is set if the wait ends by itself at a time limit of the program.
	Timed bool `json:"timed,omitempty" pb:"19"`
	// WaitOn is the LWP that must proceed first, where the awaited object names it: the owner of
	// a mutex, the thread that is joined. Evidence has the source.
	WaitOn   int    `json:"wait_on,omitempty" pb:"11"`
	Evidence string `json:"evidence,omitempty" pb:"12"`
	Lock     ID     `json:"lock,omitempty" pb:"13"`    // among the locks; missing if the lock is unknown
	Barrier  ID     `json:"barrier,omitempty" pb:"14"` // among the barriers; missing if the barrier is unknown
	// Sleep is the length of the sleep; only for kind sleep.
	Sleep *Sleep `json:"sleep,omitempty" pb:"16"`
	// Child is the PID of the child process that it waits for, as the process numbers it; 0 for any child. Missing
	// unless it waits in a system call for the end of a child.
	Child *int `json:"child,omitempty" pb:"17"`
	// Awaited are the tasks or the iteration that the wait names.
	Awaited *Awaited `json:"awaited,omitempty" pb:"15"`
	// Threads are the LWPs that must all continue first, starting with WaitOn; only for kind pause.
	Threads []int `json:"threads,omitempty" pb:"18"`
}

// Construct is a construct of the program, by its code.
type Construct struct {
	Name  string `json:"name" pb:"1"`
	Frame *Frame `json:"frame,omitempty" pb:"2"` // its start, if the debug information has it
	Call  *Frame `json:"call,omitempty" pb:"3"`  // the call in it that leads to the barrier
	// Uncertain is set if a condition of the program may have the same code.
	Uncertain bool `json:"uncertain,omitempty" pb:"4"`
}

// ConstructBranch is the name of a construct that is a branch of the program, with a barrier on one side only.
const ConstructBranch = "branch"

// Misplaced is a barrier in a construct that must not contain one.
type Misplaced struct {
	// Thread is the LWP that waits there; 0 if the code of the region reaches it while the
	// members wait at different barriers.
	Thread    int       `json:"thread,omitempty" pb:"1"`
	Construct Construct `json:"construct" pb:"2"`
	Frame     *Frame    `json:"frame,omitempty" pb:"3"` // the barrier
}

// Awaited is the object of a wait that is no lock: the unfinished tasks of a taskwait with dependences or of
// a taskgroup, the iteration of a loop with dependences, or the loop that reads a flag.
type Awaited struct {
	Tasks []ID `json:"tasks" pb:"1"`
	// OnlyThese is set if it does not wait for its other children: in a taskwait with
	// dependences, or at a task that its thread must execute immediately.
	OnlyThese bool `json:"only_these,omitempty" pb:"2"`
	// Iteration is the iteration of a loop with dependences (depend(sink), doacross) that has not been
	// posted: a number for each loop, the outermost first, as in the thread's loop. The
	// wait's evidence has the source.
	Iteration []int64 `json:"iteration,omitempty" pb:"3"`
	// Loop is the code that reads the flag, where the program waits in a loop of its own.
	Loop *Frame `json:"loop,omitempty" pb:"4"`
	// Sleeps is set if that loop sleeps for a time between two reads.
	Sleeps bool `json:"sleeps,omitempty" pb:"6"`
	// Yields is set if that loop gives up the processor between two reads (sched_yield).
	Yields bool `json:"yields,omitempty" pb:"7"`
	// Interrupted is the place at which a signal interrupted the program, if the handler waits.
	Interrupted *Frame `json:"interrupted,omitempty" pb:"5"`
}

// Lock is a lock, a critical or atomic section, or a mutex that threads wait for.
type Lock struct {
	ID             ID     `json:"id" pb:"1"`
	Implementation string `json:"implementation,omitempty" pb:"2"` // the runtime's kind of lock: queuing, ticket, futex, mutex, …
	Nested         bool   `json:"nested,omitempty" pb:"3"`
	Held           bool   `json:"held,omitempty" pb:"4"`
	Owner          int    `json:"owner,omitempty" pb:"5"`       // LWP, by the lock's own field
	OwnerEnded     bool   `json:"owner_ended,omitempty" pb:"6"` // the owner that it names has ended
	// Shared is set if no thread of the process is known to own it, and other processes may: it is in memory that they
	// share.
	Shared  bool  `json:"shared,omitempty" pb:"21"`
	Waiters []int `json:"waiters,omitempty" pb:"7"` // LWPs in the order of its queue
	// number of waiting threads: by its own count, or by their stacks
	Waiting  *int   `json:"waiting,omitempty" pb:"8"`
	Evidence string `json:"evidence,omitempty" pb:"9"`
	// InvalidReason explains why it is not a lock any more: its memory was freed, or the
	// runtime has destroyed it. It is missing if that is not proved.
	InvalidReason string `json:"invalid_reason,omitempty" pb:"10"`
	NeverLock     bool   `json:"never_lock,omitempty" pb:"20"`  // it never was a lock, or an ordered loop: see InvalidReason
	Destroyed     bool   `json:"destroyed,omitempty" pb:"11"`   // the runtime has destroyed it, and wakes no waiter
	Overwritten   bool   `json:"overwritten,omitempty" pb:"12"` // other data is in its memory: see InvalidReason
	// Holders are the threads that hold it, or may hold it, by their code; the most certain
	// first. Only if the lock names no owner, or one that does not sleep.
	Holders []Holder `json:"holders,omitempty" pb:"13"`
	// MayRelease are the threads that may still release it; those that wait for it
	// only after they have acquired it. Only for a lock that is held, has no known
	// owner and only holders that wait; missing if it is unknown.
	MayRelease *Candidates `json:"may_release,omitempty" pb:"14"`
	// Leaks are places at which code that acquires the lock continues, or may continue, without
	// releasing it, the most likely first. They are determined together with MayRelease.
	Leaks []Leak `json:"leaks,omitempty" pb:"15"`
	// OwnerAt is the place at which the owner acquired it, by the owner's code; missing if it is unknown.
	// It is determined for the locks with the most waiters.
	OwnerAt *Frame `json:"owner_at,omitempty" pb:"17"`
	// Releases are calls with which threads and tasks that have not acquired the lock may release it. Only for
	// a lock with a waiting holder, and for one that code left (Leaks) and no thread holds by its code.
	Releases []Release `json:"releases,omitempty" pb:"16"`
	// HandedOver is set if code that threads execute, or will execute in their region, releases the lock
	// without acquiring it first: then an acquisition in a thread's code does not prove that the thread holds
	// it. Only for a lock that names no owner and has a waiting holder.
	HandedOver bool `json:"handed_over,omitempty" pb:"19"`
	// Acquiring are LWPs of threads in a call that acquires a handed-over lock, if they are not known to wait: they may
	// have just acquired it.
	Acquiring []int `json:"acquiring,omitempty" pb:"18"`
}

// Release is a call with which a thread, or a task that has not started, may release a lock that it has not acquired.
// Without both, it is a thread that joins its team.
type Release struct {
	Thread int `json:"thread,omitempty" pb:"1"` // LWP
	Task   ID  `json:"task,omitempty" pb:"2"`
	// Certainty is likely for a call on this lock, and possible for a call on an unknown lock.
	Certainty Certainty `json:"certainty" pb:"3"`
	Frame     *Frame    `json:"frame,omitempty" pb:"4"` // the call
}

// Leak is a place at which code that acquires a lock continues without releasing it: a branch, or
// a call that may be left by an exception or a jump.
type Leak struct {
	Frame Frame `json:"frame" pb:"1"`
	// ExitCall is the function with which the call at this place may be left; missing for a branch.
	ExitCall string `json:"exit_call,omitempty" pb:"2"`
	// FailedCheck is set if that call throws only if a check of the language or of its library fails, such as that of
	// an index: most such calls are never executed.
	FailedCheck bool `json:"failed_check,omitempty" pb:"3"`
	// UnknownCallee is set if the call at this place executes a function through a pointer, and the code does not show
	// which: that function may have thrown an exception. Without ExitCall, the code shows no exit at this place.
	UnknownCallee bool `json:"unknown_callee,omitempty" pb:"4"`
}

// KnownLeaks returns the leaks that the code shows, without those at which only an unknown function may throw.
func (l *Lock) KnownLeaks() []Leak {
	return slices.DeleteFunc(slices.Clone(l.Leaks), func(k Leak) bool { return k.UnknownCallee && k.ExitCall == "" })
}

// HoldersWait reports whether all threads that hold the lock, or may hold it, are among
// the waiting ones.
func (l *Lock) HoldersWait(waiting map[int]bool) bool {
	for _, h := range l.Holders {
		if !waiting[h.Thread] {
			return false
		}
	}
	return true
}

// Holder is a thread that holds a lock, or may hold it, by its code.
type Holder struct {
	Thread     int       `json:"thread" pb:"1"` // LWP
	Certainty  Certainty `json:"certainty" pb:"2"`
	AcquiredAt *Frame    `json:"acquired_at,omitempty" pb:"3"` // the acquisition of the lock, if it is unique
	// SuspendedAt is the place at which it started another task while it held the lock, in a
	// taskwait, barrier or the like (SuspendedIn).
	SuspendedAt *Frame `json:"suspended_at,omitempty" pb:"5"`
	// The construct there: a taskwait, a barrier or the like, or SuspendedInParallel.
	SuspendedIn string `json:"suspended_in,omitempty" pb:"6"`
	// Released is set if its code released the lock that it acquired, unless the memory that contained the lock's
	// address has changed between.
	Released bool `json:"released,omitempty" pb:"7"`
	// Presumed is set for a possible holder that has acquired the lock if the variables that its branches read have not
	// changed since.
	Presumed bool `json:"presumed,omitempty" pb:"8"`
	// ReleasedOnReturn is set for a possible holder if the code that may have acquired the lock returns only after a
	// release, by the form of the lock's address. So no thread that has left that code has the lock.
	ReleasedOnReturn bool   `json:"released_on_return,omitempty" pb:"9"`
	Evidence         string `json:"evidence" pb:"4"`
}

// SuspendedInParallel is the construct if the holder forked a parallel region, and executes its part of it.
const SuspendedInParallel = "parallel region"

// Candidates are the threads and tasks that may reach a call of some kind from their present place in the code.
// Code that could not be followed counts as reaching it.
type Candidates struct {
	Threads []int `json:"threads" pb:"1"`         // LWPs
	Tasks   []ID  `json:"tasks,omitempty" pb:"2"` // that have not started
	// Incomplete is set if some threads are unknown.
	Incomplete bool `json:"incomplete,omitempty" pb:"3"`
}

// Barrier is an incomplete barrier as some of its threads see it.
type Barrier struct {
	ID       ID  `json:"id" pb:"1"`
	TeamSize int `json:"team_size" pb:"2"`
	// LWPs that are proved to have arrived, and cannot leave.
	Arrived       []int  `json:"arrived,omitempty" pb:"3"`
	Missing       []int  `json:"missing,omitempty" pb:"4"`         // LWPs that are proved not to have arrived
	WaitsForTasks bool   `json:"waits_for_tasks,omitempty" pb:"5"` // all have arrived, explicit tasks remain
	Evidence      string `json:"evidence,omitempty" pb:"6"`
	// Misplaced are barriers in constructs that must not contain one.
	Misplaced []Misplaced `json:"misplaced,omitempty" pb:"7"`
	// Unreleased is the evidence that the runtime can never release the members, though all have arrived.
	Unreleased string `json:"unreleased,omitempty" pb:"8"`
	Defect     string `json:"defect,omitempty" pb:"9"` // the known defect of the runtime that explains it
}

// LostThreads are threads that a runtime waits for and that have ended, or are ending.
type LostThreads struct {
	Runtime  string `json:"runtime" pb:"1"`           // ID of the runtime
	Count    int    `json:"count" pb:"2"`             // threads that have ended
	Ending   []int  `json:"ending,omitempty" pb:"5"`  // LWPs of threads that are ending in a region
	Waiting  []int  `json:"waiting,omitempty" pb:"3"` // LWPs of the threads that wait for them
	Evidence string `json:"evidence" pb:"4"`
}

// Fork has the values that determined the size of a parallel region. Numbers that could not be read
// are missing.
type Fork struct {
	Region ID `json:"region" pb:"1"`
	// Clause is set if the construct has a num_threads clause; its value may be unknown.
	Clause          bool   `json:"clause,omitempty" pb:"2"`
	ClauseValue     *int   `json:"clause_value,omitempty" pb:"3"`
	IfFalse         bool   `json:"if_false,omitempty" pb:"4"` // its if clause was false
	MaybeIf         bool   `json:"maybe_if,omitempty" pb:"5"` // a num_threads of 1 may also be an if clause that was false
	Frame           *Frame `json:"frame,omitempty" pb:"6"`    // the call that forked it
	ActiveLevels    int    `json:"active_levels" pb:"7"`      // active regions around it
	NThreads        *int   `json:"nthreads,omitempty" pb:"8"` // nthreads-var of the task that encountered it
	MaxActiveLevels *int   `json:"max_active_levels,omitempty" pb:"9"`
	ThreadLimit     *int   `json:"thread_limit,omitempty" pb:"10"`
	NumProcs        *int   `json:"num_procs,omitempty" pb:"11"` // processors that the runtime counts
	Dynamic         bool   `json:"dynamic,omitempty" pb:"12"`   // dyn-var
	NestOff         bool   `json:"nest_off,omitempty" pb:"13"`  // nest-var (before OpenMP 5.0) is false
}

// Setting is a control variable of a runtime.
type Setting struct {
	Name  string `json:"name" pb:"1"`
	Value string `json:"value" pb:"2"`
}
