package job

import (
	"slices"
	"strings"
)

// role is the kind of event that a routine of MPI waits for.
type role uint8

const (
	other      role = iota // requests, or unknown
	collective             // all ranks of its communicator must call it
	exchange               // one peer
	finalize               // all ranks, which then leave
)

// worldName is the name of the communicator of all ranks.
const worldName = "MPI_COMM_WORLD"

// collectives lists the routines that all ranks of a communicator must call in the same order. A * at the end
// matches any suffix.
var collectives = []string{
	"MPI_Barrier", "MPI_Bcast", "MPI_Reduce*", "MPI_Allreduce", "MPI_Gather*", "MPI_Scatter*", "MPI_Allgather*",
	"MPI_Alltoall*",
	"MPI_Scan", "MPI_Exscan", "MPI_Comm_split*", "MPI_Comm_dup*", "MPI_Comm_create*", "MPI_Comm_free",
	"MPI_Cart_create",
	"MPI_Cart_sub", "MPI_Graph_create", "MPI_Dist_graph_create*", "MPI_Intercomm_*", "MPI_Win_create*",
	"MPI_Win_allocate*",
	"MPI_Win_free", "MPI_Win_fence", "MPI_File_open", "MPI_File_close", "MPI_File_*_all", "MPI_Neighbor_*",
}

// rooted lists the collectives with a root; their variants have the suffix v.
var rooted = []string{"MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"}

// exchanges lists the routines that wait for one peer.
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

// sameSize lists the collectives in which all ranks pass the same number of elements.
var sameSize = []string{"MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Scan",
	"MPI_Exscan"}
