package picture

import (
	"time"
)

// WatchSchema names the version of the JSON form of a Look.
const WatchSchema = "ompd-inspect/watch/2.0"

// Look is one of several looks at a process.
type Look struct {
	Schema  string   `json:"schema" pb:"1" schema:"const=WatchSchema"` // of the JSON form
	Number  int      `json:"number" pb:"2" schema:"min=1"`             // from 1
	Time    string   `json:"time" pb:"3" schema:"format=date-time"`    // RFC 3339
	Seconds float64  `json:"seconds" pb:"4" schema:"min=0"`            // since the first look
	Picture *Picture `json:"picture" pb:"5"`
	// Change is the difference to the previous look; missing in the first look.
	Change *Change `json:"change,omitempty" pb:"6"`
	// Result is the difference between the first look and this one; only in the last look. Its verdict is at
	// least as active as those in between.
	Result *Change `json:"result,omitempty" pb:"7"`
}

// Verdicts on a process after several looks.
const (
	WatchProgress = "progress"    // work was done
	WatchSpinning = "spinning"    // CPU time was used without progress
	WatchStuck    = "no progress" // no progress, and no CPU time was used
	WatchUnknown  = "unknown"     // threads ran, or had work to do, and their progress is unknown
)

// Change is the difference between two looks.
type Change struct {
	// Such as progress, spinning, no progress or unknown.
	Verdict string         `json:"verdict" pb:"1" schema:"enum=progress|spinning|no progress|unknown"`
	Reason  string         `json:"reason" pb:"2" schema:"minlen=1"`
	Seconds float64        `json:"seconds" pb:"3" schema:"min=0"` // between the looks
	Threads []ThreadChange `json:"threads" pb:"4"`
	Regions Turnover       `json:"regions" pb:"5"`
	Tasks   Turnover       `json:"tasks" pb:"6"` // tasks in the pictures
	// The new records, for a program with the recorder.
	Recorded *RecordedChange `json:"recorded,omitempty" pb:"7"`
}

// RecordedChange counts records of the recorder: an event takes one or several.
type RecordedChange struct {
	Records   int64   `json:"records" pb:"1" schema:"min=0"` // of the threads in both looks
	PerSecond float64 `json:"per_second" pb:"2" schema:"min=0"`
}

// Turnover counts items that ended, started or remained.
type Turnover struct {
	Ended int `json:"ended" pb:"1" schema:"min=0"`
	New   int `json:"new" pb:"2" schema:"min=0"`
	Same  int `json:"same" pb:"3" schema:"min=0"`
}

// The activities of a thread between two looks.
const (
	ActivityMoved = "moved" // it made progress
	ActivitySpun  = "spun"  // it ran, and only waited: its code, or a counter of the runtime, proves that
	ActivityStill = "still" // it did not run
	ActivityRan   = "ran"   // it ran, and may have done more than wait
	ActivityNew   = "new"
	ActivityEnded = "ended"
)

// ThreadChange is the change of one thread.
type ThreadChange struct {
	LWP int `json:"lwp" pb:"1" schema:"min=1"`
	// Such as moved, spun, still, ran, new or ended.
	Activity string `json:"activity" pb:"2" schema:"enum=moved|spun|still|ran|new|ended"`
	// The differences: stack, memory, a counter, …
	Changed []string `json:"changed,omitempty" pb:"3"`
	CPU     float64  `json:"cpu_seconds" pb:"4" schema:"min=0"` // processor time
	// Records is the number of records that the thread has written, for a program with the recorder.
	Records int64 `json:"records,omitempty" pb:"6" schema:"min=0"`
	// Ignored is set if the thread does not count: it is idle in the runtime's pool, a helper, or a thread
	// outside of OpenMP that does little while the others wait.
	Ignored bool `json:"ignored,omitempty" pb:"5"`
}

// Use is the kernel's counters of a thread between two looks.
type Use struct {
	LWP      int
	CPU      time.Duration
	Switches uint64 // number of context switches
	Runnable bool   // at the later look, it ran or was queued for a processor
	// Records counts the recorder's records since the thread has its ring. Step is the time of the newest one
	// that shows progress, 0 if it is not among the last ones. Both are only in counts since the start of the
	// threads. GotOn reports whether there was such a record; it is only in counts between two looks.
	Records int64
	Step    uint64
	GotOn   bool
}
