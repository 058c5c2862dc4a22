package picture

// History is what the newest events of a program with the recorder show of how it gets on:
// those that an ordinary look reads, which are not all that are there.
type History struct {
	Threads     int   `json:"threads" pb:"1"`
	Events      int   `json:"events" pb:"2"`
	Nanoseconds int64 `json:"nanoseconds" pb:"3"` // from the first of these events to the last
	// LockOrders are locks that threads acquired in different orders.
	LockOrders []LockOrder `json:"lock_orders,omitempty" pb:"4"`
	// Imbalances are the barriers with the most waiting for the last thread, Contentions the
	// locks with the most waiting for another thread, TaskGrains the places that create the
	// most deferred tasks.
	Imbalances []Imbalance `json:"imbalances,omitempty" pb:"5"`
	// The locks with the most waiting for another thread.
	Contentions []Contention `json:"contentions,omitempty" pb:"6"`
	TaskGrains  []TaskGrain  `json:"task_grains,omitempty" pb:"7"` // the places that create the most deferred tasks
	Timeline    *Timeline    `json:"timeline,omitempty" pb:"8"`
}

// LockOrder is a cycle in the order of acquisition: had its steps come at once, each thread
// would have waited for the next one's lock for ever.
type LockOrder struct {
	Steps   []LockStep `json:"steps" pb:"1"`
	Similar int        `json:"similar,omitempty" pb:"2"` // further such cycles of the same code
}

// LockStep is a thread that acquired a lock while it had another one.
type LockStep struct {
	Thread int       `json:"thread" pb:"1"` // LWP
	First  PastEvent `json:"first" pb:"2"`  // the acquisition of the lock that it had
	Second PastEvent `json:"second" pb:"3"`
	// Waits is set if it had not acquired the second by the end of the recording; the time is then that of its request.
	Waits bool `json:"waits,omitempty" pb:"4"`
}

// Imbalance is how unevenly threads come to a barrier.
type Imbalance struct {
	Text        string `json:"text" pb:"1"` // which barrier
	Frame       *Frame `json:"frame,omitempty" pb:"2"`
	Count       int    `json:"count" pb:"3"`       // how often the team came there
	Nanoseconds int64  `json:"nanoseconds" pb:"4"` // from the first of these barriers to the last
	// Nanoseconds from the mean arrival to the last one, all together.
	Waited    int64 `json:"waited" pb:"5"`
	Last      int   `json:"last,omitempty" pb:"6"`    // LWP of the thread that was the last most often,
	LastCount int   `json:"last_count" pb:"7"`        // and how often that was
	Threads   int   `json:"threads,omitempty" pb:"8"` // that came there
}

// Contention is how threads wait for a lock that another one has.
type Contention struct {
	Text        string `json:"text" pb:"1"` // for what they wait
	Frame       *Frame `json:"frame,omitempty" pb:"2"`
	Count       int    `json:"count" pb:"3"`     // acquisitions
	Contended   int    `json:"contended" pb:"4"` // those of them that waited
	Threads     int    `json:"threads" pb:"5"`
	Nanoseconds int64  `json:"nanoseconds" pb:"6"` // from the first of these acquisitions to the last
	Waited      int64  `json:"waited" pb:"7"`      // nanoseconds of all threads together
	// Waiting are the contended ones that wait still, and Longest for how many nanoseconds the first
	// of them has.
	Waiting int `json:"waiting,omitempty" pb:"9"`
	// For how many nanoseconds the first of them has waited.
	Longest int64 `json:"longest,omitempty" pb:"10"`
	// Holder is where those acquired it that were waited for the most.
	Holder *Frame `json:"holder,omitempty" pb:"8"`
}

// TaskGrain is how short the deferred tasks of one place are.
type TaskGrain struct {
	Frame  *Frame `json:"frame,omitempty" pb:"1"` // where they are created
	Count  int    `json:"count" pb:"2"`
	Short  int    `json:"short" pb:"3"`  // those that took less than 2 µs, without the tasks in them
	Period int64  `json:"period" pb:"4"` // nanoseconds from one to the next, on the mean
}
