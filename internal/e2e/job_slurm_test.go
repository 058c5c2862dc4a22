package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/job"
)

// notAllowed is the exit status of the fixture on a machine that does not allow it.
const notAllowed = 77

// outsideTmp is a directory that the nodes see, too: each has a /tmp of its own.
func outsideTmp(t *testing.T, beside string) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(beside), ".slurm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestJobSlurm: a job of Slurm on four virtual nodes, each with process numbers of its own,
// of which one rank deadlocks.
func TestJobSlurm(t *testing.T) {
	t.Parallel()
	m := omptest.MPIs(t)[0]
	if os.Getuid() != 0 {
		t.Skip("a Slurm of virtual nodes needs root, for namespaces of mounts and processes")
	}
	exe, tool, dir := m.Compile(t, "-g", "-O1", "-fno-inline"), buildTool(t), outsideTmp(t, m.Root())
	scripts, err := filepath.Abs(filepath.Join(omptest.Programs(t), "..", "mpi"))
	if err != nil {
		t.Fatal(err)
	}
	const says = "7 ranks \\[0-4,6-7\\] wait in MPI_Allreduce for rank 5, which is deadlocked"
	// A namespace of processes, so that nothing of the cluster or of its jobs outlives the script.
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", filepath.Join(scripts, "slurm.sh"), dir, m.Root(),
		"bash", filepath.Join(scripts, "slurm_job.sh"), dir, tool, exe, "deadlock", "5", says)
	said := &strings.Builder{}
	cmd.Stderr = said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == notAllowed) {
		t.Skipf("a Slurm of virtual nodes is not possible here: %v: %s", err, said)
	}
	var r job.Report
	if err := json.Unmarshal(out, &r); err != nil || exit == nil || exit.ExitCode() != cli.ExitFound {
		t.Fatalf("%v, %v: %s%s", err, exit, out, said)
	}
	if r.Ranks != 8 || r.Hosts != 4 || r.Answered.Len() != 8 || len(r.Verdicts) == 0 {
		t.Fatalf("%+v", r)
	}
	v := r.Verdicts[0]
	if v.Kind != job.Missing || v.Ranks.String() != "5" || v.Waiting.Len() != 7 ||
		!strings.Contains(v.Summary, "which is deadlocked") {
		t.Errorf("%+v", v)
	}
}
