package jobs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// firstLines is the number of lines of a page in which the rank to blame must be named.
const firstLines = 3

// jobSays are the required first lines of a job's page, and the exit status, by the fault in the job. Open MPI 4
// does not store the sender of a message in C.
var jobSays = map[string]struct {
	says   string
	status int
}{
	"receive": {`HANG .*\brank 3 (in MPI_Recv at receive|waits for a message)`, cli.ExitFound},
	// clang's function that holds the lock ends in a tail call of the runtime: it has returned.
	"deadlock": {`HANG  ` + waitForThree + `is deadlocked: (2 threads|thread 1 waits for lock lock)`, cli.ExitFound},
	"barrier": {`HANG  on MPI_COMM_WORLD, rank 3 is in MPI_Barrier at .* 3 ranks \[0-2\] in MPI_Allreduce`,
		cli.ExitFound},
	"compute":  {`WAITS  ` + waitForThree + `is elsewhere at compute`, cli.ExitOK},
	"halves":   {`WAITS  ` + waitForThree + `is elsewhere at compute`, cli.ExitOK},
	"ring":     {`HANG  4 ranks \[0-3\] wait (for each other|for a message|to send or receive)`, cli.ExitFound},
	"send":     {`HANG  4 ranks \[0-3\] wait (for each other|to send or receive)`, cli.ExitFound},
	"finalize": {`HANG  ` + waitForThree + `is in MPI_Finalize`, cli.ExitFound},
	"stop":     {`HANG  ` + waitForThree + `is stopped`, cli.ExitFound},
}

// waitForThree is the start of the first line for most jobs.
const waitForThree = `3 ranks \[0-2\] wait in MPI_Allreduce for rank 3, which `

// jobBuild is one build of a job's program.
type jobBuild struct {
	name   string
	by     omptest.Compiler
	file   string
	flags  []string
	faults []string
}

// jobBuilds are programs in C by GCC and clang, with their runtimes, and in Fortran with both of its modules.
func jobBuilds() []jobBuild {
	c := []string{"receive", "deadlock", "barrier", "compute", "halves", "ring", "send", "finalize", "stop"}
	fortran := []string{"receive", "deadlock", "barrier", "ring"}
	plain := []string{"-g", "-O1", "-fno-inline"}
	return []jobBuild{
		{"gcc", omptest.GCC, "ranks.c", plain, c},
		{"clang", omptest.LLVM, "ranks.c", plain, c},
		{"gcc-O2", omptest.GCC, "ranks.c", []string{"-g", "-O2"}, []string{"receive", "deadlock"}},
		{"mpi", omptest.GCC, "ranks.f90", plain, fortran},
		{"mpi_f08", omptest.GCC, "ranks.f90", append([]string{"-DF08"}, plain...), fortran},
	}
}

// oneIn is the divisor for the part of the matrix that a usual run of the tests covers.
const oneIn = 16

// TestJobMatrix runs jobs of Open MPI 4 and 5 and MPICH, in C and Fortran, with both OpenMP runtimes: the first
// lines of the page name the rank to blame.
func TestJobMatrix(t *testing.T) {
	for _, name := range []string{"openmpi", "mpich", "openmpi5"} {
		for _, b := range jobBuilds() {
			for _, fault := range b.faults {
				if !omptest.Turn(oneIn, "job", name, b.name, fault) {
					continue
				}
				t.Run(name+"/"+b.name+"/"+fault, func(t *testing.T) {
					t.Parallel()
					m := mpiOf(t, name)
					exe := m.CompileBy(t, b.by, b.file, b.flags...)
					launcher := m.Launch(t, jobRanks, exe, fault, strconv.Itoa(badRank)).Process.Pid
					if fault == "stop" {
						stopRank(t, launcher)
					}
					awaitPage(t, launcher, jobSays[fault].says, jobSays[fault].status)
				})
			}
		}
	}
}

// mpiOf returns an implementation of MPI, and downloads it on first use.
func mpiOf(t *testing.T, name string) omptest.MPI {
	t.Helper()
	if name == "openmpi5" {
		return omptest.OpenMPI5(t)
	}
	all := omptest.MPIs(t)
	return all[slices.IndexFunc(all, func(m omptest.MPI) bool { return m.Name == name })]
}

// awaitPage looks at a job until the first lines of its page match says.
func awaitPage(t *testing.T, launcher int, says string, status int) {
	t.Helper()
	want := regexp.MustCompile(says)
	page, got := "", 0
	for range maxLooks {
		got, page, _ = e2e.Output(t, "job", "--mpirun", strconv.Itoa(launcher), "--interval", "300ms", "--timeout", "0",
			"--rank-timeout", "0", "--width", "0")
		lines := strings.SplitN(page, "\n", firstLines+1)
		if want.MatchString(strings.Join(lines[:min(len(lines), firstLines)], "\n")) && got == status {
			return
		}
	}
	t.Fatalf("after %d looks: exit status %d, want %d and %s\n%s", maxLooks, got, status, says, page)
}

// TestJobLarge runs jobs of 16 and 64 ranks.
func TestJobLarge(t *testing.T) {
	if !omptest.Full() {
		t.Skip("make matrix runs it")
	}
	for _, m := range omptest.MPIs(t) {
		for _, ranks := range []int{16, 64} {
			t.Run(m.Name+"/"+strconv.Itoa(ranks), func(t *testing.T) {
				exe := m.Compile(t, "-g", "-O1", "-fno-inline")
				launcher := m.Launch(t, ranks, exe, "deadlock", strconv.Itoa(badRank)).Process.Pid
				says := "HANG  " + strconv.Itoa(ranks-1) + ` ranks \[0-2,4-` + strconv.Itoa(ranks-1) +
					`\] wait in MPI_Allreduce for rank 3, which is deadlocked`
				awaitPage(t, launcher, says, cli.ExitFound)
			})
		}
	}
}
