package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// notAllowed is the exit status of a fixture on a machine that does not allow it.
const notAllowed = 77

// outsideTmp returns a directory that the nodes share: each has a /tmp of its own.
func outsideTmp(t *testing.T, beside string) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(beside), ".slurm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// oneSlurm prevents two Slurms from using the same ports.
var oneSlurm sync.Mutex

// slurmJob starts a job of Slurm on four virtual nodes, each with process numbers of its own, in which rank 5
// deadlocks, and looks at it until the answer matches says.
func slurmJob(t *testing.T, m omptest.MPI, ranks int, says string, more ...string) *job.Report {
	t.Helper()
	plugin := map[string]string{"openmpi": "pmix", "mpich": "pmi2"}[m.Name]
	if os.Getuid() != 0 {
		t.Skip("a Slurm of virtual nodes needs root, for namespaces of mounts and processes")
	}
	exe, tool, dir := m.Compile(t, "-g", "-O1", "-fno-inline"), e2e.BuildTool(t), outsideTmp(t, m.Root())
	scripts, err := filepath.Abs(filepath.Join(omptest.Programs(t), "..", "mpi"))
	if err != nil {
		t.Fatal(err)
	}
	oneSlurm.Lock()
	defer oneSlurm.Unlock()
	// In a process namespace, no part of the cluster or of its jobs outlives the script.
	return answered(t, exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child",
		"--mount-proc", "bash", filepath.Join(scripts, "slurm.sh"), dir, m.Root(),
		"bash", filepath.Join(scripts, "slurm_job.sh"), dir, tool, exe, plugin,
		strconv.Itoa(ranks), "deadlock", "5", says}, more...)...))
}

// TestJobSlurm looks at a job of Slurm: the page names the rank that deadlocks.
func TestJobSlurm(t *testing.T) {
	t.Parallel()
	const says = "7 ranks \\[0-4,6-7\\] wait in MPI_Allreduce for rank 5, which is deadlocked"
	r := slurmJob(t, omptest.MPIs(t)[0], 8, says)
	if r.Ranks != 8 || r.Hosts != 4 || r.Answered.Len() != 8 || len(r.Verdicts) == 0 {
		t.Fatalf("%+v", r)
	}
	v := r.Verdicts[0]
	if v.Kind != job.Missing || v.Ranks.String() != "5" || v.Waiting.Len() != 7 ||
		!strings.Contains(v.Summary, "which is deadlocked") {
		t.Errorf("%+v", v)
	}
}

// TestJobSlurmLarge inspects jobs of 16 and 64 ranks, of Open MPI and MPICH.
func TestJobSlurmLarge(t *testing.T) {
	if !omptest.Full() {
		t.Skip("make matrix runs it: 64 ranks on few processors take minutes")
	}
	for _, m := range omptest.MPIs(t) {
		for _, ranks := range []int{16, 64} {
			t.Run(m.Name+"/"+strconv.Itoa(ranks), func(t *testing.T) {
				last := strconv.Itoa(ranks - 1)
				r := slurmJob(t, m, ranks, strconv.Itoa(ranks-1)+" ranks \\[0-4,6-"+last+
					"\\] wait in MPI_Allreduce for rank 5, which is deadlocked")
				if r.Ranks != ranks || r.Hosts != 4 || r.Answered.Len() != ranks || len(r.Verdicts) == 0 {
					t.Fatalf("%+v", r)
				}
			})
		}
	}
}

// TestJobSlurmDeadNode stops slurmd of one node: the page names the node, which does not answer, and uses the
// answers of the others.
func TestJobSlurmDeadNode(t *testing.T) {
	if !omptest.Full() {
		t.Skip("make matrix runs it: Slurm takes a minute to miss a node")
	}
	t.Parallel()
	r := slurmJob(t, omptest.MPIs(t)[0], 8, "wait in MPI_Allreduce for rank 5, which is deadlocked", "node4", "40s")
	if r.Hosts != 3 || r.Answered.Len() >= 8 || len(r.Verdicts) == 0 || r.Verdicts[0].Ranks.String() != "5" {
		t.Fatalf("%+v", r)
	}
	var hosts []string
	for _, m := range r.Missing {
		hosts = append(hosts, m.Host+m.Reason)
	}
	if !strings.Contains(strings.Join(hosts, "\n"), "node4") {
		t.Errorf("missing %+v, want node4", r.Missing)
	}
}
