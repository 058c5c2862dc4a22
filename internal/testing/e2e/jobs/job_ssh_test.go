package jobs

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestJobSSH runs a job on a host with OpenSSH's own server, reached by ssh itself and by clush, and on an
// unreachable host. Each runs every other day.
func TestJobSSH(t *testing.T) {
	m := omptest.MPIs(t)[1]
	if os.Getuid() != 0 {
		t.Skip("a server of ssh of its own needs root, for namespaces of mounts and processes")
	}
	exe, tool := m.Compile(t, "-g", "-O1", "-fno-inline"), e2e.BuildTool(t)
	scripts, err := filepath.Abs(filepath.Join(omptest.Programs(t), "..", "mpi"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ssh", "clush"} {
		if !omptest.Full() && omptest.Turn(2, "job by ssh") != (i == 0) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := outsideTmp(t, m.Root())
			via := map[string]string{
				"ssh": "ssh -F " + dir + "/config {host}", "clush": "clush -S -o -F" + dir + "/config -w {host}",
			}[name]
			const says = "for rank 3, which is deadlocked"
			cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
				"bash", filepath.Join(scripts, "ssh.sh"), dir, m.Root(),
				"bash", filepath.Join(scripts, "ssh_job.sh"), dir, tool, exe, "deadlock", "3", says, via)
			r := answered(t, cmd)
			if r.Ranks != jobRanks || r.Answered.Len() != jobRanks || len(r.Verdicts) == 0 ||
				!strings.Contains(r.Verdicts[0].Summary, says) {
				t.Fatalf("%+v", r)
			}
			if len(r.Missing) != 1 || r.Missing[0].Host != "dead" {
				t.Errorf("missing %+v, want the host dead", r.Missing)
			}
			words := ""
			for _, s := range r.Shown {
				words += strings.Join(s.Verdicts, "\n")
			}
			if !strings.Contains(words, "waits for lock") {
				t.Errorf("no rank was looked at in detail: %+v", r.Shown)
			}
		})
	}
}

// answered returns the tool's output in a script that needs rights which some machines do not grant.
func answered(t *testing.T, cmd *exec.Cmd) *job.Report {
	t.Helper()
	said := &strings.Builder{}
	cmd.Stderr = said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == notAllowed) {
		t.Skipf("virtual machines are not possible here: %v: %s", err, said)
	}
	r := &job.Report{}
	if err := json.Unmarshal(out, r); err != nil || exit == nil || exit.ExitCode() != cli.ExitFound {
		t.Fatalf("%v, %v: %s%s", err, exit, out, said)
	}
	return r
}
