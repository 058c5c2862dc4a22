package picture

// Recording describes the events that the recorder of a program has kept.
type Recording struct {
	PID int `json:"pid" pb:"1"`
	// The process that it was forked from, to which older events belong.
	Parent     int      `json:"parent,omitempty" pb:"2"`
	Program    string   `json:"program,omitempty" pb:"3"`
	Threads    int      `json:"threads" pb:"4"`
	Records    int      `json:"records" pb:"5"`              // number of records
	Lost       uint64   `json:"lost" pb:"6"`                 // number of older records that were overwritten
	Damaged    uint64   `json:"damaged,omitempty" pb:"7"`    // records
	Unrecorded uint64   `json:"unrecorded,omitempty" pb:"8"` // number of threads for which no memory was left
	Paused     bool     `json:"paused,omitempty" pb:"9"`     // the program paused the recorder
	Problems   []string `json:"problems,omitempty" pb:"10"`  // the parts that could not be read
	Omitted    int      `json:"omitted,omitempty" pb:"11"`   // number of further problems
}

// Event is one recorded event of a thread.
type Event struct {
	Time int64 `json:"time" pb:"1"` // nanoseconds of CLOCK_MONOTONIC
	Ago  int64 `json:"ago" pb:"2"`  // nanoseconds before the snapshot; in a core, before the newest event
	LWP  int   `json:"lwp" pb:"3"`
	Code int   `json:"code" pb:"4"` // ompt_callbacks_t; from 64 on, the recorder's own
	// The name of the callback in OpenMP 5.1, such as ompt_callback_mutex_acquired.
	Name     string `json:"event" pb:"5"`
	Text     string `json:"text" pb:"6"`               // in words, such as: acquires lock journal
	Kind     int    `json:"kind,omitempty" pb:"7"`     // by code: see docs/guide/recorder.md
	Endpoint int    `json:"endpoint,omitempty" pb:"8"` // 1 begin, 2 end, 3 both at once
	Value    int    `json:"value,omitempty" pb:"9"`
	// The program's call of the runtime, if known.
	PC     *Hex   `json:"pc,omitempty" pb:"10"`
	Frame  *Frame `json:"frame,omitempty" pb:"11"`
	Region string `json:"region,omitempty" pb:"12"` // ids of its region and its task
	Task   string `json:"task,omitempty" pb:"13"`
	Lock   *Hex   `json:"lock,omitempty" pb:"14"` // wait id
	// The dependences of a task, the mapped variables of a target construct; the recorder keeps at most 30 and 15.
	Dependences []Dependence     `json:"dependences,omitempty" pb:"15"`
	Mapped      []MappedVariable `json:"mapped,omitempty" pb:"16"`
	// Truncated means that there are more dependences, mapped variables or characters than are recorded.
	Truncated bool           `json:"truncated,omitempty" pb:"17"`
	Operation *DataOperation `json:"operation,omitempty" pb:"18"`
	Loaded    *LoadedCode    `json:"loaded,omitempty" pb:"19"`
	// Number of the thread in its team, and the size of the team; missing if they are not recorded.
	ThreadNum *int `json:"thread_num,omitempty" pb:"20" schema:"min=0"`
	TeamSize  int  `json:"team_size,omitempty" pb:"21" schema:"min=1"`
}

// Dependence is a storage location that orders tasks, or the number of an iteration in one of the loops of a doacross
// loop.
type Dependence struct {
	Type      int   `json:"type" pb:"1"` // ompt_dependence_type_t
	Address   *Hex  `json:"address,omitempty" pb:"2"`
	Iteration int64 `json:"iteration,omitempty" pb:"3"` // of types 5 and 6 (source, sink)
}

// MappedVariable is a variable that a target construct maps.
type MappedVariable struct {
	Host   *Hex   `json:"host,omitempty" pb:"1"` // addresses
	Device *Hex   `json:"device,omitempty" pb:"2"`
	Bytes  uint64 `json:"bytes" pb:"3"`
	Flags  int    `json:"flags" pb:"4"` // ompt_target_map_flag_t
}

// DataOperation is an allocation, a copy or a release of memory of a device.
type DataOperation struct {
	Source            *Hex   `json:"source,omitempty" pb:"1"` // addresses
	SourceDevice      int    `json:"source_device" pb:"2"`
	Destination       *Hex   `json:"destination,omitempty" pb:"3"`
	DestinationDevice int    `json:"destination_device" pb:"4"`
	Bytes             uint64 `json:"bytes" pb:"5"`
	ID                string `json:"id,omitempty" pb:"6"`
	Target            string `json:"target,omitempty" pb:"7"` // id of the target region
}

// LoadedCode is code that was loaded on a device.
type LoadedCode struct {
	File   string `json:"file,omitempty" pb:"1"` // file that contains the code; "": not in a file
	Offset int64  `json:"offset" pb:"2"`         // of the code in the file
	Bytes  uint64 `json:"bytes" pb:"3"`
	Host   *Hex   `json:"host,omitempty" pb:"4"` // addresses
	Device *Hex   `json:"device,omitempty" pb:"5"`
	Module uint64 `json:"module" pb:"6"`
}

// Statistics are sums of the recorded events for each construct and place in the source.
type Statistics struct {
	Threads     int         `json:"threads" pb:"1"` // with events
	Events      int         `json:"events" pb:"2"`
	Nanoseconds int64       `json:"nanoseconds" pb:"3"` // from the first of these events to the last
	Unpaired    int         `json:"unpaired" pb:"4"`    // starts and ends without a counterpart
	Rows        []Statistic `json:"rows" pb:"5"`        // the longest total time first
	LockOrders  []LockOrder `json:"lock_orders,omitempty" pb:"6"`
}

// Statistic is one construct at one place. Times are nanoseconds, in total for all threads.
type Statistic struct {
	Text    string `json:"text" pb:"1"`
	Frame   *Frame `json:"frame,omitempty" pb:"2"`
	Lock    *Hex   `json:"lock,omitempty" pb:"3"` // wait id of the lock
	Count   int    `json:"count" pb:"4"`
	Open    int    `json:"open,omitempty" pb:"5"` // number that had not ended
	Threads int    `json:"threads" pb:"6"`        // number of threads that executed it
	Total   int64  `json:"total" pb:"7"`
	Longest int64  `json:"longest" pb:"8"`
	// Contended is the number of waits for a lock that another thread held, and Waited is their time; for
	// barriers, both count all waits. Holder is the place where the most awaited holders acquired it.
	Contended int   `json:"contended,omitempty" pb:"9"`
	Waited    int64 `json:"waited,omitempty" pb:"10"`
	// The place where the most awaited holders acquired the lock.
	Holder *Frame `json:"holder,omitempty" pb:"11"`
	// Imbalance is the time between the mean and the last arrival, over all Barriers; Last is the most frequent
	// last thread (LWP), LastCount times.
	Imbalance int64 `json:"imbalance,omitempty" pb:"12"`
	Barriers  int   `json:"barriers,omitempty" pb:"13"`
	// The most frequent last thread (LWP), and its number of last arrivals.
	Last      int `json:"last,omitempty" pb:"14"`
	LastCount int `json:"last_count,omitempty" pb:"15"`
}
