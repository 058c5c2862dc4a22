// Package mpi describes MPI's routines for a reader of a program's memory: the positions of their arguments, by
// the standard's C interface, and the constants of MPICH's ABI, which MPICH, MVAPICH, Intel MPI and Cray MPICH
// share.
package mpi

import (
	"fmt"
	"slices"
	"strconv"
)

// Arg is the number of an argument of a routine, from 1; 0 if the routine has no such argument.
type Arg int

// Signature contains the numbers of a routine's arguments, by their meaning.
type Signature struct {
	Comm, Count, Type, Op, Tag Arg
	Peer                       Arg // the other rank, or the root of a collective
	Receives                   bool
}

// Signatures that several routines share.
var (
	send   = Signature{Count: 2, Type: 3, Peer: 4, Tag: 5, Comm: 6}
	reduce = Signature{Count: 3, Type: 4, Op: 5, Comm: 6}
	each   = Signature{Count: 2, Type: 3, Comm: 7}
	rooted = Signature{Count: 2, Type: 3, Peer: 7, Comm: 8}
	probe  = Signature{Peer: 1, Tag: 2, Comm: 3, Receives: true}
	first  = Signature{Comm: 1}
)

// signatures contains the routines that wait for other ranks.
var signatures = map[string]Signature{
	"MPI_Send": send, "MPI_Ssend": send, "MPI_Rsend": send, "MPI_Bsend": send,
	"MPI_Recv":  {Count: 2, Type: 3, Peer: 4, Tag: 5, Comm: 6, Receives: true},
	"MPI_Probe": probe, "MPI_Mprobe": probe,
	"MPI_Sendrecv":         {Count: 2, Type: 3, Comm: 11},
	"MPI_Sendrecv_replace": {Count: 2, Type: 3, Comm: 8},
	"MPI_Barrier":          first, "MPI_Comm_dup": first, "MPI_Comm_split": first, "MPI_Comm_create": first,
	"MPI_Comm_free": {},
	"MPI_Bcast":     {Count: 2, Type: 3, Peer: 4, Comm: 5},
	"MPI_Reduce": {Count: 3, Type: 4, Op: 5, Peer: 6,
		Comm: 7}, "MPI_Allreduce": reduce, "MPI_Scan": reduce, "MPI_Exscan": reduce,
	"MPI_Reduce_scatter_block": reduce, "MPI_Reduce_scatter": {Type: 4, Op: 5, Comm: 6},
	"MPI_Allgather": each, "MPI_Alltoall": each, "MPI_Gather": rooted, "MPI_Scatter": rooted,
	"MPI_Allgatherv": {Count: 2, Type: 3, Comm: 8},
	"MPI_Gatherv":    {Count: 2, Type: 3, Peer: 8, Comm: 9},
}

// SignatureOf returns the signature of a routine by its standard name. It is empty for an unknown routine.
func SignatureOf(routine string) Signature { return signatures[routine] }

// Handles of MPICH's ABI: bits 26 to 29 are the kind, the bits above are set for built-in objects.
const (
	builtin   = 1
	commKind  = 1
	mpichSelf = 0x44000001
	// MpichWorld is MPI_COMM_WORLD of MPICH's ABI.
	MpichWorld = 0x44000000
)

// MpichComm returns the name of a communicator by its handle in MPICH's ABI. known is false for a communicator
// that the program created, with handles that differ between ranks; ok is false for any other number.
func MpichComm(handle uint32) (name string, known, ok bool) {
	switch {
	case handle == MpichWorld:
		return "MPI_COMM_WORLD", true, true
	case handle == mpichSelf:
		return "MPI_COMM_SELF", true, true
	}
	return "", false, handle>>26&0xf == commKind && handle>>30 > builtin
}

// MpichType returns the name of a data type by its handle in MPICH's ABI: a size for a built-in type that is
// not listed here, "" for a handle of another kind.
func MpichType(handle uint32) string {
	const basic = 0x4c
	if handle>>24 != basic {
		return ""
	}
	if name := mpichTypes[handle]; name != "" {
		return name
	}
	return fmt.Sprintf("a type of %d bytes", handle>>8&0xff)
}

var mpichTypes = map[uint32]string{
	0x4c000101: "MPI_CHAR", 0x4c000118: "MPI_SIGNED_CHAR", 0x4c000102: "MPI_UNSIGNED_CHAR", 0x4c00010d: "MPI_BYTE",
	0x4c000203: "MPI_SHORT", 0x4c000204: "MPI_UNSIGNED_SHORT", 0x4c000405: "MPI_INT", 0x4c000406: "MPI_UNSIGNED",
	0x4c000807: "MPI_LONG", 0x4c000808: "MPI_UNSIGNED_LONG", 0x4c000809: "MPI_LONG_LONG_INT", 0x4c00040a: "MPI_FLOAT",
	0x4c00080b: "MPI_DOUBLE", 0x4c00100c: "MPI_LONG_DOUBLE", 0x4c00010f: "MPI_PACKED", 0x4c000816: "MPI_2INT",
	0x4c00081e: "MPI_COMPLEX", 0x4c001022: "MPI_DOUBLE_COMPLEX", 0x4c00041d: "MPI_LOGICAL", 0x4c00041c: "MPI_REAL",
	0x4c00081f: "MPI_DOUBLE_PRECISION", 0x4c00041b: "MPI_INTEGER", 0x4c00011a: "MPI_CHARACTER",
	0x4c000137: "MPI_INT8_T",
	0x4c000439: "MPI_INT32_T", 0x4c00083a: "MPI_INT64_T", 0x4c00013b: "MPI_UINT8_T", 0x4c00043d: "MPI_UINT32_T",
	0x4c00083e: "MPI_UINT64_T", 0x4c00013f: "MPI_C_BOOL",
}

// mpichOps lists the reductions of MPICH's ABI, by the low byte of their handles.
var mpichOps = []string{
	"", "MPI_MAX", "MPI_MIN", "MPI_SUM", "MPI_PROD", "MPI_LAND", "MPI_BAND", "MPI_LOR", "MPI_BOR", "MPI_LXOR",
	"MPI_BXOR",
	"MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE",
}

// MpichOp returns the name of a reduction by its handle in MPICH's ABI; "" for a handle of another kind.
func MpichOp(handle uint32) string {
	const ops = 0x580000
	if n := handle & 0xff; handle>>8 == ops && int(n) < len(mpichOps) {
		return mpichOps[n]
	}
	return ""
}

// Wildcards of the two families, as values of peer and tag.
const (
	MpichAnySource   = -2
	OpenMPIAnySource = -1
	AnyTag           = -1
)

// openMPITypes maps the names of Open MPI's objects to types of the standard, where they differ.
var openMPITypes = map[string]string{
	"MPI_DBLPREC": "MPI_DOUBLE_PRECISION", "MPI_CPLEX": "MPI_COMPLEX", "MPI_DBLCPLEX": "MPI_DOUBLE_COMPLEX",
	"MPI_LDBLCPLEX": "MPI_C_LONG_DOUBLE_COMPLEX",
}

// OpenMPIType returns the standard's name of a data type or a reduction, by the name of Open MPI's object.
func OpenMPIType(name string) string {
	if standard := openMPITypes[name]; standard != "" {
		return standard
	}
	return name
}

// OpenMPIWorld is the object of MPI_COMM_WORLD that Open MPI exports.
const OpenMPIWorld = "ompi_mpi_comm_world"

// Rank is the place of a process in a job, by its environment.
type Rank struct {
	Rank, Size int    // Size is 0 if it is not known
	Job        string // name that the launcher uses
	Host       string
	From       string // the variables with rank and size
}

// Variables of the environment, by precedence.
var (
	rankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"}
	sizeVariables = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}
	jobVariables  = []string{"SLURM_JOB_ID", "PMIX_NAMESPACE", "PMI_JOBID"}
	hostVariables = []string{"SLURMD_NODENAME", "HOSTNAME"}
)

// Variables returns the variables that RankOf reads.
func Variables() []string {
	return slices.Concat(rankVariables, sizeVariables, jobVariables, hostVariables)
}

// RankOf returns the place in a job of the process with an environment. ok is false if it is not a rank. Batch
// scripts and launchers also have Slurm's variables, so these alone do not make a rank.
func RankOf(variable func(name string) string) (r Rank, ok bool) {
	first := func(names []string) (name, value string) {
		for _, n := range names {
			if v := variable(n); v != "" {
				return n, v
			}
		}
		return "", ""
	}
	from, value := first(rankVariables)
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || from == "SLURM_PROCID" {
		return Rank{}, false
	}
	r = Rank{Rank: n, From: from}
	if name, v := first(sizeVariables); name != "" {
		if size, err := strconv.Atoi(v); err == nil && size > n {
			r.Size, r.From = size, r.From+", "+name
		}
	}
	_, r.Job = first(jobVariables)
	_, r.Host = first(hostVariables)
	return r, true
}
