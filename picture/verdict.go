package picture

// Verdict is one conclusion that was drawn from a picture: why the program hangs,
// why it died, why only one thread. Package diagnose draws them; docs/verdicts.md
// says what each means and when it is not given.
type Verdict struct {
	Kind      VerdictKind `json:"kind"`      // see the Verdict… constants
	Certainty Certainty   `json:"certainty"` // certain, likely or possible
	Severity  Severity    `json:"severity"`  // hang, crash, warning or info
	Summary   string      `json:"summary"`   // one line
	// Explanation says in a few sentences what happened and why.
	Explanation string   `json:"explanation,omitempty"`
	Threads     []int    `json:"threads,omitempty"`  // LWPs that it is about
	Evidence    []string `json:"evidence,omitempty"` // what it follows from, one fact each
	Fix         string   `json:"fix,omitempty"`      // what to change, or what to type next

	Cycle []CycleStep `json:"cycle,omitempty"` // of a deadlock, each waits for the next, the last for the first
	// Behind are LWPs that are not part of the hang and wait for it.
	Behind   []int           `json:"behind,omitempty"`
	Arrived  *int            `json:"arrived,omitempty"`   // of a barrier
	TeamSize *int            `json:"team_size,omitempty"` // of a barrier, or of the region in question
	Missing  []MissingThread `json:"missing,omitempty"`   // of a barrier
	Region   ID              `json:"region,omitempty"`
	Tasks    []ID            `json:"tasks,omitempty"` // that it is about
}

// CycleStep is one thread of a deadlock.
type CycleStep struct {
	Thread       int        `json:"thread"` // LWP
	WaitsFor     WaitTarget `json:"waits_for"`
	HeldBy       int        `json:"held_by"`           // LWP of the thread that must go on first
	HeldEvidence string     `json:"held_evidence"`     // how that is known
	HeldAt       *Frame     `json:"held_at,omitempty"` // where HeldBy took it
	// Releases is set if HeldBy has not acquired it, but may release it: HeldAt is where.
	Releases bool        `json:"releases,omitempty"`
	Frames   []Frame     `json:"frames,omitempty"` // user stack of Thread
	Place    *ThreadSpot `json:"place,omitempty"`
}

// ThreadSpot is a thread's number in its team.
type ThreadSpot struct {
	ThreadNum int `json:"thread_num"`
	TeamSize  int `json:"team_size"`
}

// WaitTarget is what a thread waits for.
type WaitTarget struct {
	Kind    WaitKind `json:"kind"` // lock, nest_lock, critical, barrier, taskwait, mutex, join, …
	Name    string   `json:"name,omitempty"`
	Address *Hex     `json:"address,omitempty"`
}

// MissingThread is a member of a team that has not arrived at a barrier.
type MissingThread struct {
	Thread int       `json:"thread"` // LWP
	State  StateName `json:"state,omitempty"`
	Frame  *Frame    `json:"frame,omitempty"` // innermost frame of user code
}
