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
	// Change is what changed since the look before; missing in the first.
	Change *Change `json:"change,omitempty" pb:"6"`
	// Result is what changed between the first look and this one; only in the
	// last, and never more quiet than the changes in between.
	Result *Change `json:"result,omitempty" pb:"7"`
}

// Verdicts on a process that was looked at several times.
const (
	WatchProgress = "progress"    // something was done
	WatchSpinning = "spinning"    // processors were used, and nothing came of it
	WatchStuck    = "no progress" // nothing was done and no processor was used
	WatchUnknown  = "unknown"     // threads ran, or had something to do, and whether they made progress is not known
)

// Change is the difference of two looks.
type Change struct {
	// Such as progress, spinning, no progress or unknown.
	Verdict string         `json:"verdict" pb:"1" schema:"enum=progress|spinning|no progress|unknown"`
	Reason  string         `json:"reason" pb:"2" schema:"minlen=1"`
	Seconds float64        `json:"seconds" pb:"3" schema:"min=0"` // between the looks
	Threads []ThreadChange `json:"threads" pb:"4"`
	Regions Turnover       `json:"regions" pb:"5"`
	Tasks   Turnover       `json:"tasks" pb:"6"` // of those that the pictures hold
	// Recorded is what a program with the recorder has recorded in between.
	Recorded *RecordedChange `json:"recorded,omitempty" pb:"7"`
}

// RecordedChange counts records of the recorder: an event is one, some are several.
type RecordedChange struct {
	Records   int64   `json:"records" pb:"1" schema:"min=0"` // of the threads that were there at both looks
	PerSecond float64 `json:"per_second" pb:"2" schema:"min=0"`
}

// Turnover counts what came and went.
type Turnover struct {
	Ended int `json:"ended" pb:"1" schema:"min=0"`
	New   int `json:"new" pb:"2" schema:"min=0"`
	Same  int `json:"same" pb:"3" schema:"min=0"`
}

// What a thread did between two looks.
const (
	ActivityMoved = "moved" // it got on
	ActivitySpun  = "spun"  // it ran, and only waited: its code proves that, or a count of the runtime's
	ActivityStill = "still" // it did not run
	ActivityRan   = "ran"   // it ran, and whether it did more than to wait is not known
	ActivityNew   = "new"
	ActivityEnded = "ended"
)

// ThreadChange is what one thread did.
type ThreadChange struct {
	LWP int `json:"lwp" pb:"1" schema:"min=1"`
	// Such as moved, spun, still, ran, new or ended.
	Activity string `json:"activity" pb:"2" schema:"enum=moved|spun|still|ran|new|ended"`
	// What is different: stack, memory, a counter, …
	Changed []string `json:"changed,omitempty" pb:"3"`
	CPU     float64  `json:"cpu_seconds" pb:"4" schema:"min=0"` // processor time
	// Records are those that it has written, if the program has the recorder.
	Records int64 `json:"records,omitempty" pb:"6" schema:"min=0"`
	// Ignored is set if the thread does not count: it is idle in the runtime's
	// pool, a helper, or no thread of OpenMP that does little beside those
	// that wait.
	Ignored bool `json:"ignored,omitempty" pb:"5"`
}

// Use is what the kernel counted for a thread between two looks.
type Use struct {
	LWP      int
	CPU      time.Duration
	Switches uint64 // times that it left a processor
	Runnable bool   // at the later look, it ran or was queued for a processor
	// Records are those of the recorder, since the thread has its ring, and Step is the time of the newest
	// of those by which it got on, 0 if there is none among the last ones. They are only in what is since
	// threads began; GotOn, which says whether there was such a one, only in what is between two looks.
	Records int64
	Step    uint64
	GotOn   bool
}
