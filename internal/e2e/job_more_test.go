package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/job"
)

// kubectl answers as the real one does for pods of which one does not run.
const kubectl = `#!/bin/sh
case "$1 $2" in
"get pods") echo '{"kind":"List","items":[{"metadata":{"name":"solver-0"},"status":{"phase":"Running"}},'
	echo '{"metadata":{"name":"solver-1"},"status":{"phase":"Pending"}}]}' ;;
"exec -i") shift 4; exec "$@" ;;
esac
`

// TestJobElsewhere: ranks of other hosts are found by whatever runs a command there, with a
// program that is there and with one that is sent; one host that does not answer is named.
func TestJobElsewhere(t *testing.T) {
	m := omptest.MPIs(t)[1]
	m.Launch(t, jobRanks, m.Compile(t, "-g", "-O1", "-fno-inline"), "deadlock", strconv.Itoa(badRank))
	tool, bin := buildTool(t), t.TempDir()
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
		if m := r.Missing[0]; !strings.Contains(m.Why, "no route to host") && !strings.Contains(m.Why, "Pending") {
			t.Errorf("%s: missing %+v", name, m)
		}
		status, out, errs := output(t, append(append([]string{"job"}, args...), "--rank", strconv.Itoa(badRank))...)
		if status != cli.ExitOK || !strings.Contains(out, "rank 3 of 4") || !strings.Contains(out, "DEADLOCK") {
			t.Errorf("%s: rank 3: exit status %d: %s%s", name, status, out, errs)
		}
	}
}

// TestJobCores: of the cores of all ranks of a job that hung, the page names the rank, and
// its report is one command away.
func TestJobCores(t *testing.T) {
	for _, m := range omptest.MPIs(t) {
		t.Run(m.Name, func(t *testing.T) {
			dir := t.TempDir()
			for r := range jobRanks {
				if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(r)), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			exe := m.Compile(t, "-g", "-O1", "-fno-inline")
			launcher := m.Launch(t, jobRanks, exe, "deadlock", strconv.Itoa(badRank), dir).Process.Pid
			name := []string{"--mpirun", strconv.Itoa(launcher), "--interval", "300ms"}
			awaitVerdict(t, job.Missing, "which is deadlocked", name...)
			cores := append(dumped(t, launcher, dir), "/dev/null")
			r, status := jobReport(t, cores...)
			if r.Answered.Len() != jobRanks || len(r.Verdicts) == 0 || len(r.Missing) != 1 {
				t.Fatalf("%v answered, verdicts %+v, missing %+v", r.Answered, r.Verdicts, r.Missing)
			}
			v := r.Verdicts[0]
			const says = "3 ranks [0-2] wait in MPI_Allreduce for rank 3, which is deadlocked"
			if v.Kind != job.Missing || !strings.Contains(v.Summary, says) || status != cli.ExitFound {
				t.Errorf("exit status %d, %+v; want %s", status, v, says)
			}
			status, out, errs := output(t, append([]string{"job", "--rank", strconv.Itoa(badRank)}, cores...)...)
			if status != cli.ExitOK || !strings.Contains(out, "rank 3 of 4") || !strings.Contains(out, "DEADLOCK") {
				t.Errorf("rank 3: exit status %d: %s%s", status, out, errs)
			}
		})
	}
}

// dumped has the kernel dump all ranks of a job, whose launcher cannot end them meanwhile, and
// returns the cores.
func dumped(t *testing.T, launcher int, dir string) []string {
	t.Helper()
	defer omptest.CoresInPlace(t)()
	pictures := t.TempDir()
	jobReport(t, "--mpirun", strconv.Itoa(launcher), "--interval", "0", "--per-rank", pictures)
	for _, pid := range omptest.Descendants(launcher) {
		if !isRank(t, pid, pictures) {
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
	}
	for r := range jobRanks {
		pid := readPicture(t, filepath.Join(pictures, fmt.Sprintf("rank-%d.json", r))).Target.PID
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

// isRank reports whether a process is one of which a picture was written.
func isRank(t *testing.T, pid int, pictures string) bool {
	t.Helper()
	for r := range jobRanks {
		if readPicture(t, filepath.Join(pictures, fmt.Sprintf("rank-%d.json", r))).Target.PID == pid {
			return true
		}
	}
	return false
}
