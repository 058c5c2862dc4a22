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
	Waits    []Wait    `json:"waits,omitempty"`
	Locks    []Lock    `json:"locks,omitempty"`    // those that threads wait for, each once
	Barriers []Barrier `json:"barriers,omitempty"` // as the threads see them that wait, each view once
	// Wakers may signal a condition variable; only if a thread waits on one.
	Wakers *Candidates `json:"wakers,omitempty"`
	// Fulfillers may fulfil the event of a detached task; only if there may be one.
	Fulfillers *Candidates `json:"fulfillers,omitempty"`
	// EventMakers are LWPs of threads in a taskwait whose code makes detached tasks; only
	// of those whose runtime counts children that it does not list.
	EventMakers []int `json:"event_makers,omitempty"`
	// StacksWhole is set if the stacks of all threads are known as a whole, so that what
	// none of them shows is not there.
	StacksWhole bool        `json:"stacks_whole"`
	TasksCut    bool        `json:"tasks_cut,omitempty"` // there are more tasks than the picture has
	Lost        []Lost      `json:"lost,omitempty"`
	Forks       []Fork      `json:"forks,omitempty"` // of the regions of level 1 and deeper
	Processors  *Processors `json:"processors,omitempty"`
	Settings    []Setting   `json:"settings,omitempty"`    // what runtimes keep of how threads wait
	Environment []Variable  `json:"environment,omitempty"` // the variables that matter to verdicts
	Fault       *Fault      `json:"fault,omitempty"`
	Abort       *Abort      `json:"abort,omitempty"`
	Heap        *BrokenHeap `json:"heap,omitempty"`
	Recorded    []Recorded  `json:"recorded,omitempty"` // of the threads of a program with the recorder
	History     *History    `json:"history,omitempty"`  // what the recorder's newest events show
}

// Recorded is what the recorder has kept of a thread (docs/recorder.md).
type Recorded struct {
	Thread int    `json:"thread"` // LWP
	State  string `json:"state"`  // exact, as the thread's events say
	// Last is its last event; nil if it makes them all the time.
	Last *PastEvent  `json:"last,omitempty"`
	Held []PastEvent `json:"held,omitempty"` // acquisitions of the locks that it has, the oldest first
}

// PastEvent is an event that was recorded.
type PastEvent struct {
	Says string `json:"says"`           // in words
	When string `json:"when"`           // "3.2s ago", of a core "3.2s before the newest event"
	Lock *Hex   `json:"lock,omitempty"` // wait id of the lock that it is about
	At   *Frame `json:"at,omitempty"`
}

// Wait is what one thread waits for.
type Wait struct {
	Thread int      `json:"thread"` // LWP
	Kind   WaitKind `json:"kind"`
	// Address is that of the program's variable if it is known, else of the runtime's.
	Address  *Hex   `json:"address,omitempty"`
	Variable *Hex   `json:"variable,omitempty"` // of the program
	Name     string `json:"name,omitempty"`     // as the program calls it
	Region   ID     `json:"region,omitempty"`
	Task     ID     `json:"task,omitempty"`
	Call     string `json:"call,omitempty"` // the function of the runtime that was called
	// EndOfRegion is set for the barrier at the end of the region.
	EndOfRegion bool `json:"end_of_region,omitempty"`
	// Asleep is set if the thread is known to sleep on a futex until another thread wakes it:
	// it has not just acquired what it waited for.
	Asleep bool `json:"asleep,omitempty"`
	// On is the LWP that must proceed first, where the wait itself says so: the owner of
	// a mutex, the thread that is joined. Evidence says how that is known.
	On       int    `json:"on,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Lock     ID     `json:"lock,omitempty"`    // among the locks; missing if nothing is known of it
	Barrier  ID     `json:"barrier,omitempty"` // among the barriers; missing if nothing is known of it
	// Sleep is how long it sleeps; only of kind sleep.
	Sleep *Sleep `json:"sleep,omitempty"`
	// Awaits are tasks, or an iteration, that the wait itself names.
	Awaits *Awaited `json:"awaits,omitempty"`
}

// Construct is a construct in the program, as its code shows it.
type Construct struct {
	Name string `json:"name"`
	At   *Frame `json:"at,omitempty"`   // where it begins, if the compiler says so
	Call *Frame `json:"call,omitempty"` // the call in it that leads to the barrier
	// Own is set if a condition of the program may look like the construct.
	Own bool `json:"own,omitempty"`
}

// Misplaced is a barrier in a construct that may have none.
type Misplaced struct {
	// Thread is the LWP that waits there; 0 if the code of the region comes there, and its
	// members wait at different barriers now.
	Thread int       `json:"thread,omitempty"`
	In     Construct `json:"in"`
	At     *Frame    `json:"at,omitempty"` // the barrier
}

// Awaited are the unfinished tasks that a taskwait with dependences or a taskgroup waits
// for, or the iteration of a loop with dependences, or the loop in which a flag is read.
type Awaited struct {
	Tasks []ID `json:"tasks"`
	// Only is set if it waits for none of its other children: in a taskwait with
	// dependences, or at a task that its thread must execute at once.
	Only bool `json:"only,omitempty"`
	// Iteration is that of a loop with dependences (depend(sink), doacross) which nobody has
	// posted: a number for each loop, the outermost first, as in the thread's loop. The
	// wait's evidence says how that is known.
	Iteration []int64 `json:"iteration,omitempty"`
	// Loop is where the program waits in a loop of its own, for a flag: the code that reads it.
	Loop *Frame `json:"loop,omitempty"`
	// Interrupted is where the program was interrupted by a signal whose handler waits.
	Interrupted *Frame `json:"interrupted,omitempty"`
}

// Lock is a lock, a critical or atomic section, or a mutex that threads wait for.
type Lock struct {
	ID             ID     `json:"id"`
	Implementation string `json:"implementation,omitempty"` // of the runtime: queuing, ticket, futex, mutex, …
	Nested         bool   `json:"nested,omitempty"`
	Held           bool   `json:"held,omitempty"`
	Owner          int    `json:"owner,omitempty"`      // LWP that the lock itself names
	OwnerGone      bool   `json:"owner_gone,omitempty"` // it names an owner that is no thread any more
	Waiters        []int  `json:"waiters,omitempty"`    // LWPs in the order of its queue, if it has one
	// how many wait: by its own count, or as each of them is seen to
	Waiting  *int   `json:"waiting,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	// Gone says why it is no lock any more: its memory was freed, or the runtime has
	// destroyed it. Missing if nothing proves that.
	Gone        string `json:"gone,omitempty"`
	Destroyed   bool   `json:"destroyed,omitempty"`   // the runtime has destroyed it, and will wake nobody
	Overwritten bool   `json:"overwritten,omitempty"` // something else is in its memory; Gone says what
	// Holders are the threads whose code shows that they hold it, or may; the surest
	// first. Only where the lock itself names no owner, or one that does not sleep.
	Holders []Holder `json:"holders,omitempty"`
	// MayRelease are the threads that may still come to release it; those that wait for it
	// themselves only after they have acquired it. Only for a lock that is held, without
	// owner and with no holders but such as wait for something; missing says that nothing is
	// known.
	MayRelease *Candidates `json:"may_release,omitempty"`
	// Leaves are places where code that acquires the lock goes on without releasing it.
	// They are looked for together with MayRelease.
	Leaves []Leave `json:"leaves,omitempty"`
	// OwnerAt is where the owner that the lock names acquired it, as its code shows; missing if it does
	// not. It is looked for in the locks with the most waiters.
	OwnerAt *Frame `json:"owner_at,omitempty"`
	// Releases are calls by which threads and tasks that have not acquired the lock may release it. Only for a
	// lock whose holder waits.
	Releases []Release `json:"releases,omitempty"`
	// HandedOver is set if code that threads are in, or will execute in their region, releases the lock without
	// acquiring it before: that a thread's code shows it to hold the lock does not prove that. Only for a lock
	// that names no owner and whose holder waits.
	HandedOver bool `json:"handed_over,omitempty"`
	// Acquiring are LWPs in a call that acquires a lock that is handed over which are not known to wait: they may
	// have just got it.
	Acquiring []int `json:"acquiring,omitempty"`
}

// Release is a call by which a thread, or a task that is not begun, may release a lock that it has not acquired.
// Without either, it is a thread that joins its team.
type Release struct {
	Thread int `json:"thread,omitempty"` // LWP
	Task   ID  `json:"task,omitempty"`
	// Certainty is likely where the call is on this lock, and possible where it is not known on which lock it is.
	Certainty Certainty `json:"certainty"`
	At        *Frame    `json:"at,omitempty"` // where the call is
}

// Leave is a place where code that acquires a lock goes on without releasing it: a branch, or
// a call that may be left by an exception or a jump.
type Leave struct {
	At Frame `json:"at"`
	// Throws is the function by which the call at this place may be left; empty for a branch.
	Throws string `json:"throws,omitempty"`
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
	Thread    int       `json:"thread"` // LWP
	Certainty Certainty `json:"certainty"`
	Taken     *Frame    `json:"taken,omitempty"` // where it acquired the lock, if that is one place
	// Suspended is where it was given another task to execute while it had the lock, in a
	// taskwait, barrier or the like (SuspendedIn).
	Suspended   *Frame `json:"suspended,omitempty"`
	SuspendedIn string `json:"suspended_in,omitempty"`
	Evidence    string `json:"evidence"`
}

// Candidates are the threads and tasks whose code, from where it is now, may come to a
// call of some kind, as far as that could be followed: those of which it could not be
// told are among them.
type Candidates struct {
	Threads []int `json:"threads"`         // LWPs
	Tasks   []ID  `json:"tasks,omitempty"` // that are not begun
	// Incomplete is set if there are threads of which nothing is known.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Barrier is a barrier that is not complete, as some of its threads see it.
type Barrier struct {
	ID            ID     `json:"id"`
	TeamSize      int    `json:"team_size"`
	Arrived       []int  `json:"arrived,omitempty"`         // LWPs that are proven to have arrived, and cannot leave
	Missing       []int  `json:"missing,omitempty"`         // LWPs that are proven not to have arrived
	WaitsForTasks bool   `json:"waits_for_tasks,omitempty"` // all have arrived, explicit tasks are left
	Evidence      string `json:"evidence,omitempty"`
	// Misplaced are barriers in constructs that may have none.
	Misplaced []Misplaced `json:"misplaced,omitempty"`
}

// Lost are threads that a runtime counts on and that the process does not have, or that are ending.
type Lost struct {
	Runtime  string `json:"runtime"`           // ID of the runtime
	Count    int    `json:"count"`             // threads that are not there
	Ending   []int  `json:"ending,omitempty"`  // LWPs of threads that are ending in a region
	Waiting  []int  `json:"waiting,omitempty"` // LWPs of the threads that wait for them
	Evidence string `json:"evidence"`
}

// Fork is what decided on the size of a parallel region. Numbers that could not be read
// are missing.
type Fork struct {
	Region ID `json:"region"`
	// Clause is set if the construct has a num_threads clause; its value may not be known.
	Clause          bool   `json:"clause,omitempty"`
	ClauseValue     *int   `json:"clause_value,omitempty"`
	IfFalse         bool   `json:"if_false,omitempty"` // its if clause was false
	OrIf            bool   `json:"or_if,omitempty"`    // a clause of 1 may also be an if clause that was false
	At              *Frame `json:"at,omitempty"`       // the call that forked it
	Active          int    `json:"active"`             // active regions around it
	NThreads        *int   `json:"nthreads,omitempty"` // nthreads-var of the task that encountered it
	MaxActiveLevels *int   `json:"max_active_levels,omitempty"`
	ThreadLimit     *int   `json:"thread_limit,omitempty"`
	NumProcs        *int   `json:"num_procs,omitempty"` // processors that the runtime counts
	Dynamic         bool   `json:"dynamic,omitempty"`   // dyn-var
	NestOff         bool   `json:"nest_off,omitempty"`  // nest-var, of before OpenMP 5.0, is false
}

// Setting is a control variable of a runtime.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
