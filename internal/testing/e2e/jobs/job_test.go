package jobs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// jobReport returns job's report as JSON, and its exit status.
func jobReport(t *testing.T, args ...string) (*job.Report, int) {
	t.Helper()
	args = append([]string{"job", "--json", "--timeout", "0", "--rank-timeout", "0"}, args...)
	status, out, errs := e2e.Output(t, args...)
	if out == "" {
		t.Fatalf("job %v: exit status %d: %s", args, status, errs)
	}
	omptest.Validate(t, "job", []byte(out))
	r := &job.Report{}
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatal(err)
	}
	return r, status
}

// jobRanks is the number of ranks in the jobs of these tests, and badRank the rank to blame.
const jobRanks, badRank = 4, 3

// maxLooks is the number of looks at a job until it has reached its final state.
const maxLooks = 60

// awaitVerdict looks at a job until the first verdict is the wanted one.
func awaitVerdict(t *testing.T, kind job.VerdictKind, says string, args ...string) (*job.Report, int) {
	t.Helper()
	var r *job.Report
	status := 0
	for range maxLooks {
		r, status = jobReport(t, args...)
		if len(r.Verdicts) > 0 && r.Verdicts[0].Kind == kind && strings.Contains(r.Verdicts[0].Summary, says) {
			return r, status
		}
	}
	t.Fatalf("after %d looks: verdicts %+v, want %s: %s; missing %+v", maxLooks, r.Verdicts, kind, says, r.Missing)
	return nil, 0
}

// jobCase is a fault in a job and the required verdict.
type jobCase struct {
	fault    string
	kind     job.VerdictKind
	severity picture.Severity
	says     string
}

// jobCases returns faults with MPICH and Open MPI; each runs with one of them, or with both where they differ.
func jobCases() map[string][]jobCase {
	const all = "3 ranks [0-2] wait in MPI_Allreduce for rank 3"
	return map[string][]jobCase{
		"mpich": {
			{"receive", job.Cycle, picture.SeverityHang, all + "; rank 3 in MPI_Recv at receive ranks.c"},
			{"ring", job.Cycle, picture.SeverityHang, "4 ranks [0-3] wait for each other: rank 0 in MPI_Recv"},
			{"finalize", job.LeftEarly, picture.SeverityHang, all + ", which is in MPI_Finalize"},
			{"stop", job.Missing, picture.SeverityHang, all + ", which is stopped"},
		},
		"openmpi": {
			{"deadlock", job.Missing, picture.SeverityHang,
				all + ", which is deadlocked: 2 threads wait for each other"},
			{"barrier", job.Mismatch, picture.SeverityHang,
				"on MPI_COMM_WORLD, rank 3 is in MPI_Barrier at fault ranks.c"},
			{"compute", job.Missing, picture.SeverityWarning, all + ", which is elsewhere at compute ranks.c"},
			{"receive", job.Cycle, picture.SeverityHang, all + "; rank 3 in MPI_Recv at receive ranks.c"},
		},
	}
}

// TestJobNamesFaultyRank runs real jobs with one faulty rank: the page names it.
func TestJobNamesFaultyRank(t *testing.T) {
	for _, m := range omptest.MPIs(t) {
		exe := m.Compile(t, "-g", "-O1", "-fno-inline")
		for _, c := range jobCases()[m.Name] {
			t.Run(m.Name+"/"+c.fault, func(t *testing.T) {
				t.Parallel()
				launcher := m.Launch(t, jobRanks, exe, c.fault, strconv.Itoa(badRank)).Process.Pid
				name := []string{"--mpirun", strconv.Itoa(launcher), "--interval", "300ms"}
				if c.fault == "stop" {
					stopRank(t, launcher)
				}
				r, status := awaitVerdict(t, c.kind, c.says, name...)
				v := r.Verdicts[0]
				if v.Severity != c.severity || (status == cli.ExitFound) != v.Hangs() {
					t.Errorf("severity %s, certainty %s, exit status %d", v.Severity, v.Certainty, status)
				}
				if c.fault == "compute" || c.fault == "receive" {
					watchJob(t, c.fault == "compute", name...)
					namesJob(t, launcher)
				}
				if r.Ranks != jobRanks || r.Answered.Len() != jobRanks || c.fault != "ring" &&
					v.Ranks.String() != "3" {
					t.Errorf("%d ranks, %v answered, the verdict is about %v", r.Ranks, r.Answered, v.Ranks)
				}
			})
		}
	}
}

// namesJob checks that the report of a launcher names the command for its ranks.
func namesJob(t *testing.T, launcher int) {
	t.Helper()
	status, out, said := e2e.Output(t, "report", strconv.Itoa(launcher))
	want := fmt.Sprintf("itself; next: `ompd-inspect job --mpirun %d`", launcher)
	if status != cli.ExitOK || !strings.Contains(out, want) {
		t.Errorf("the report of the launcher: exit status %d, %s%s, want %q", status, said, out, want)
	}
}

// watchJob watches a job until the rank to blame is the only one that makes progress, or no rank does: polls of
// MPI count as no progress.
func watchJob(t *testing.T, progress bool, name ...string) {
	t.Helper()
	want, wantMoved, out := cli.ExitStuck, "", ""
	if progress {
		want, wantMoved = cli.ExitOK, strconv.Itoa(badRank)
	}
	for range maxLooks {
		args := append([]string{"job", "watch", "--json", "--timeout", "0", "--rank-timeout", "0"}, name...)
		status := 0
		status, out, _ = e2e.Output(t, args...)
		r := &job.Report{}
		if err := json.Unmarshal([]byte(out), r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if status == want && r.Moved.String() == wantMoved && r.Moved.Len()+r.Still.Len() == jobRanks {
			return
		}
	}
	t.Errorf("after %d looks, want exit status %d and progress of %q:\n%s", maxLooks, want, wantMoved, out)
}

// stopRank stops the rank to blame.
func stopRank(t *testing.T, launcher int) {
	t.Helper()
	dir := t.TempDir()
	jobReport(t, "--mpirun", strconv.Itoa(launcher), "--interval", "0", "--per-rank", dir)
	pic := readPicture(t, filepath.Join(dir, fmt.Sprintf("rank-%d.json", badRank)))
	if r := pic.Target.Rank; r == nil || r.Rank != badRank || r.Size != jobRanks {
		t.Fatalf("rank %+v, want %d of %d", r, badRank, jobRanks)
	}
	if err := unix.Kill(pic.Target.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// readPicture reads a picture from a JSON file.
func readPicture(t *testing.T, path string) *picture.Picture {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pic := &picture.Picture{}
	if err := json.Unmarshal(b, pic); err != nil {
		t.Fatal(err)
	}
	return pic
}

// TestJobNamesProgramBehindWrapper runs ranks without a library of MPI behind wrappers and shells: the program with an
// OpenMP runtime is inspected, or else the innermost program, and the page names each.
func TestJobNamesProgramBehindWrapper(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	const rank = "export OMPI_COMM_WORLD_SIZE=%d OMPI_COMM_WORLD_RANK=%d; "
	starts := []string{ // the shell waits, as more commands follow
		"timeout 36000 EXE",
		"sh -c 'EXE; true'",
		"sh -c 'sleep 36000 & timeout 36000 EXE; true'",
		"sh -c 'timeout 36000 sleep 36000; true'",
	}
	deadlocked := len(starts) - 1
	script := ""
	for i, start := range starts {
		script += "(" + fmt.Sprintf(rank, len(starts), i) + strings.ReplaceAll(start, "EXE", exe) + "; true) & "
	}
	cmd := exec.Command("sh", "-c", script+"wait")
	cmd.Env = slices.Concat(os.Environ(), e2e.Asleep,
		[]string{"LD_LIBRARY_PATH=" + omptest.RuntimeOf(t, 16).Dir, "OMPD_READY_FD=3"})
	ready, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	cmd.ExtraFiles = []*os.File{theirs} // becomes descriptor 3
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range omptest.Descendants(cmd.Process.Pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = cmd.Wait()
	})
	for in := bufio.NewScanner(ready); ; { // each of the deadlocked programs is in place
		if !in.Scan() {
			t.Fatalf("a program ended before it was ready: %v", in.Err())
		}
		if deadlocked--; deadlocked == 0 {
			break
		}
	}
	const says = "3 ranks [0-2] are deadlocked"
	name := []string{"--mpirun", strconv.Itoa(cmd.Process.Pid), "--interval", "0"}
	want, programs := "sleep 3, "+filepath.Base(exe)+" 0-2", ""
	for range maxLooks { // the shells of the last rank may not have started sleep yet
		r, status := awaitVerdict(t, job.RankFault, says, name...)
		if status != cli.ExitFound {
			t.Fatalf("exit status %d", status)
		}
		var all []string
		for _, p := range r.Programs {
			all = append(all, p.Name+" "+p.Ranks.String())
		}
		if programs = strings.Join(all, ", "); programs == want {
			break
		}
	}
	if programs != want {
		t.Errorf("programs %s, want %s", programs, want)
	}
	_, page, _ := e2e.Output(t, append([]string{"job"}, name...)...)
	if want := "programs: sleep (rank 3), " + filepath.Base(exe) + " (ranks 0-2)"; !strings.Contains(page, want) {
		t.Errorf("no %q in\n%s", want, page)
	}
}

// TestLargeMessagesAreNoHang looks at healthy ranks that send large messages in a circle. Each is in a call that the
// next one has to answer, in both snapshots.
func TestLargeMessagesAreNoHang(t *testing.T) {
	looks := omptest.Number(t, "looks", 3)
	for _, m := range omptest.MPIs(t) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			exe := m.Compile(t, "-g", "-O1", "-fno-inline")
			launcher := m.Launch(t, jobRanks, exe, "exchange", strconv.Itoa(badRank)).Process.Pid
			for range looks {
				r, status := jobReport(t, "--mpirun", strconv.Itoa(launcher), "--interval", "1ms")
				if status == cli.ExitFound {
					t.Errorf("%+v", r.Verdicts)
				}
			}
		})
	}
}
