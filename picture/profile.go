package picture

// ProfileSchema names the version of the JSON form of a Profile.
const ProfileSchema = ProfileName + "/1.0"

// ProfileName is the part of ProfileSchema that all versions have.
const ProfileName = "ompd-inspect/profile"

// Profile is the time of the threads of a process by user-model stacks, from samples. Times are seconds; those of
// threads are summed over threads, so that Work, Wait and Unknown together are ThreadSeconds. A sample stands for the
// time since the one before.
type Profile struct {
	Schema string `json:"schema" pb:"1" schema:"const=ProfileSchema"` // of the JSON form
	// The process at the last sample.
	Target   Target     `json:"target" pb:"2"`
	Runtimes []Runtime  `json:"runtimes,omitempty" pb:"3"`
	End      ProfileEnd `json:"end" pb:"4"`
	Samples  int        `json:"samples" pb:"5" schema:"min=0"`
	Seconds  float64    `json:"seconds" pb:"6" schema:"min=0"` // that the samples stand for, without the stops
	// Total time of all stops, and the longest one.
	Stopped float64 `json:"stopped_seconds" pb:"7" schema:"min=0"`
	Longest float64 `json:"longest_stop_seconds" pb:"8" schema:"min=0"`
	// CPU time that this tool used for the samples.
	Own float64 `json:"own_cpu_seconds" pb:"9" schema:"min=0"`
	// CPU time that the process used since the first sample.
	CPU float64 `json:"cpu_seconds,omitempty" pb:"10" schema:"min=0"`
	// Most OpenMP threads in a sample.
	Threads       int     `json:"threads" pb:"11" schema:"min=0"`
	ThreadSeconds float64 `json:"thread_seconds" pb:"12" schema:"min=0"`
	Work          float64 `json:"work_seconds" pb:"13" schema:"min=0"`
	Wait          float64 `json:"wait_seconds" pb:"14" schema:"min=0"`
	// Time of threads whose state could not be read.
	Unknown float64 `json:"unknown_seconds,omitempty" pb:"15" schema:"min=0"`
	// Time of the threads that OpenMP does not know, which is not in the sums; missing without such threads. If no
	// thread is OpenMP's, all are in the sums.
	Outside *ProfileTime `json:"outside,omitempty" pb:"16"`
	// Findings are what costs most, with the usual fixes, the largest first.
	Findings []ProfileFinding `json:"findings" pb:"17"`
	// Waits are the awaited things, Places the places of the program, the largest times first.
	Waits    []ProfileWait    `json:"waits" pb:"18"`
	Places   []ProfilePlace   `json:"places" pb:"19"`
	Barriers []ProfileBarrier `json:"barriers,omitempty" pb:"20"`
	// Alone are the places of the threads that worked while others were idle.
	Alone []ProfileAlone `json:"alone,omitempty" pb:"21"`
	// Stacks are the user-model stacks, the largest times first.
	Stacks   []ProfileStack `json:"stacks" pb:"22"`
	Warnings []string       `json:"warnings,omitempty" pb:"23"`
	// Ranks are the ranks of a job, whose times are summed then. Samples is the smallest number of a rank; Seconds and
	// Stopped are those of a mean rank.
	Ranks []ProfileRank `json:"ranks,omitempty" pb:"24"`
}

// ProfileRank is the profile of a rank of a job, without places.
type ProfileRank struct {
	Rank          int     `json:"rank" pb:"1" schema:"min=0"`
	Host          string  `json:"host,omitempty" pb:"2"`
	PID           int     `json:"pid,omitempty" pb:"3" schema:"min=0"`
	Samples       int     `json:"samples" pb:"4" schema:"min=0"`
	Seconds       float64 `json:"seconds" pb:"5" schema:"min=0"`
	ThreadSeconds float64 `json:"thread_seconds" pb:"6" schema:"min=0"`
	Work          float64 `json:"work_seconds" pb:"7" schema:"min=0"`
	Wait          float64 `json:"wait_seconds" pb:"8" schema:"min=0"`
	Unknown       float64 `json:"unknown_seconds,omitempty" pb:"9" schema:"min=0"`
	MPI           float64 `json:"mpi_seconds,omitempty" pb:"10" schema:"min=0"` // part of Wait, for other ranks
}

// ProfileEnd is the reason for the end of a profile.
type ProfileEnd string

// Ends of profiles.
const (
	ProfileTimeOver    ProfileEnd = "time_over"       // the requested time, or number of samples
	ProfileInterrupted ProfileEnd = "interrupted"     // by the user
	ProfileExited      ProfileEnd = "process_ended"   // the process ended
	ProfileExec        ProfileEnd = "another_program" // the process executed another program
	ProfileFailed      ProfileEnd = "failed"          // a sample failed; a warning has the reason
)

// ProfileTime is time of threads, in seconds.
type ProfileTime struct {
	Work    float64 `json:"work_seconds" pb:"1" schema:"min=0"`
	Wait    float64 `json:"wait_seconds" pb:"2" schema:"min=0"`
	Unknown float64 `json:"unknown_seconds,omitempty" pb:"3" schema:"min=0"`
}

// ProfileClass is the class of the time of a thread.
type ProfileClass string

// Classes of time. Work is the time in which a thread executes the program, whether in parallel or not. Wait is that
// in which it waits for others, sleeping or spinning, is idle, or executes the runtime for its own purposes.
const (
	ProfileWork    ProfileClass = "work"
	ProfileWaits   ProfileClass = "wait"
	ProfileUnknown ProfileClass = "unknown"
)

// ProfileWait is the time that threads waited for one thing.
type ProfileWait struct {
	// A kind of wait, such as barrier, lock, critical or taskwait; or idle (in the runtime's pool), overhead (the
	// runtime's own work).
	Kind string `json:"kind" pb:"1" schema:"minlen=1"`
	// Name of the lock or critical section; its address without a name; missing for other kinds.
	Name    string  `json:"name,omitempty" pb:"2"`
	Seconds float64 `json:"seconds" pb:"3" schema:"min=0"`
}

// ProfilePlace is the time at one place of the program.
type ProfilePlace struct {
	Region  *Code         `json:"region,omitempty" pb:"1"` // the innermost parallel region; missing outside of all
	Frame   *Frame        `json:"frame,omitempty" pb:"2"`  // the innermost frame of the program; missing for idle threads
	Work    float64       `json:"work_seconds" pb:"3" schema:"min=0"`
	Wait    float64       `json:"wait_seconds" pb:"4" schema:"min=0"`
	Unknown float64       `json:"unknown_seconds,omitempty" pb:"5" schema:"min=0"`
	Waits   []ProfileWait `json:"waits,omitempty" pb:"6"` // the largest first
}

// ProfileBarrier is the time at one barrier of the program.
type ProfileBarrier struct {
	Region *Code     `json:"region,omitempty" pb:"1"`
	State  StateName `json:"state" pb:"2"` // the kind of barrier
	Frame  *Frame    `json:"frame,omitempty" pb:"3"`
	// Time that threads waited there, summed over threads.
	Seconds float64 `json:"seconds" pb:"4" schema:"min=0"`
	// Time in which a thread of a team waited there and another one had not come.
	Span float64 `json:"span_seconds" pb:"5" schema:"min=0"`
	// Late are the threads that had not come, the longest time first.
	Late []ProfileLate `json:"late,omitempty" pb:"6"`
}

// ProfileLate is a thread of a team for which the others waited at a barrier.
type ProfileLate struct {
	ThreadNum int     `json:"thread_num" pb:"1" schema:"min=0"`
	Seconds   float64 `json:"seconds" pb:"2" schema:"min=0"` // others waited, and it had not come
	Frame     *Frame  `json:"frame,omitempty" pb:"3"`        // where it was for the most part
	// The share of Seconds at that place, from 0 to 1.
	Share float64 `json:"share" pb:"4" schema:"min=0"`
	// Work is the time of Seconds in which the thread was at work.
	Work float64 `json:"work_seconds" pb:"5" schema:"min=0"`
}

// ProfileAlone is a place of a thread while others were idle.
type ProfileAlone struct {
	Frame *Frame `json:"frame,omitempty" pb:"1"`
	// Serial is set if the thread was outside of all parallel regions.
	Serial  bool    `json:"serial" pb:"2"`
	Seconds float64 `json:"seconds" pb:"3" schema:"min=0"` // time of the idle threads, summed over threads
}

// ProfileStack is a user-model stack and the time of the threads with it.
type ProfileStack struct {
	Frames  []Frame      `json:"frames" pb:"1"` // innermost first
	Class   ProfileClass `json:"class" pb:"2"`
	Kind    string       `json:"kind,omitempty" pb:"3"` // of the wait, as in ProfileWait
	Name    string       `json:"name,omitempty" pb:"4"`
	Seconds float64      `json:"seconds" pb:"5" schema:"min=0"`
	Samples int          `json:"samples" pb:"6" schema:"min=0"` // of threads
	// Outside is set for threads that OpenMP does not know, if there are others.
	Outside bool `json:"outside,omitempty" pb:"7"`
}

// ProfileFinding is a conclusion of a profile.
type ProfileFinding struct {
	Kind ProfileFindingKind `json:"kind" pb:"1"`
	// Seconds is the time that it costs, summed over threads; Share is its part of all thread time, from 0 to 1.
	Seconds float64 `json:"seconds" pb:"2" schema:"min=0"`
	Share   float64 `json:"share" pb:"3" schema:"min=0"`
	Text    string  `json:"text" pb:"4" schema:"minlen=1"`
	// Details are further facts, a sentence each.
	Details []string `json:"details,omitempty" pb:"5"`
	Fix     string   `json:"fix,omitempty" pb:"6"` // the usual fix
}

// ProfileFindingKind is the kind of a finding.
type ProfileFindingKind string

// Kinds of findings.
const (
	FindingContention ProfileFindingKind = "contention"  // threads wait for a lock, or for their turn
	FindingImbalance  ProfileFindingKind = "imbalance"   // threads wait at a barrier for a late one
	FindingBarrier    ProfileFindingKind = "barrier"     // threads wait at a barrier, for no thread in particular
	FindingSerial     ProfileFindingKind = "serial"      // threads are idle while one works outside of parallel regions
	FindingFewThreads ProfileFindingKind = "few_threads" // threads are idle while a smaller team works
	FindingTasks      ProfileFindingKind = "tasks"       // threads wait for tasks
	FindingOther      ProfileFindingKind = "other_wait"  // another wait, such as for a device or a process
	FindingOverhead   ProfileFindingKind = "overhead"    // the runtime's own work
	FindingStarved    ProfileFindingKind = "starved"     // threads at work got no processor
	FindingWork       ProfileFindingKind = "work"        // where the work is
	FindingUnknown    ProfileFindingKind = "unknown"     // states could not be read
	FindingTooFew     ProfileFindingKind = "too_few"     // too few samples for a conclusion
	FindingNoProgress ProfileFindingKind = "no_progress" // all threads wait, at the same places in all samples
	// A rank of a job works for longer than the others, which wait for it in MPI.
	FindingRanks ProfileFindingKind = "rank_imbalance"
)
