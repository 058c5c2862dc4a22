package picture

// Rank is the rank of a process in an MPI job, by its environment.
type Rank struct {
	Rank   int    `json:"rank" pb:"1" schema:"min=0"`
	Size   int    `json:"size,omitempty" pb:"2" schema:"min=1"` // of the job; missing if the environment does not have it
	Job    string `json:"job,omitempty" pb:"3"`                 // the launcher's name for it
	Host   string `json:"host,omitempty" pb:"4"`                // of the process
	Source string `json:"source" pb:"5"`                        // the variables that were read
}

// MPICall is the MPI routine that a thread executes, and its arguments as far as registers,
// the call in the program and the frame of the routine show them.
type MPICall struct {
	Routine string `json:"routine" pb:"1"` // the standard's name: MPI_Recv
	// Communicator is its name, or without one its context: equal for all of its ranks.
	Communicator string `json:"communicator,omitempty" pb:"2"`
	Size         int    `json:"size,omitempty" pb:"3" schema:"min=1"` // of the communicator
	// Peer is the rank, in the communicator, of the other side, or the root of a collective.
	Peer      *int   `json:"peer,omitempty" pb:"4"`
	AnySource bool   `json:"any_source,omitempty" pb:"5"`
	Tag       *int   `json:"tag,omitempty" pb:"6"`
	AnyTag    bool   `json:"any_tag,omitempty" pb:"7"`
	Count     *int64 `json:"count,omitempty" pb:"8"` // elements
	Type      string `json:"type,omitempty" pb:"9"`  // of them, such as MPI_DOUBLE
	Op        string `json:"op,omitempty" pb:"10"`   // such as MPI_SUM
	// From is the return address of the program's call of the routine.
	From *Hex `json:"from,omitempty" pb:"13"`
	// Lost are the arguments that could not be recovered.
	Lost     []string `json:"lost,omitempty" pb:"11"`
	Evidence string   `json:"evidence" pb:"12"`
}
