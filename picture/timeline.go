package picture

// Timeline is what the threads of a program with the recorder did before the newest event, as
// far back as the events go that an ordinary look reads, and ten seconds at most. A little of
// the time behind that event belongs to it, so that what began with it is there, too. Its times
// are nanoseconds from its beginning on.
type Timeline struct {
	Nanoseconds int64 `json:"nanoseconds" pb:"1"` // from its beginning to its end
	Newest      int64 `json:"newest" pb:"6"`      // when the newest event was
	// Nanoseconds from the newest event to the look; 0 of a target that stands.
	Quiet int64 `json:"quiet,omitempty" pb:"2"`
	// Activities are what the spans of the rows are, each once.
	Activities []Activity    `json:"activities" pb:"3"`
	Rows       []TimelineRow `json:"rows" pb:"4"`
	Omitted    int           `json:"omitted,omitempty" pb:"5"` // threads that have no row
}

// TimelineRow is what one thread did. Before Begin nothing is known of it: its older events are
// overwritten, or were not read, or there was no such thread. It ended at End.
type TimelineRow struct {
	Thread int            `json:"thread" pb:"1"` // LWP
	Begin  int64          `json:"begin" pb:"2"`  // before it nothing is known of the thread
	End    int64          `json:"end" pb:"3"`    // when it ended
	Spans  []TimelineSpan `json:"spans" pb:"4"`
	// Held are the times at which it had a lock, with the one that it acquired last.
	Held []TimelineSpan `json:"held,omitempty" pb:"5"`
}

// TimelineSpan is a time in which a thread did one thing. If it stands for several that are too
// short to be told, Activity is what took the most of it, and Merged counts them.
type TimelineSpan struct {
	Begin    int64 `json:"begin" pb:"1"`
	End      int64 `json:"end" pb:"2"`
	Activity int   `json:"activity" pb:"3"`         // its place among the activities
	Merged   int   `json:"merged,omitempty" pb:"4"` // how many it stands for
}

// Activity is what a thread does at a moment: the innermost construct that it is in.
type Activity struct {
	// work, task, barrier, task_wait, lock_wait, lock, device or idle.
	Kind  ActivityKind `json:"kind" pb:"1"`
	Text  string       `json:"text" pb:"2"`
	Frame *Frame       `json:"frame,omitempty" pb:"3"`
}

// ActivityKind is a kind of what threads do.
type ActivityKind string

// Kinds of activities.
const (
	ActivityWork     ActivityKind = "work"
	ActivityTask     ActivityKind = "task"      // an explicit task
	ActivityBarrier  ActivityKind = "barrier"   // a wait
	ActivityTaskWait ActivityKind = "task_wait" // a taskwait, or the end of a taskgroup
	ActivityLockWait ActivityKind = "lock_wait"
	ActivityLock     ActivityKind = "lock"   // it has a lock, or is in a critical construct
	ActivityDevice   ActivityKind = "device" // a target construct
	ActivityIdle     ActivityKind = "idle"
)
