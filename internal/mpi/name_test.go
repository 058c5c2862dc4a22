package mpi

import "testing"

// TestIsC checks routines of C and of Fortran.
func TestIsC(t *testing.T) {
	for symbol, want := range map[string]bool{
		"MPI_Recv": true, "PMPI_Allreduce": true, "PMPI_Recv@plt": true, "mpi_recv_": false, "MPI_RECV": false,
		"mpi_recv_f08ts_": false, "MPIR_Recv_cdesc": false, "": false,
	} {
		if got := IsC(symbol); got != want {
			t.Errorf("%s: %v", symbol, got)
		}
	}
}

// TestRoutine checks names of C and Fortran, and names that only resemble one.
func TestRoutine(t *testing.T) {
	for symbol, want := range map[string]string{
		"MPI_Recv": "MPI_Recv", "PMPI_Allreduce": "MPI_Allreduce", "mpi_recv_": "MPI_Recv",
		"pmpi_comm_split__": "MPI_Comm_split", "MPI_RECV": "MPI_Recv", "mpi_recv_f08ts_": "MPI_Recv",
		"mpi_barrier_f08_": "MPI_Barrier", "ompi_coll_base_barrier": "", "MPI_": "", "mpi_solver.run": "",
		"print_mpi_": "",
	} {
		if got := Routine(symbol); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}
