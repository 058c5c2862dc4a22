package picture

// Rank is the place of a process in an MPI job, by its environment.
type Rank struct {
	Rank int    `json:"rank"`
	Size int    `json:"size,omitempty"` // of the job; missing if the environment does not tell
	Job  string `json:"job,omitempty"`  // as its launcher calls it
	Host string `json:"host,omitempty"` // of the process
	From string `json:"from"`           // the variables that tell
}

// MPICall is the routine of MPI that a thread is in, and its arguments as far as registers,
// the call in the program and the frame of the routine tell.
type MPICall struct {
	Routine string `json:"routine"` // the standard's name: MPI_Recv
	// Communicator is its name, or its context if it has none: equal for all of its ranks.
	Communicator string `json:"communicator,omitempty"`
	Size         int    `json:"size,omitempty"` // of the communicator
	// Peer is the rank, in the communicator, of the other side, or the root of a collective.
	Peer      *int   `json:"peer,omitempty"`
	AnySource bool   `json:"any_source,omitempty"`
	Tag       *int   `json:"tag,omitempty"`
	AnyTag    bool   `json:"any_tag,omitempty"`
	Count     *int64 `json:"count,omitempty"` // elements
	Type      string `json:"type,omitempty"`  // of them, such as MPI_DOUBLE
	Op        string `json:"op,omitempty"`    // such as MPI_SUM
	// From is where the program's call of the routine returns to.
	From *Hex `json:"from,omitempty"`
	// Lost are the arguments that nothing tells any more.
	Lost     []string `json:"lost,omitempty"`
	Evidence string   `json:"evidence"`
}
