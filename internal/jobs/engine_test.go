package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// partFile writes the part of one rank as a node sends it.
func partFile(t *testing.T, rank int) string {
	t.Helper()
	p := job.NewPart()
	p.Add(job.Answer{Rank: rank, Size: 4, Member: job.Member{Host: "n1", PID: 7, Peer: -1}})
	line, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(path, line, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestErrands checks the results of nodes that answer in different ways.
func TestErrands(t *testing.T) {
	omptest.Program(t, "sed")
	part := partFile(t, 2)
	for name, c := range map[string]struct{ script, ranks, says string }{
		"an answer":                   {`cat "$0"`, "2", ""},
		"twice":                       {`cat "$0" "$0"`, "2", ""},
		"behind a banner and a label": {`echo Welcome; printf 'node7: '; cat "$0"; echo bye`, "2", ""},
		"an answer, then a failure":   {`cat "$0"; echo no route >&2; exit 255`, "2", "no route"},
		"garbage":                     {`head -c 100000 /dev/zero | tr '\0' x; echo; cat "$0"`, "2", ""},
		"a part that is cut off":      {`head -c 30 "$0"`, "", "cut off"},
		"a part that was changed":     {`sed 's/.....$/AAAAA/' "$0"`, "", "damaged"},
		"nothing":                     {`true`, "", "brought no answer"},
		"only words":                  {`echo command not found`, "", "command not found"},
		"only an error":               {`echo Permission denied >&2; exit 255`, "", "Permission denied"},
	} {
		all := job.NewPart()
		err := Errand{Host: "n1", Argv: []string{"sh", "-c", c.script, part}}.Run(t.Context(), all.Merge)
		if got := all.Ranks().String(); got != c.ranks {
			t.Errorf("%s: ranks %q, want %q", name, got, c.ranks)
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestErrandWithoutEnd checks that parts before the time limit count, and that an errand without end is killed,
// with the processes that it started.
func TestErrandWithoutEnd(t *testing.T) {
	part := partFile(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := job.NewPart()
	err := Errand{Argv: []string{"sh", "-c", `cat "$0"; sleep 100000 & wait`, part}}.Run(ctx, func(p *job.Part) {
		all.Merge(p)
		cancel()
	})
	if err == nil || !strings.Contains(err.Error(), "no answer in time") || all.Ranks().String() != "3" {
		t.Errorf("ranks %v, %v", all.Ranks(), err)
	}
}

// TestVia checks the command for a host, as an argument list, or quoted for a shell there.
func TestVia(t *testing.T) {
	r := Remote{Tool: "/opt/my tool", Args: []string{"job-node", "--slurm", "7"}}
	for template, want := range map[string]string{
		"ssh -p 22 {host}":           `ssh|-p|22|n1|'/opt/my tool' 'job-node' '--slurm' '7'`,
		"kubectl exec -i {host} --":  "kubectl|exec|-i|n1|--|/opt/my tool|job-node|--slurm|7",
		"env HOST={host}":            "env|HOST=n1|/opt/my tool|job-node|--slurm|7",
		"/usr/bin/clush -w {host} -": `/usr/bin/clush|-w|n1|-|'/opt/my tool' 'job-node' '--slurm' '7'`,
	} {
		e, err := Via(template, "n1", r)
		if got := strings.Join(e.Argv, "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", template, got, err, want)
		}
	}
	for template, host := range map[string]string{"ssh": "n1", "": "n1", "ssh {host}": "-oProxyCommand=x",
		"rsh {host}": ""} {
		if e, err := Via(template, host, r); err == nil {
			t.Errorf("%q for host %q: %q", template, host, e.Argv)
		}
	}
	if got := Quote(`it's`); got != `'it'\''s'` {
		t.Errorf("quoted: %s", got)
	}
}

// TestSrun checks the command line for a Slurm job.
func TestSrun(t *testing.T) {
	e := Srun("123.0", []string{"n1", "n3"}, Remote{Tool: "/bin/t", Args: []string{"job-node"}})
	if got := strings.Join(e.Argv, " "); !strings.Contains(got, "--jobid=123 --overlap") ||
		!strings.HasSuffix(got, "-w n1,n3 -N 2 -n 2 --ntasks-per-node=1 /bin/t job-node") {
		t.Errorf("%s", got)
	}
	if e = Srun("123", []string{"n1"}, Remote{Send: "/x/t"}); !strings.Contains(strings.Join(e.Argv, " "),
		"--bcast=/tmp/ompd-inspect-") {
		t.Errorf("%q", e.Argv)
	}
}

// TestSample checks that the sample is evenly chosen, and never larger than the list.
func TestSample(t *testing.T) {
	list := []string{"a", "b", "c", "d", "e", "f"}
	for n, want := range map[int]string{0: "abcdef", 2: "ad", 3: "ace", 6: "abcdef", 9: "abcdef"} {
		if got := strings.Join(Sample(list, n), ""); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestStepOf checks the Slurm job and step of a process, by both versions of control groups. Other groups are
// ignored, whatever their names are.
func TestStepOf(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_1\n":          "123 0",
		"0::/system.slice/node1_slurmstepd.scope/job_7/step_batch/user/task_0\n":  "7 batch",
		"5:cpuset:/slurm/uid_0/job_123/step_4294967291\n1:name=systemd:/init\n":   "123 4294967291",
		"9:freezer:/slurm_node3/uid_1000/job_42/step_3/task_2\n":                  "42 3",
		"1:name=systemd:/user.slice\n5:cpuset:/slurm/uid_0/job_9/step_1/task_5\n": "9 1",
		"0::/system.slice/slurmd.service\n":                                       " ",
		"0::/user.slice/job_5/step_6\n":                                           " ",
		"0::/kubepods/slurm-like/step_6\n":                                        " ",
		"":                                                                        " ",
		"damaged":                                                                 " ",
	} {
		if job, step := stepOf(groups); job+" "+step != want {
			t.Errorf("%q: job %q, step %q; want %q", groups, job, step, want)
		}
	}
}
