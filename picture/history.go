package picture

// History is what the newest events of a program with the recorder show of how it gets on:
// those that an ordinary look reads, which are not all that are there.
type History struct {
	Threads     int   `json:"threads"`
	Events      int   `json:"events"`
	Nanoseconds int64 `json:"nanoseconds"` // from the first of these events to the last
	// LockOrders are locks that threads acquired in different orders.
	LockOrders []LockOrder `json:"lock_orders,omitempty"`
	// Imbalances are the barriers with the most waiting for the last thread, Contentions the
	// locks with the most waiting for another thread, TaskGrains the places that create the
	// most deferred tasks.
	Imbalances  []Imbalance  `json:"imbalances,omitempty"`
	Contentions []Contention `json:"contentions,omitempty"`
	TaskGrains  []TaskGrain  `json:"task_grains,omitempty"`
	Timeline    *Timeline    `json:"timeline,omitempty"`
}

// LockOrder is a cycle in the order of acquisition: had its steps come at once, each thread
// would have waited for the next one's lock for ever.
type LockOrder struct {
	Steps []LockStep `json:"steps"`
	Alike int        `json:"alike,omitempty"` // further such cycles of the same code
}

// LockStep is a thread that acquired a lock while it had another one.
type LockStep struct {
	Thread int       `json:"thread"` // LWP
	First  PastEvent `json:"first"`  // the acquisition of the lock that it had
	Second PastEvent `json:"second"`
	// Waits says that it had not acquired the second by the end of what was recorded, which then is when it asked.
	Waits bool `json:"waits,omitempty"`
}

// Imbalance is how unevenly threads come to a barrier.
type Imbalance struct {
	Says        string `json:"says"` // which barrier
	At          *Frame `json:"at,omitempty"`
	Count       int    `json:"count"`             // how often the team came there
	Nanoseconds int64  `json:"nanoseconds"`       // from the first of these barriers to the last
	Waited      int64  `json:"waited"`            // nanoseconds from the mean arrival to the last one, all together
	Last        int    `json:"last,omitempty"`    // LWP of the thread that was the last most often,
	LastCount   int    `json:"last_count"`        // and how often that was
	Threads     int    `json:"threads,omitempty"` // that came there
}

// Contention is how threads wait for a lock that another one has.
type Contention struct {
	Says        string `json:"says"` // for what they wait
	At          *Frame `json:"at,omitempty"`
	Count       int    `json:"count"`     // acquisitions
	Contended   int    `json:"contended"` // those of them that waited
	Threads     int    `json:"threads"`
	Nanoseconds int64  `json:"nanoseconds"` // from the first of these acquisitions to the last
	Waited      int64  `json:"waited"`      // nanoseconds of all threads together
	// Waiting are the contended ones that wait still, and Longest for how many nanoseconds the first
	// of them has.
	Waiting int   `json:"waiting,omitempty"`
	Longest int64 `json:"longest,omitempty"`
	// Holder is where those acquired it that were waited for the most.
	Holder *Frame `json:"holder,omitempty"`
}

// TaskGrain is how short the deferred tasks of one place are.
type TaskGrain struct {
	At     *Frame `json:"at,omitempty"` // where they are created
	Count  int    `json:"count"`
	Short  int    `json:"short"`  // those that took less than 2 µs, without the tasks in them
	Period int64  `json:"period"` // nanoseconds from one to the next, on the mean
}
