package job

import (
	"slices"
	"strings"
)

// role is what a routine of MPI waits for.
type role uint8

const (
	other      role = iota // requests, or what is not known
	collective             // all ranks of its communicator have to call it
	exchange               // one peer
	finalize               // all ranks, and none comes back
)

// worldName is the name of the communicator of all ranks.
const worldName = "MPI_COMM_WORLD"

// collectives are the routines that all ranks of a communicator have to call in the same
// order; those of which only the beginning of the name is given end in *.
var collectives = []string{
	"MPI_Barrier", "MPI_Bcast", "MPI_Reduce*", "MPI_Allreduce", "MPI_Gather*", "MPI_Scatter*", "MPI_Allgather*",
	"MPI_Alltoall*",
	"MPI_Scan", "MPI_Exscan", "MPI_Comm_split*", "MPI_Comm_dup*", "MPI_Comm_create*", "MPI_Comm_free",
	"MPI_Cart_create",
	"MPI_Cart_sub", "MPI_Graph_create", "MPI_Dist_graph_create*", "MPI_Intercomm_*", "MPI_Win_create*",
	"MPI_Win_allocate*",
	"MPI_Win_free", "MPI_Win_fence", "MPI_File_open", "MPI_File_close", "MPI_File_*_all", "MPI_Neighbor_*",
}

// rooted are the collectives with a root; their variants end in a v.
var rooted = []string{"MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"}

// exchanges are the routines that wait for one peer.
var exchanges = []string{
	"MPI_Recv", "MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend", "MPI_Sendrecv", "MPI_Sendrecv_replace",
	"MPI_Probe", "MPI_Mprobe", "MPI_Mrecv",
}

func roleOf(routine string) role {
	matches := func(p string) bool {
		head, tail, open := strings.Cut(p, "*")
		return routine == p || open && strings.HasPrefix(routine, head) && strings.HasSuffix(routine, tail)
	}
	switch {
	case routine == "MPI_Finalize":
		return finalize
	case slices.ContainsFunc(collectives, matches):
		return collective
	case slices.Contains(exchanges, routine):
		return exchange
	}
	return other
}

func isRooted(routine string) bool { return slices.Contains(rooted, routine) }

// sameSize are the collectives in which all ranks give the same number of elements.
var sameSize = []string{"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Scan",
	"MPI_Exscan"}
