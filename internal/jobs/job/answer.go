package job

import (
	"cmp"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Site is a place in code that is the same for all ranks which run the same files:
// "4f1c…+1a2b", the build ID of a file and an offset in it; or a word for what a library
// does, such as "<OMP-barrier>" or "MPI_Recv".
type Site string

// Name is what people call a Site.
type Name struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"` // base name
	Line     int    `json:"line,omitempty" schema:"min=1"`
}

// String is the function and the line.
func (n Name) String() string {
	if n.Line == 0 {
		return n.Function
	}
	return strings.TrimSpace(n.Function + " " + place(n.File, n.Line))
}

// ThreadClass is what threads have in common that are at the same place.
type ThreadClass struct {
	State string `json:"state"`           // in the words of a picture
	Where []Site `json:"where,omitempty"` // outermost first; the last may be a routine of MPI
	Other bool   `json:"other,omitempty"` // they are threads of libraries, unknown to OpenMP
}

// Count is a class of threads, and how many of a rank's are in it.
type Count struct {
	ThreadClass
	Threads int `json:"threads"`
}

// Call is the routine of MPI in which a rank waits. What is not known is missing. Peer and
// tag are in Member, as they differ from rank to rank.
type Call struct {
	Routine string `json:"routine"` // the standard's name: MPI_Recv
	// Name of the communicator, or its context: equal on all of its ranks.
	Communicator string `json:"communicator,omitempty"`
	Size         int    `json:"size,omitempty" schema:"min=0"` // of the communicator
	Count        *int64 `json:"count,omitempty"`               // elements
	Type         string `json:"type,omitempty"`                // such as MPI_DOUBLE
	Op           string `json:"op,omitempty"`                  // such as MPI_SUM
	Root         *int   `json:"root,omitempty"`                // of a collective that has one
	AnySource    bool   `json:"any_source,omitempty"`          // it waits for a message of any rank
	Unknown      string `json:"unknown,omitempty"`             // what is not known, and why
	Site         Site   `json:"site,omitempty"`                // the call in the program
}

// Condition is what is known of a rank beside where it is.
type Condition string

// Conditions of ranks.
const (
	Runs       Condition = ""           // it is there, and not stopped
	Stopped    Condition = "stopped"    // by job control: it does nothing until it gets SIGCONT
	Crashed    Condition = "crashed"    // a signal ended it
	Gone       Condition = "gone"       // its process is not there any more
	Unreadable Condition = "unreadable" // it is there, and could not be read
	Silent     Condition = "silent"     // nobody answered for it
)

// Movement is whether a rank made progress between two looks.
type Movement string

// Movements of ranks.
const (
	SeenOnce Movement = ""
	Moved    Movement = "moved"
	Still    Movement = "still"
)

// Finding is the worst verdict that was drawn of one rank alone.
type Finding struct {
	Kind      picture.VerdictKind `json:"kind"`
	Certainty picture.Certainty   `json:"certainty"`
	Severity  picture.Severity    `json:"severity"`
	Summary   string              `json:"summary"`
}

// Kind is all that a rank may have in common with others.
type Kind struct {
	Condition Condition `json:"condition,omitempty"`
	Movement  Movement  `json:"movement,omitempty"`
	Why       string    `json:"why,omitempty"` // of Crashed: the signal; of Gone, Unreadable and Silent: the reason
	Call      *Call     `json:"call,omitempty"`
	Finding   *Finding  `json:"finding,omitempty"`
	Threads   []Count   `json:"threads,omitempty"`
}

// Member is what a rank has for itself.
type Member struct {
	Host string
	PID  int
	Path string // of its core
	// Peer is the rank, in its communicator, whose message it waits for, or which it waits
	// to receive one; -1 if that is not known, or not one.
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

// Answer is what was found of one rank.
type Answer struct {
	Rank int
	Size int // of the job; 0 if it is not known
	Kind
	Member
	Names map[Site]Name
	Files map[string]File // in which these are, by what stands before the + of a site
}
