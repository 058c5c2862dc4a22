package job

import (
	"cmp"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Site is a place in code that is equal on all ranks with the same files: "4f1c…+1a2b", the build ID of a file
// and an offset in it; or a word for an activity in a library, such as "<OMP-barrier>" or "MPI_Recv".
type Site string

// Name is the readable form of a Site.
type Name struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"` // base name
	Line     int    `json:"line,omitempty" schema:"min=1"`
}

// String returns the function and the line.
func (n Name) String() string {
	if n.Line == 0 {
		return n.Function
	}
	return strings.TrimSpace(n.Function + " " + place(n.File, n.Line))
}

// ThreadClass describes threads at the same place.
type ThreadClass struct {
	State string `json:"state"`           // in the words of a picture
	Where []Site `json:"where,omitempty"` // outermost first; the last may be a routine of MPI
	Other bool   `json:"other,omitempty"` // threads of libraries, unknown to OpenMP
}

// Count is the number of a rank's threads in a class.
type Count struct {
	ThreadClass
	Threads int `json:"threads"`
}

// Call is the routine of MPI in which a rank waits. Unknown values are missing. Peer and tag are in Member, as
// they differ from rank to rank.
type Call struct {
	Routine string `json:"routine"` // the standard's name: MPI_Recv
	// Name of the communicator, or its context: equal on all of its ranks.
	Communicator string `json:"communicator,omitempty"`
	Size         int    `json:"size,omitempty" schema:"min=0"` // of the communicator
	Count        *int64 `json:"count,omitempty"`               // elements
	Type         string `json:"type,omitempty"`                // such as MPI_DOUBLE
	Op           string `json:"op,omitempty"`                  // such as MPI_SUM
	Root         *int   `json:"root,omitempty"`                // of a collective with a root
	AnySource    bool   `json:"any_source,omitempty"`          // it waits for a message from any rank
	Unknown      string `json:"unknown,omitempty"`             // the unknown values, with the reason
	Site         Site   `json:"site,omitempty"`                // the call in the program
}

// Condition is the condition of a rank's process.
type Condition string

// Conditions of ranks.
const (
	Runs       Condition = ""           // exists, and is not stopped
	Stopped    Condition = "stopped"    // by job control, until it gets SIGCONT
	Crashed    Condition = "crashed"    // a signal ended it
	Gone       Condition = "gone"       // its process no longer exists
	Unreadable Condition = "unreadable" // exists, and could not be read
	Silent     Condition = "silent"     // no answer arrived for it
)

// Movement is the progress of a rank between two looks.
type Movement string

// Movements of ranks.
const (
	SeenOnce Movement = ""
	Moved    Movement = "moved"
	Still    Movement = "still"
)

// Finding is the worst verdict on one rank alone.
type Finding struct {
	Kind      picture.VerdictKind `json:"kind"`
	Certainty picture.Certainty   `json:"certainty"`
	Severity  picture.Severity    `json:"severity"`
	Summary   string              `json:"summary"`
}

// Kind contains the properties that ranks may have in common.
type Kind struct {
	Program   string    `json:"program,omitempty"` // base name of the executable
	Condition Condition `json:"condition,omitempty"`
	Movement  Movement  `json:"movement,omitempty"`
	Why       string    `json:"why,omitempty"` // the signal of Crashed; the reason of other conditions
	Call      *Call     `json:"call,omitempty"`
	Finding   *Finding  `json:"finding,omitempty"`
	Threads   []Count   `json:"threads,omitempty"`
}

// Member contains the properties of a single rank.
type Member struct {
	Host string
	PID  int
	Path string // of its core
	// Peer is the rank, in its communicator, that it waits for to send or receive a message; -1 if unknown or
	// not a single rank.
	Peer int
	Tag  *int
}

// compare orders members: for two with one rank, the greater one counts.
func (m Member) compare(n Member) int {
	tag := func(m Member) int {
		if m.Tag == nil {
			return -1 << 40
		}
		return *m.Tag
	}
	return cmp.Or(cmp.Compare(m.Host, n.Host), cmp.Compare(m.PID, n.PID), cmp.Compare(m.Path, n.Path),
		cmp.Compare(m.Peer, n.Peer), cmp.Compare(tag(m), tag(n)))
}

// Answer contains the results for one rank.
type Answer struct {
	Rank int
	Size int // of the job; 0 if unknown
	Kind
	Member
	Names map[Site]Name
	Files map[string]File // files with these sites, by the text before the + of a site
}
