package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// drawJob returns the page of a job.
func drawJob(t *testing.T, r *job.Report) string {
	t.Helper()
	var b strings.Builder
	if err := web.WriteJob(&b, r, "123456", "made today"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hungJob is a job with one stopped rank and one missing host; name is untrusted text from the nodes.
func hungJob(ranks int, name string) *job.Report {
	p := job.NewPart()
	for r := range ranks {
		k := job.Kind{
			Movement: job.Still,
			Call:     &job.Call{Routine: "MPI_Allreduce", Communicator: "MPI_COMM_WORLD", Site: "app+36", Type: name},
			Threads: []job.Count{{ThreadClass: job.ThreadClass{State: "wait_mpi",
				Where: []job.Site{"app+36", "MPI_Allreduce"}}, Threads: 1}},
		}
		if r == ranks/2 {
			k = job.Kind{Condition: job.Stopped}
		}
		p.Add(job.Answer{
			Rank: r, Size: ranks, Kind: k, Member: job.Member{Host: name + fmt.Sprint(r/8), PID: r + 1, Peer: -1},
			Names: map[job.Site]job.Name{"app+36": {Function: name, File: "hang.c", Line: 36}},
		})
	}
	p.Explain(job.Answer{Rank: ranks / 2}, []string{"DEADLOCK  " + name})
	p.Lose(name, "no route to host")
	return p.Report("123456")
}

// TestJob checks the parts of a job's page, and that they name the faulty ranks.
func TestJob(t *testing.T) {
	page := drawJob(t, hungJob(10_000, "solve"))
	balanced(t, "job", page)
	for _, want := range []string{
		"<title>HANG: job 123456</title>", "10000 ranks on 1250 hosts", "for rank 5000, which is stopped",
		"solve hang.c:36 › MPI_Allreduce(solve, MPI_COMM_WORLD)", "DEADLOCK  solve", "no route to host",
		"ompd-inspect job 123456 --rank 5000", "0-4999,5001-9999", `<rect class="wait" x="0" width="119"`,
		"default-src &#39;none&#39;; base-uri",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, wrong := range []string{"http:", "https:", "src=", " style=", "connect-src"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	if empty := drawJob(t, job.NewPart().Report("j")); !strings.Contains(empty, "No sign of a hang") {
		t.Error("a job of which nothing is known has no page")
	}
}

// TestJobHostile checks that text from a node remains text.
func TestJobHostile(t *testing.T) {
	const evil = "</script></style></title><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\x1b[31m"
	r := hungJob(20, evil)
	r.Verdicts[0].Severity, r.Verdicts[0].Certainty = picture.Severity(evil), picture.Certainty(evil)
	page := drawJob(t, r)
	balanced(t, "hostile job", page)
	if n := strings.Count(page, "<script"); n != 1 || strings.Contains(page, "<img") ||
		strings.ContainsAny(page, "\x1b\u202e") || strings.Count(page, "alert(1)") < 8 {
		t.Errorf("%d scripts, or names are not there as text:\n%s", n, page)
	}
}
