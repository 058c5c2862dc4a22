package picture

// Verdict is one conclusion that was drawn from a picture: why the program hangs,
// why it died, why only one thread. Package diagnose draws them; docs/verdicts
// says what each means and when it is not given.
type Verdict struct {
	Kind      VerdictKind `json:"kind" pb:"1"`
	Certainty Certainty   `json:"certainty" pb:"2"`
	Severity  Severity    `json:"severity" pb:"3"`
	Summary   string      `json:"summary" pb:"4"` // one line
	// Explanation describes in a few sentences the problem and its cause.
	Explanation string   `json:"explanation,omitempty" pb:"5"`
	Threads     []int    `json:"threads,omitempty" pb:"6" schema:"min=1"` // LWPs that it is about
	Evidence    []string `json:"evidence,omitempty" pb:"7"`               // the facts from which it follows
	Fix         string   `json:"fix,omitempty" pb:"8"`                    // the change to make, or the next command

	Cycle []CycleStep `json:"cycle,omitempty" pb:"9"` // for a deadlock: each waits for the next, the last for the first
	// Waiting are LWPs that are not part of the hang, but wait for its threads.
	Waiting []int `json:"waiting,omitempty" pb:"10" schema:"min=1"`
	Arrived *int  `json:"arrived,omitempty" pb:"11" schema:"min=0"` // for a barrier
	// For a barrier, or for the region in question.
	TeamSize *int            `json:"team_size,omitempty" pb:"12" schema:"min=1"`
	Missing  []MissingThread `json:"missing,omitempty" pb:"13"` // for a barrier
	Region   ID              `json:"region,omitempty" pb:"14"`
	Tasks    []ID            `json:"tasks,omitempty" pb:"15"` // its tasks
}

// CycleStep is one thread of a deadlock.
type CycleStep struct {
	Thread       int        `json:"thread" pb:"1" schema:"min=1"` // LWP
	WaitsFor     WaitTarget `json:"waits_for" pb:"2"`
	HeldBy       int        `json:"held_by" pb:"3" schema:"min=1"` // LWP of the thread that must proceed first
	HeldEvidence string     `json:"held_evidence" pb:"4"`          // the evidence
	HeldAt       *Frame     `json:"held_at,omitempty" pb:"5"`      // the place at which HeldBy acquired it
	// MayRelease is set if HeldBy has not acquired it, but may release it at HeldAt.
	MayRelease bool        `json:"may_release,omitempty" pb:"8"`
	Frames     []Frame     `json:"frames,omitempty" pb:"6"` // user stack of Thread
	Place      *ThreadSpot `json:"place,omitempty" pb:"7"`
}

// ThreadSpot is a thread's number in its team.
type ThreadSpot struct {
	ThreadNum int `json:"thread_num" pb:"1" schema:"min=0"`
	TeamSize  int `json:"team_size" pb:"2" schema:"min=1"`
}

// WaitTarget is the object that a thread waits for.
type WaitTarget struct {
	Kind    WaitKind `json:"kind" pb:"1"`
	Name    string   `json:"name,omitempty" pb:"2"` // the program's name for it
	Address *Hex     `json:"address,omitempty" pb:"3"`
}

// MissingThread is a member of a team that has not arrived at a barrier.
type MissingThread struct {
	Thread int       `json:"thread" pb:"1" schema:"min=1"` // LWP
	State  StateName `json:"state,omitempty" pb:"2"`
	Frame  *Frame    `json:"frame,omitempty" pb:"3"` // innermost frame of user code
}
