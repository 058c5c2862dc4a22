package jobs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// kubectl answers as the real one does for two pods; one of them does not run.
const kubectl = `#!/bin/sh
case "$1 $2" in
"get pods") echo '{"kind":"List","items":[{"metadata":{"name":"solver-0"},"status":{"phase":"Running"}},'
	echo '{"metadata":{"name":"solver-1"},"status":{"phase":"Pending"}}]}' ;;
"exec -i") shift 4; exec "$@" ;;
esac
`

// TestJobOnOtherHosts finds ranks of other hosts through any command that runs programs there, with a program
// that is installed there and with one that is sent. The page names a host that does not answer.
func TestJobOnOtherHosts(t *testing.T) {
	m := omptest.MPIs(t)[1]
	m.Launch(t, jobRanks, m.Compile(t, "-g", "-O1", "-fno-inline"), "deadlock", strconv.Itoa(badRank))
	tool, bin := e2e.BuildTool(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	via := filepath.Join(bin, "via")
	script := "#!/bin/sh\n[ \"$1\" != dead ] || { echo no route to host >&2; exit 255; }\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(via, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	const says = "3 ranks [0-2] wait in MPI_Allreduce for rank 3, which is deadlocked"
	for name, args := range map[string][]string{
		"hosts": {"--hosts", "here,dead", "--via", via + " {host}", "--tool", tool},
		"pods":  {"--pods", "app=solver", "--tool", tool},
	} {
		r, status := awaitVerdict(t, job.Missing, says, append(args, "--interval", "300ms")...)
		if status != cli.ExitFound || r.Answered.Len() != jobRanks || len(r.Missing) != 1 {
			t.Errorf("%s: exit status %d, %v answered, missing %+v", name, status, r.Answered, r.Missing)
		}
		if m := r.Missing[0]; !strings.Contains(m.Reason, "no route to host") && !strings.Contains(m.Reason,
			"Pending") {
			t.Errorf("%s: missing %+v", name, m)
		}
		status, out, errs := e2e.Output(t, append(append([]string{"job"}, args...), "--rank", strconv.Itoa(badRank))...)
		if status != cli.ExitOK || !strings.Contains(out, "rank 3 of 4") || !strings.Contains(out, "DEADLOCK") {
			t.Errorf("%s: rank 3: exit status %d: %s%s", name, status, out, errs)
		}
		dir := filepath.Join(t.TempDir(), "new")
		jobReport(t, append(args, "--interval", "0", "--per-rank", dir)...)
		for r := range jobRanks {
			pic := readPicture(t, filepath.Join(dir, fmt.Sprintf("rank-%d.json", r)))
			if pic.Target.Rank == nil || pic.Target.Rank.Rank != r || len(pic.Threads) < 2 {
				t.Errorf("%s: the picture of rank %d is of %+v, with %d threads", name, r, pic.Target.Rank,
					len(pic.Threads))
			}
		}
	}
}

// TestJobPageBeforeAllAnswers checks that standard error shows the page of the first hosts while one host delays
// its answer.
func TestJobPageBeforeAllAnswers(t *testing.T) {
	m := omptest.MPIs(t)[1]
	m.Launch(t, jobRanks, m.Compile(t, "-g", "-O1", "-fno-inline"), "deadlock", strconv.Itoa(badRank))
	tool, dir := e2e.BuildTool(t), t.TempDir()
	via, let := filepath.Join(dir, "via"), filepath.Join(dir, "let")
	script := "#!/bin/sh\nwhile [ $1 = slow ] && [ ! -e " + let + " ]; do sleep 0.1; done\nshift\nexec \"$@\"\n"
	if err := os.WriteFile(via, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for early := time.Second; ; early *= 2 { // a busy machine may need longer for the first rank
		if page, shown := earlyPage(t, let, tool, "job", "--hosts", "here,slow", "--via", via+" {host}",
			"--tool", tool, "--interval", "0", "--early", early.String(), "--timeout", "0",
			"--rank-timeout", "0"); shown {
			if !strings.Contains(page, "all answered") || strings.Contains(page, "(so far)") {
				t.Errorf("the page is not of all: %s", page)
			}
			return
		}
	}
}

// earlyPage runs a command that queries two hosts, releases the second answer when the page of the first is on
// standard error, and returns that page. shown is false if no page has come in time.
func earlyPage(t *testing.T, let string, argv ...string) (page string, shown bool) {
	t.Helper()
	out := &strings.Builder{}
	cmd := exec.Command(argv[0], argv[1:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, lines := "", bufio.NewScanner(stderr)
	for !strings.Contains(said, "(so far)") || !strings.Contains(said, "CLASSES") {
		if !lines.Scan() || strings.Contains(lines.Text(), "no rank has answered") {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return "", false
		}
		said += lines.Text() + "\n"
	}
	if err := os.WriteFile(let, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	_ = cmd.Wait() // its status is that of the verdict
	return out.String(), true
}

// TestJobCrash looks at a job with a crashed rank: the others wait for a rank that has ended, and the cores show
// the cause. It runs every third day.
func TestJobCrash(t *testing.T) {
	if !omptest.Turn(3, "job crash") {
		t.Skip("its turn comes every third day, and in make matrix")
	}
	m := omptest.MPIs(t)[1]
	dir := coreDirs(t)
	exe := m.Compile(t, "-g", "-O1", "-fno-inline")
	launcher := m.Launch(t, jobRanks, exe, "crash", strconv.Itoa(badRank), dir).Process.Pid
	name := []string{"--mpirun", strconv.Itoa(launcher), "--interval", "300ms"}
	awaitVerdict(t, job.Missing, "for rank 3, which is stopped", name...)
	cores := dumped(t, launcher, dir, func(pid int) { // it continues to the crash
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		omptest.AwaitDump(t, pid)
		awaitVerdict(t, job.LeftEarly, "3 ranks [0-2] wait in MPI_Allreduce for rank 3, which has ended", name...)
	})
	r, status := jobReport(t, cores...)
	const says = "3 ranks [0-2] wait in MPI_Allreduce for rank 3, which crashed (SIGSEGV) at fault ranks.c"
	if status != cli.ExitFound || len(r.Verdicts) == 0 || !strings.Contains(r.Verdicts[0].Summary, says) {
		t.Errorf("exit status %d, verdicts %+v, want %s", status, r.Verdicts, says)
	}
}

// coreDirs returns a directory that has a working directory for each rank.
func coreDirs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for r := range jobRanks {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(r)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestJobCores looks at the cores of all ranks of a hung job: the page names the rank, and the command that
// prints its report.
func TestJobCores(t *testing.T) {
	all := omptest.MPIs(t)
	if omptest.Turn(3, "job cores") {
		all = append(all, omptest.OpenMPI5(t))
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			dir := coreDirs(t)
			exe := m.Compile(t, "-g", "-O1", "-fno-inline")
			launcher := m.Launch(t, jobRanks, exe, "deadlock", strconv.Itoa(badRank), dir).Process.Pid
			name := []string{"--mpirun", strconv.Itoa(launcher), "--interval", "300ms"}
			awaitVerdict(t, job.Missing, "which is deadlocked", name...)
			cores := append(dumped(t, launcher, dir, func(int) {}), "/dev/null")
			r, status := jobReport(t, cores...)
			if r.Answered.Len() != jobRanks || len(r.Verdicts) == 0 || len(r.Missing) != 1 {
				t.Fatalf("%v answered, verdicts %+v, missing %+v", r.Answered, r.Verdicts, r.Missing)
			}
			v := r.Verdicts[0]
			const says = "3 ranks [0-2] wait in MPI_Allreduce for rank 3, which is deadlocked"
			if v.Kind != job.Missing || !strings.Contains(v.Summary, says) || status != cli.ExitFound {
				t.Errorf("exit status %d, %+v; want %s", status, v, says)
			}
			page := filepath.Join(t.TempDir(), "job.html")
			status, _, errs := e2e.Output(t, append([]string{"job", "--html", page}, cores...)...)
			if status != cli.ExitFound {
				t.Errorf("a page: exit status %d: %s", status, errs)
			}
			if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), says) ||
				!strings.Contains(string(b), "waits for lock lock at deadlock [parallel] ranks.c") {
				t.Errorf("a page without the verdict, %v:\n%s", err, b)
			}
			status, out, errs := e2e.Output(t, append([]string{"job", "--rank", strconv.Itoa(badRank)}, cores...)...)
			if status != cli.ExitOK || !strings.Contains(out, "rank 3 of 4") || !strings.Contains(out, "DEADLOCK") {
				t.Errorf("rank 3: exit status %d: %s%s", status, out, errs)
			}
		})
	}
}

// dumped makes the kernel dump all ranks of a job and returns the cores; the stopped launcher cannot end the
// ranks meanwhile. Before that, it calls first with the process of the rank to blame.
func dumped(t *testing.T, launcher int, dir string, first func(pid int)) []string {
	t.Helper()
	defer omptest.CoresInPlace(t)()
	pictures := t.TempDir()
	jobReport(t, "--mpirun", strconv.Itoa(launcher), "--interval", "0", "--per-rank", pictures)
	for _, pid := range omptest.Descendants(launcher) {
		if !isRank(t, pid, pictures) {
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
	}
	rank := func(r int) int {
		return readPicture(t, filepath.Join(pictures, fmt.Sprintf("rank-%d.json", r))).Target.PID
	}
	first(rank(badRank))
	for r := range jobRanks {
		pid := rank(r)
		if err := unix.Kill(pid, unix.SIGABRT); err != nil {
			t.Fatal(err)
		}
		omptest.AwaitDump(t, pid)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "*", "core*"))
	if len(cores) != jobRanks {
		t.Fatalf("%d cores, want %d", len(cores), jobRanks)
	}
	return cores
}

// isRank reports whether a process has a picture in the directory pictures.
func isRank(t *testing.T, pid int, pictures string) bool {
	t.Helper()
	for r := range jobRanks {
		if readPicture(t, filepath.Join(pictures, fmt.Sprintf("rank-%d.json", r))).Target.PID == pid {
			return true
		}
	}
	return false
}
