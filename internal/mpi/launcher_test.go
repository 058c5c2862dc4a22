package mpi

import (
	"strings"
	"testing"
)

// TestLauncher recognizes launchers by their executables, and launcher scripts by their command lines. A
// program that only has a launcher's name in its arguments is not one.
func TestLauncher(t *testing.T) {
	for _, c := range []struct{ executable, command, want string }{
		{"/usr/bin/orterun", "mpirun -n 4 ./solve", "orterun"},
		{"/usr/bin/mpiexec.hydra", "mpirun -n 4 ./solve", "mpiexec.hydra"},
		{"/usr/bin/mpirun.openmpi", "mpirun", "mpirun.openmpi"},
		{"/usr/bin/prterun", "mpirun -n 2 ./solve", "prterun"},
		{"/usr/bin/srun", "srun -n 4 ./solve", "srun"},
		{"/usr/bin/bash", "/bin/sh /opt/intel/bin/mpirun -n 4 ./solve", "mpirun"},
		{"/usr/bin/python3.11", "python3.11 /usr/bin/mpiexec -n 4 ./solve", "mpiexec"},
		{"/usr/bin/bash", "bash", ""},
		{"/usr/bin/bash", "bash -c mpirun", ""},
		{"/usr/bin/vim", "vim mpirun", ""},
		{"/home/x/mpirunner", "./mpirunner", ""},
		{"/home/x/solve", "mpirun", ""}, // a program can set any name
		{"", "", ""},
	} {
		if got := Launcher(c.executable, strings.Fields(c.command)); got != c.want {
			t.Errorf("%s, run as %q: %q, want %q", c.executable, c.command, got, c.want)
		}
	}
}
