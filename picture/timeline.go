package picture

// Timeline has the activities of the threads of a program with the recorder before the newest event: as
// far back as the events that an ordinary snapshot reads, and ten seconds at most. It includes a little time
// after that event, so that the activity which it started is visible. Times
// are nanoseconds from its start.
type Timeline struct {
	Nanoseconds int64 `json:"nanoseconds" pb:"1"` // its length
	Newest      int64 `json:"newest" pb:"6"`      // time of the newest event
	// Nanoseconds from the newest event to the snapshot; 0 for a target that does not run.
	Quiet int64 `json:"quiet,omitempty" pb:"2"`
	// Activities are the activities of the rows' spans, each once.
	Activities []Activity    `json:"activities" pb:"3"`
	Rows       []TimelineRow `json:"rows" pb:"4"`
	Omitted    int           `json:"omitted,omitempty" pb:"5"` // number of threads without a row
}

// TimelineRow has the activities of one thread. They are unknown before Begin: older events were
// overwritten or not read, or the thread did not exist. The thread ended at End.
type TimelineRow struct {
	Thread int            `json:"thread" pb:"1"` // LWP
	Begin  int64          `json:"begin" pb:"2"`  // the thread's activities before it are unknown
	End    int64          `json:"end" pb:"3"`    // the end of the thread
	Spans  []TimelineSpan `json:"spans" pb:"4"`
	// Held are the times in which it held a lock, with the one that it acquired last.
	Held []TimelineSpan `json:"held,omitempty" pb:"5"`
}

// TimelineSpan is a time in which a thread did one thing. If it merges several that are too
// short to be shown, Activity is the longest, and Merged is their number.
type TimelineSpan struct {
	Begin    int64 `json:"begin" pb:"1"`
	End      int64 `json:"end" pb:"2"`
	Activity int   `json:"activity" pb:"3"`         // its place among the activities
	Merged   int   `json:"merged,omitempty" pb:"4"` // number of spans that were merged
}

// Activity is the innermost construct that a thread executes at a time.
type Activity struct {
	// work, task, barrier, task_wait, lock_wait, lock, device or idle.
	Kind  ActivityKind `json:"kind" pb:"1"`
	Text  string       `json:"text" pb:"2"`
	Frame *Frame       `json:"frame,omitempty" pb:"3"`
}

// ActivityKind is the kind of an activity.
type ActivityKind string

// Kinds of activities.
const (
	ActivityWork     ActivityKind = "work"
	ActivityTask     ActivityKind = "task"      // an explicit task
	ActivityBarrier  ActivityKind = "barrier"   // a wait
	ActivityTaskWait ActivityKind = "task_wait" // a taskwait, or the end of a taskgroup
	ActivityLockWait ActivityKind = "lock_wait"
	ActivityLock     ActivityKind = "lock"   // it holds a lock, or is in a critical construct
	ActivityDevice   ActivityKind = "device" // a target construct
	ActivityIdle     ActivityKind = "idle"
)
