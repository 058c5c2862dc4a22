package mpi

import (
	"path"
	"slices"
	"strings"
)

// launchers are the programs that start the ranks of a job and wait for their end. A name may have a suffix,
// such as mpiexec.hydra of MPICH or mpirun.openmpi of Debian.
var launchers = []string{"mpirun", "mpiexec", "orterun", "prterun", "oshrun", "srun", "aprun"}

// interpreters run scripts, named by their first argument. A name may have a version as suffix.
var interpreters = []string{"sh", "bash", "dash", "ksh", "zsh", "python", "perl", "ruby", "Rscript"}

// Launcher returns the name of a program that starts the ranks of jobs, such as mpirun, given its
// executable and its arguments; "" for all other programs.
func Launcher(executable string, command []string) string {
	for _, name := range []string{path.Base(executable), Script(command)} {
		stem, _, _ := strings.Cut(name, ".")
		if slices.Contains(launchers, stem) {
			return name
		}
	}
	return ""
}

// Script returns the name of the script that a command line runs, without its directory; "" without one.
func Script(command []string) string {
	if len(command) < 2 || strings.HasPrefix(command[1], "-") {
		return ""
	}
	if !slices.Contains(interpreters, strings.TrimRight(path.Base(command[0]), "0123456789.")) {
		return ""
	}
	return path.Base(command[1])
}
