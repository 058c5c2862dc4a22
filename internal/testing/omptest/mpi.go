package omptest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mpiPackages are Debian's packages of Open MPI, MPICH and Slurm, and their dependencies. They are unpacked into
// one directory and not installed.
var mpiPackages = []string{
	"openmpi-bin", "libopenmpi3", "openmpi-common", "libopenmpi-dev", "libpmix2", "libmunge2", "libevent-2.1-7",
	"libevent-core-2.1-7",
	"libevent-extra-2.1-7", "libevent-pthreads-2.1-7", "libhwloc15", "libltdl7", "libucx0", "libfabric1",
	"libibverbs1", "librdmacm1",
	"libpsm2-2", "libpsm-infinipath1", "libnl-3-200", "libnl-route-3-200", "mpich", "libmpich12", "libmpich-dev",
	"hwloc-nox", "libslurm38", "munge",
	"slurm-wlm-basic-plugins", "slurm-client", "slurmd", "slurmctld",
	"openssh-server", "openssh-client", "libwrap0", "clustershell", "python3-clustershell", "libgfortran5",
}

// MPI is an implementation of MPI.
type MPI struct {
	Name string
	root string
	own  bool // it comes with a C library and a loader of its own
}

// MPIs returns Debian's Open MPI and MPICH, stripped.
func MPIs(tb testing.TB) []MPI {
	tb.Helper()
	NeedsMore(tb, "MPI")
	key := keyOf(mpiPackages)
	root := cached(tb, "packages", "mpi-"+key, func(dir string) {
		if _, err := download(dir, mpiPackages...); err != nil {
			downloadWithNewLists(tb, dir, mpiPackages...)
		}
		debs, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
		for _, deb := range debs {
			command(tb, dir, "dpkg-deb", "-x", deb, dir)
			must(tb, os.Remove(deb))
		}
		// Slurm opens it by this name, which only a development package has.
		must(tb, os.Symlink("libpmix.so.2", filepath.Join(dir, "usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so")))
	})
	return []MPI{{Name: "openmpi", root: root}, {Name: "mpich", root: root}}
}

// OpenMPI5 returns the Open MPI of Debian 13, with all its dependencies.
func OpenMPI5(tb testing.TB) MPI {
	tb.Helper()
	root := closure(tb, "trixie", []string{"openmpi-bin", "libopenmpi-dev", "libgomp1"}, "#!/bin/sh\n")
	return MPI{Name: "openmpi5", root: root, own: true}
}

// Root returns the directory of the unpacked packages, Slurm's too.
func (m MPI) Root() string { return m.root }

// Launch runs ranks of a program and returns the launcher when they are at work. The end of the test kills all of
// them.
func (m MPI) Launch(tb testing.TB, ranks int, exe string, args ...string) *exec.Cmd {
	tb.Helper()
	argv := slices.Concat([]string{"-c", `ulimit -c unlimited; exec "$0" "$@"`}, m.launcher(),
		[]string{"-n", fmt.Sprint(ranks), exe}, args)
	cmd := exec.Command("/bin/sh", argv...)
	cmd.Dir, cmd.Env = tb.TempDir(), m.Env()
	cmd.Env = append(cmd.Env, "OMPI_MCA_orte_tmpdir_base="+cmd.Dir, "OMPI_MCA_btl_vader_backing_directory="+cmd.Dir,
		"OMPI_MCA_btl_sm_backing_directory="+cmd.Dir, "TMPDIR="+cmd.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	must(tb, err)
	said, err := os.Create(filepath.Join(cmd.Dir, "said"))
	must(tb, err)
	defer said.Close()
	cmd.Stderr = said
	must(tb, cmd.Start())
	tb.Cleanup(func() {
		for _, pid := range Descendants(cmd.Process.Pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = cmd.Wait()
	})
	in := bufio.NewScanner(out)
	for in.Scan() {
		if in.Text() == "READY" {
			return cmd
		}
	}
	text, _ := os.ReadFile(said.Name())
	tb.Fatalf("%s ended before its ranks were ready:\n%s", m.Name, text)
	return nil
}

// Descendants returns a process and all its descendants, the outermost first.
func Descendants(pid int) []int {
	list := []int{pid}
	for i := 0; i < len(list); i++ {
		list = append(list, Children(list[i])...)
	}
	return list
}

// Children returns the child processes of a process. The kernel may omit some while others of them end.
func Children(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is correct
	for _, path := range tasks {
		b, _ := os.ReadFile(path) // empty after the end of the thread
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// AwaitDump waits until a process that was sent a fatal signal has been dumped: it is then a zombie, as its
// parent is stopped.
func AwaitDump(tb testing.TB, pid int) {
	tb.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, state, ok := strings.Cut(string(b), ") "); err != nil || ok && state[0] == 'Z' {
			return
		}
		if time.Since(begin) > settleTime {
			tb.Fatalf("process %d does not end", pid)
		}
	}
}
