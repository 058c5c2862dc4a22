package mpi

import "strings"

// bindings lists the suffixes of the names of Fortran's bindings.
var bindings = []string{"_f08ts", "_f08", "_f90"}

// IsC reports whether a symbol is a routine of MPI's C interface, with values as arguments; those of Fortran's
// are addresses.
func IsC(symbol string) bool {
	symbol, _, _ = strings.Cut(symbol, "@")
	rest, ok := strings.CutPrefix(strings.TrimPrefix(symbol, "P"), "MPI_")
	return ok && rest != "" && rest != strings.ToUpper(rest)
}

// Routine returns the standard's name of a routine of MPI by its symbol, in C or Fortran, or in the profiling
// interface; "" if it is not one.
func Routine(symbol string) string {
	name := strings.TrimPrefix(strings.TrimRight(strings.ToLower(symbol), "_"), "p")
	for _, b := range bindings {
		name = strings.TrimSuffix(name, b)
	}
	rest, ok := strings.CutPrefix(name, "mpi_")
	if !ok || rest == "" || strings.ContainsAny(rest, " :.") {
		return ""
	}
	return "MPI_" + strings.ToUpper(rest[:1]) + rest[1:]
}
