package picture

// History contains the conclusions on progress from the newest events of a program with the recorder: the
// events that an ordinary look reads, not all recorded ones.
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

// LockOrder is a cycle in the order of acquisition: if its steps happened at the same time, each thread would
// wait for the next one's lock for ever.
type LockOrder struct {
	Steps   []LockStep `json:"steps" pb:"1"`
	Similar int        `json:"similar,omitempty" pb:"2"` // further such cycles of the same code
}

// LockStep is a thread that acquired a lock while it held another one.
type LockStep struct {
	Thread int       `json:"thread" pb:"1"` // LWP
	First  PastEvent `json:"first" pb:"2"`  // the acquisition of the held lock
	Second PastEvent `json:"second" pb:"3"`
	// Waits is set if it had not acquired the second by the end of the recording; the time is then that of its
	// request.
	Waits bool `json:"waits,omitempty" pb:"4"`
}

// Imbalance describes the uneven arrival of threads at a barrier.
type Imbalance struct {
	Text        string `json:"text" pb:"1"` // the barrier, in words
	Frame       *Frame `json:"frame,omitempty" pb:"2"`
	Count       int    `json:"count" pb:"3"`       // number of times that the team arrived
	Nanoseconds int64  `json:"nanoseconds" pb:"4"` // from the first of these barriers to the last
	// Nanoseconds from the mean arrival to the last one, in total.
	Waited    int64 `json:"waited" pb:"5"`
	Last      int   `json:"last,omitempty" pb:"6"`    // LWP of the most frequent last thread
	LastCount int   `json:"last_count" pb:"7"`        // number of its last arrivals
	Threads   int   `json:"threads,omitempty" pb:"8"` // number of arriving threads
}

// Contention describes the waits of threads for a lock that another thread holds.
type Contention struct {
	Text        string `json:"text" pb:"1"` // the lock, in words
	Frame       *Frame `json:"frame,omitempty" pb:"2"`
	Count       int    `json:"count" pb:"3"`     // acquisitions
	Contended   int    `json:"contended" pb:"4"` // acquisitions after a wait
	Threads     int    `json:"threads" pb:"5"`
	Nanoseconds int64  `json:"nanoseconds" pb:"6"` // from the first of these acquisitions to the last
	Waited      int64  `json:"waited" pb:"7"`      // nanoseconds, in total for all threads
	// Waiting is the number of unfinished waits.
	Waiting int `json:"waiting,omitempty" pb:"9"`
	// Nanoseconds of the longest unfinished wait.
	Longest int64 `json:"longest,omitempty" pb:"10"`
	// Holder is the place where the most awaited holders acquired it.
	Holder *Frame `json:"holder,omitempty" pb:"8"`
}

// TaskGrain describes the duration of the deferred tasks of one place.
type TaskGrain struct {
	Frame  *Frame `json:"frame,omitempty" pb:"1"` // where they are created
	Count  int    `json:"count" pb:"2"`
	Short  int    `json:"short" pb:"3"`  // tasks shorter than 2 µs, without their inner tasks
	Period int64  `json:"period" pb:"4"` // mean nanoseconds from one to the next
}
