package picture

// Facts are what verdicts are drawn from, beside the threads, regions and tasks of a
// picture. They are there when verdicts were asked for, so that a saved picture can be
// diagnosed again.
//
// What is expensive to find is looked for only where a verdict can depend on it; each
// field says when. A fact that is missing is not known, and no verdict of a hang follows
// from what is not known.
type Facts struct {
	// by LWP order of the threads; a thread that waits for nothing that is known has none
	Waits    []Wait    `json:"waits,omitempty" pb:"1"`
	Locks    []Lock    `json:"locks,omitempty" pb:"2"`    // those that threads wait for, each once
	Barriers []Barrier `json:"barriers,omitempty" pb:"3"` // as the threads see them that wait, each view once
	// Wakers may signal a condition variable; only if a thread waits on one.
	Wakers *Candidates `json:"wakers,omitempty" pb:"4"`
	// Fulfillers may fulfil the event of a detached task; only if there may be one.
	Fulfillers *Candidates `json:"fulfillers,omitempty" pb:"5"`
	// EventMakers are LWPs of threads in a taskwait whose code makes detached tasks; only
	// of those whose runtime counts children that it does not list.
	EventMakers []int `json:"event_makers,omitempty" pb:"6"`
	// StacksComplete is set if the stacks of all threads are known as a whole, so that what
	// none of them shows is not there.
	StacksComplete bool          `json:"stacks_complete" pb:"7"`
	TasksTruncated bool          `json:"tasks_truncated,omitempty" pb:"8"` // there are more tasks than the picture has
	LostThreads    []LostThreads `json:"lost_threads,omitempty" pb:"9"`
	Forks          []Fork        `json:"forks,omitempty" pb:"10"` // of the regions of level 1 and deeper
	Processors     *Processors   `json:"processors,omitempty" pb:"11"`
	Settings       []Setting     `json:"settings,omitempty" pb:"12"`    // what runtimes keep of how threads wait
	Environment    []Variable    `json:"environment,omitempty" pb:"13"` // the variables that matter to verdicts
	Fault          *Fault        `json:"fault,omitempty" pb:"14"`
	Abort          *Abort        `json:"abort,omitempty" pb:"15"`
	Heap           *BrokenHeap   `json:"heap,omitempty" pb:"18"`
	Recorded       []Recorded    `json:"recorded,omitempty" pb:"16"` // of the threads of a program with the recorder
	History        *History      `json:"history,omitempty" pb:"17"`  // what the recorder's newest events show
}

// Recorded is what the recorder has kept of a thread (docs/recorder.md).
type Recorded struct {
	Thread int       `json:"thread" pb:"1"` // LWP
	State  StateName `json:"state" pb:"2"`  // exact, as the thread's events say
	// Last is its last event; missing if it makes them all the time.
	Last *PastEvent  `json:"last,omitempty" pb:"3"`
	Held []PastEvent `json:"held,omitempty" pb:"4"` // acquisitions of the locks that it has, the oldest first
}

// PastEvent is an event that was recorded.
type PastEvent struct {
	Text  string `json:"text" pb:"1"`           // in words
	When  string `json:"when" pb:"2"`           // "3.2s ago", of a core "3.2s before the newest event"
	Lock  *Hex   `json:"lock,omitempty" pb:"3"` // wait id of the lock that it is about
	Frame *Frame `json:"frame,omitempty" pb:"4"`
}

// Wait is what one thread waits for.
type Wait struct {
	Thread int      `json:"thread" pb:"1"` // LWP
	Kind   WaitKind `json:"kind" pb:"2"`
	// Address is that of the program's variable if it is known, else of the runtime's.
	Address  *Hex   `json:"address,omitempty" pb:"3"`
	Variable *Hex   `json:"variable,omitempty" pb:"4"` // of the program
	Name     string `json:"name,omitempty" pb:"5"`     // as the program calls it
	Region   ID     `json:"region,omitempty" pb:"6"`
	Task     ID     `json:"task,omitempty" pb:"7"`
	Call     string `json:"call,omitempty" pb:"8"` // the function of the runtime that was called
	// EndOfRegion is set for the barrier at the end of the region.
	EndOfRegion bool `json:"end_of_region,omitempty" pb:"9"`
	// Asleep is set if the thread is known to sleep on a futex until another thread wakes it:
	// it has not just acquired what it waited for.
	Asleep bool `json:"asleep,omitempty" pb:"10"`
	// WaitOn is the LWP that must proceed first, where the wait itself says so: the owner of
	// a mutex, the thread that is joined. Evidence says how that is known.
	WaitOn   int    `json:"wait_on,omitempty" pb:"11"`
	Evidence string `json:"evidence,omitempty" pb:"12"`
	Lock     ID     `json:"lock,omitempty" pb:"13"`    // among the locks; missing if nothing is known of it
	Barrier  ID     `json:"barrier,omitempty" pb:"14"` // among the barriers; missing if nothing is known of it
	// Sleep is how long it sleeps; only of kind sleep.
	Sleep *Sleep `json:"sleep,omitempty" pb:"16"`
	// Awaited are tasks, or an iteration, that the wait itself names.
	Awaited *Awaited `json:"awaited,omitempty" pb:"15"`
}

// Construct is a construct in the program, as its code shows it.
type Construct struct {
	Name  string `json:"name" pb:"1"`
	Frame *Frame `json:"frame,omitempty" pb:"2"` // where it begins, if the compiler says so
	Call  *Frame `json:"call,omitempty" pb:"3"`  // the call in it that leads to the barrier
	// Uncertain is set if a condition of the program may look like the construct.
	Uncertain bool `json:"uncertain,omitempty" pb:"4"`
}

// Misplaced is a barrier in a construct that may have none.
type Misplaced struct {
	// Thread is the LWP that waits there; 0 if the code of the region comes there, and its
	// members wait at different barriers now.
	Thread    int       `json:"thread,omitempty" pb:"1"`
	Construct Construct `json:"construct" pb:"2"`
	Frame     *Frame    `json:"frame,omitempty" pb:"3"` // the barrier
}

// Awaited are the unfinished tasks that a taskwait with dependences or a taskgroup waits
// for, or the iteration of a loop with dependences, or the loop in which a flag is read.
type Awaited struct {
	Tasks []ID `json:"tasks" pb:"1"`
	// OnlyThese is set if it waits for none of its other children: in a taskwait with
	// dependences, or at a task that its thread must execute at once.
	OnlyThese bool `json:"only_these,omitempty" pb:"2"`
	// Iteration is that of a loop with dependences (depend(sink), doacross) which nobody has
	// posted: a number for each loop, the outermost first, as in the thread's loop. The
	// wait's evidence says how that is known.
	Iteration []int64 `json:"iteration,omitempty" pb:"3"`
	// Loop is where the program waits in a loop of its own, for a flag: the code that reads it.
	Loop *Frame `json:"loop,omitempty" pb:"4"`
	// Interrupted is where the program was interrupted by a signal whose handler waits.
	Interrupted *Frame `json:"interrupted,omitempty" pb:"5"`
}

// Lock is a lock, a critical or atomic section, or a mutex that threads wait for.
type Lock struct {
	ID             ID     `json:"id" pb:"1"`
	Implementation string `json:"implementation,omitempty" pb:"2"` // of the runtime: queuing, ticket, futex, mutex, …
	Nested         bool   `json:"nested,omitempty" pb:"3"`
	Held           bool   `json:"held,omitempty" pb:"4"`
	Owner          int    `json:"owner,omitempty" pb:"5"`       // LWP that the lock itself names
	OwnerEnded     bool   `json:"owner_ended,omitempty" pb:"6"` // it names an owner that is no thread any more
	Waiters        []int  `json:"waiters,omitempty" pb:"7"`     // LWPs in the order of its queue, if it has one
	// how many wait: by its own count, or as each of them is seen to
	Waiting  *int   `json:"waiting,omitempty" pb:"8"`
	Evidence string `json:"evidence,omitempty" pb:"9"`
	// InvalidReason is the reason for which it is no lock any more: its memory was freed, or the
	// runtime has destroyed it. It is missing if nothing proves that.
	InvalidReason string `json:"invalid_reason,omitempty" pb:"10"`
	Destroyed     bool   `json:"destroyed,omitempty" pb:"11"`   // the runtime has destroyed it, and will wake nobody
	Overwritten   bool   `json:"overwritten,omitempty" pb:"12"` // something else is in its memory; InvalidReason has it
	// Holders are the threads whose code shows that they hold it, or may; the surest
	// first. Only where the lock itself names no owner, or one that does not sleep.
	Holders []Holder `json:"holders,omitempty" pb:"13"`
	// MayRelease are the threads that may still come to release it; those that wait for it
	// themselves only after they have acquired it. Only for a lock that is held, without
	// owner and with no holders but such as wait for something; missing says that nothing is
	// known.
	MayRelease *Candidates `json:"may_release,omitempty" pb:"14"`
	// Leaks are places at which code that acquires the lock continues without releasing it.
	// They are looked for together with MayRelease.
	Leaks []Leak `json:"leaks,omitempty" pb:"15"`
	// OwnerAt is where the owner that the lock names acquired it, as its code shows; missing if it does
	// not. It is looked for in the locks with the most waiters.
	OwnerAt *Frame `json:"owner_at,omitempty" pb:"17"`
	// Releases are calls by which threads and tasks that have not acquired the lock may release it. Only for a
	// lock whose holder waits.
	Releases []Release `json:"releases,omitempty" pb:"16"`
	// HandedOver is set if code that threads are in, or will execute in their region, releases the lock without
	// acquiring it before: that a thread's code shows it to hold the lock does not prove that. Only for a lock
	// that names no owner and whose holder waits.
	HandedOver bool `json:"handed_over,omitempty" pb:"19"`
	// Acquiring are LWPs in a call that acquires a lock that is handed over which are not known to wait: they may
	// have just got it.
	Acquiring []int `json:"acquiring,omitempty" pb:"18"`
}

// Release is a call by which a thread, or a task that is not begun, may release a lock that it has not acquired.
// Without either, it is a thread that joins its team.
type Release struct {
	Thread int `json:"thread,omitempty" pb:"1"` // LWP
	Task   ID  `json:"task,omitempty" pb:"2"`
	// Certainty is likely where the call is on this lock, and possible where it is not known on which lock it is.
	Certainty Certainty `json:"certainty" pb:"3"`
	Frame     *Frame    `json:"frame,omitempty" pb:"4"` // where the call is
}

// Leak is a place at which code that acquires a lock continues without releasing it: a branch, or
// a call that may be left by an exception or a jump.
type Leak struct {
	Frame Frame `json:"frame" pb:"1"`
	// ExitCall is the function by which the call at this place may be left; it is missing for a branch.
	ExitCall string `json:"exit_call,omitempty" pb:"2"`
}

// HoldersWait reports whether all threads that hold the lock, or may hold it, are among
// those that wait.
func (l *Lock) HoldersWait(waiting map[int]bool) bool {
	for _, h := range l.Holders {
		if !waiting[h.Thread] {
			return false
		}
	}
	return true
}

// Holder is a thread that holds a lock, or may hold it, as its code shows.
type Holder struct {
	Thread     int       `json:"thread" pb:"1"` // LWP
	Certainty  Certainty `json:"certainty" pb:"2"`
	AcquiredAt *Frame    `json:"acquired_at,omitempty" pb:"3"` // where it acquired the lock, if that is one place
	// SuspendedAt is where it was given another task to execute while it had the lock, in a
	// taskwait, barrier or the like (SuspendedIn).
	SuspendedAt *Frame `json:"suspended_at,omitempty" pb:"5"`
	// The construct there: a taskwait, a barrier or the like.
	SuspendedIn string `json:"suspended_in,omitempty" pb:"6"`
	Evidence    string `json:"evidence" pb:"4"`
}

// Candidates are the threads and tasks whose code, from where it is now, may come to a
// call of some kind, as far as that could be followed: those of which it could not be
// told are among them.
type Candidates struct {
	Threads []int `json:"threads" pb:"1"`         // LWPs
	Tasks   []ID  `json:"tasks,omitempty" pb:"2"` // that are not begun
	// Incomplete is set if there are threads of which nothing is known.
	Incomplete bool `json:"incomplete,omitempty" pb:"3"`
}

// Barrier is a barrier that is not complete, as some of its threads see it.
type Barrier struct {
	ID       ID  `json:"id" pb:"1"`
	TeamSize int `json:"team_size" pb:"2"`
	// LWPs that are proven to have arrived, and cannot leave.
	Arrived       []int  `json:"arrived,omitempty" pb:"3"`
	Missing       []int  `json:"missing,omitempty" pb:"4"`         // LWPs that are proven not to have arrived
	WaitsForTasks bool   `json:"waits_for_tasks,omitempty" pb:"5"` // all have arrived, explicit tasks are left
	Evidence      string `json:"evidence,omitempty" pb:"6"`
	// Misplaced are barriers in constructs that may have none.
	Misplaced []Misplaced `json:"misplaced,omitempty" pb:"7"`
}

// LostThreads are threads that a runtime counts on and that the process does not have, or that are ending.
type LostThreads struct {
	Runtime  string `json:"runtime" pb:"1"`           // ID of the runtime
	Count    int    `json:"count" pb:"2"`             // threads that are not there
	Ending   []int  `json:"ending,omitempty" pb:"5"`  // LWPs of threads that are ending in a region
	Waiting  []int  `json:"waiting,omitempty" pb:"3"` // LWPs of the threads that wait for them
	Evidence string `json:"evidence" pb:"4"`
}

// Fork is what decided on the size of a parallel region. Numbers that could not be read
// are missing.
type Fork struct {
	Region ID `json:"region" pb:"1"`
	// Clause is set if the construct has a num_threads clause; its value may not be known.
	Clause          bool   `json:"clause,omitempty" pb:"2"`
	ClauseValue     *int   `json:"clause_value,omitempty" pb:"3"`
	IfFalse         bool   `json:"if_false,omitempty" pb:"4"` // its if clause was false
	MaybeIf         bool   `json:"maybe_if,omitempty" pb:"5"` // a clause of 1 may also be an if clause that was false
	Frame           *Frame `json:"frame,omitempty" pb:"6"`    // the call that forked it
	ActiveLevels    int    `json:"active_levels" pb:"7"`      // active regions around it
	NThreads        *int   `json:"nthreads,omitempty" pb:"8"` // nthreads-var of the task that encountered it
	MaxActiveLevels *int   `json:"max_active_levels,omitempty" pb:"9"`
	ThreadLimit     *int   `json:"thread_limit,omitempty" pb:"10"`
	NumProcs        *int   `json:"num_procs,omitempty" pb:"11"` // processors that the runtime counts
	Dynamic         bool   `json:"dynamic,omitempty" pb:"12"`   // dyn-var
	NestOff         bool   `json:"nest_off,omitempty" pb:"13"`  // nest-var, of before OpenMP 5.0, is false
}

// Setting is a control variable of a runtime.
type Setting struct {
	Name  string `json:"name" pb:"1"`
	Value string `json:"value" pb:"2"`
}
