package picture

// Recording is what the recorder of a program has kept.
type Recording struct {
	PID        int      `json:"pid"`
	Parent     int      `json:"parent,omitempty"` // the process that it was forked from; older events are that one's
	Program    string   `json:"program,omitempty"`
	Threads    int      `json:"threads"`
	Records    int      `json:"records"`              // that are there
	Lost       uint64   `json:"lost"`                 // older ones that were overwritten
	Damaged    uint64   `json:"damaged,omitempty"`    // records
	Unrecorded uint64   `json:"unrecorded,omitempty"` // threads, as there was no memory left
	Paused     bool     `json:"paused,omitempty"`     // by the program
	Problems   []string `json:"problems,omitempty"`   // what could not be read,
	Omitted    int      `json:"omitted,omitempty"`    // and how many there are beyond those that are named
}

// Event is one event of a thread, as the recorder has it.
type Event struct {
	Time     int64  `json:"time"` // nanoseconds of CLOCK_MONOTONIC
	Ago      int64  `json:"ago"`  // nanoseconds before now; of a core, before the newest event
	LWP      int    `json:"lwp"`
	Code     int    `json:"code"`  // ompt_callbacks_t, or one of the recorder's own from 64
	Name     string `json:"event"` // of the callback in OpenMP 5.1, such as ompt_callback_mutex_acquired
	Says     string `json:"says"`
	Kind     int    `json:"kind,omitempty"`
	Endpoint int    `json:"endpoint,omitempty"` // 1 begin, 2 end, 3 both at once
	Value    int    `json:"value,omitempty"`
	PC       *Hex   `json:"pc,omitempty"`
	At       *Frame `json:"at,omitempty"`
	Region   string `json:"region,omitempty"`
	Task     string `json:"task,omitempty"`
	Lock     *Hex   `json:"lock,omitempty"` // wait id
}

// Statistics are what was recorded, added up for each construct and place in the source.
type Statistics struct {
	Threads     int         `json:"threads"` // that have events
	Events      int         `json:"events"`
	Nanoseconds int64       `json:"nanoseconds"` // from the first of these events to the last
	Unpaired    int         `json:"unpaired"`    // beginnings and ends without a counterpart
	Rows        []Statistic `json:"rows"`        // what took longest first
	LockOrders  []LockOrder `json:"lock_orders,omitempty"`
}

// Statistic is one construct at one place. Times are nanoseconds, those of all threads together.
type Statistic struct {
	Says    string `json:"says"`
	At      *Frame `json:"at,omitempty"`
	Lock    *Hex   `json:"lock,omitempty"` // wait id of the lock
	Count   int    `json:"count"`
	Open    int    `json:"open,omitempty"` // that had not ended
	Threads int    `json:"threads"`        // that executed it
	Total   int64  `json:"total"`
	Longest int64  `json:"longest"`
	// Contended are the waits for a lock that another thread had, and Waited is their time; of
	// barriers that of all. Holder is where those acquired it that were waited for the most.
	Contended int    `json:"contended,omitempty"`
	Waited    int64  `json:"waited,omitempty"`
	Holder    *Frame `json:"holder,omitempty"`
	// Imbalance is the time between the mean arrival at a barrier and the last, of all Barriers;
	// Last the thread (LWP) that was the last most often, LastCount times.
	Imbalance int64 `json:"imbalance,omitempty"`
	Barriers  int   `json:"barriers,omitempty"`
	Last      int   `json:"last,omitempty"`
	LastCount int   `json:"last_count,omitempty"`
}
