package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// page returns the printed page of a job, in lines.
func page(t *testing.T, r *job.Report, width int) []string {
	t.Helper()
	var b strings.Builder
	p := New(&b, false, width)
	if Job(p, r, r.Job); p.Err() != nil {
		t.Fatal(p.Err())
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// TestJobPage checks that the first lines of a page name the faulty ranks, and that a job in which all ranks
// differ has a page of 50 lines.
func TestJobPage(t *testing.T) {
	ranks := 10_000
	p := job.NewPart()
	for r := range ranks {
		k := job.Kind{
			Program: "solver",
			Call:    &job.Call{Routine: "MPI_Allreduce", Communicator: "MPI_COMM_WORLD", Site: "app+36"},
			Threads: []job.Count{{ThreadClass: job.ThreadClass{State: "wait_mpi",
				Where: []job.Site{"app+36", "MPI_Allreduce"}}, Threads: 1}},
		}
		switch {
		case r == 4217:
			k = job.Kind{Program: "timeout", Condition: job.Stopped}
		case r%50 == 7:
			k.Threads = append(k.Threads, job.Count{ThreadClass: job.ThreadClass{State: "work",
				Where: []job.Site{job.Site(fmt.Sprint("app+", r))}}, Threads: 2})
		case r%1000 == 9:
			k = job.Kind{Condition: job.Silent, Why: strings.Repeat("the node did not answer in time ", 8)}
		}
		p.Add(job.Answer{
			Rank: r, Size: ranks, Kind: k, Member: job.Member{Host: fmt.Sprint("node", r/8), PID: r + 1, Peer: -1},
			Names: map[job.Site]job.Name{"app+36": {Function: "solve", File: "hang.c", Line: 36}},
		})
	}
	r := p.Report("123456")
	for _, width := range []int{NoLimit, 80, 200} {
		lines := page(t, r, width)
		if len(lines) > maxPage {
			t.Errorf("%d columns: %d lines, more than %d", width, len(lines), maxPage)
		}
		text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, want := range []string{
			"job 123456 10000 ranks on 1250 hosts", "9990 answered",
			"programs: timeout (rank 4217), solver (ranks 0-8,", "for rank 4217, which is stopped by a signal",
			"next: ompd-inspect job 123456 --rank 4217", "solve hang.c:36 > MPI_Allreduce(MPI_COMM_WORLD)",
			"more classes of 1 to 1 ranks", "no answer: node1 and 9 more (ranks 9,1009,2009,",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, strings.Join(lines, "\n"))
			}
		}
	}
}

// TestJobPageNarrow checks that a page that is too narrow for the classes still has their places and ranks.
func TestJobPageNarrow(t *testing.T) {
	p := job.NewPart()
	where := job.Site(strings.Repeat("long_name_", 5))
	for r := range 4 {
		k := job.Kind{Threads: []job.Count{{ThreadClass: job.ThreadClass{State: "wait_mpi", Where: []job.Site{where}},
			Threads: 1}}}
		if r == 3 {
			k.Threads[0].State = "work_serial"
		}
		p.Add(job.Answer{Rank: r, Size: 4, Kind: k, Member: job.Member{Peer: -1}})
	}
	for width, want := range map[int]string{
		85: string(where) + " ranks 0-2", 74: "at " + string(where) + ", ranks 0-2",
	} {
		lines := page(t, p.Report("j"), width)
		if text := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); !strings.HasSuffix(text, want) {
			t.Errorf("%d columns: no %q in\n%s", width, want, strings.Join(lines, "\n"))
		}
	}
}

// TestJobPageEscapes checks that names from a node cannot control the terminal.
func TestJobPageEscapes(t *testing.T) {
	p := job.NewPart()
	p.Add(job.Answer{Rank: 0, Kind: job.Kind{
		Program: "\x1b[3m", Condition: job.Crashed, Why: "\x1b]0;title\a",
		Finding: &job.Finding{Severity: picture.SeverityCrash, Certainty: picture.Certain, Summary: "\x1b[2J"},
	}, Member: job.Member{Host: "node\x1b[1m", Peer: -1}})
	p.Lose("other\x07", "\x1b[31m")
	if s := strings.Join(page(t, p.Report("j"), 80), "\n"); strings.ContainsAny(s, "\x1b\x07") {
		t.Errorf("%q", s)
	}
}

// TestJobProgress checks the ranks with progress, those without it and their places, and those with unknown
// progress.
func TestJobProgress(t *testing.T) {
	p := job.NewPart()
	for r, m := range []job.Movement{job.Still, job.Moved, job.Still, job.SeenOnce} {
		where := []job.Site{"solve", "MPI_Allreduce"}
		if m == job.Moved {
			where = []job.Site{"compute"}
		}
		k := job.Kind{Movement: m, Threads: []job.Count{
			{ThreadClass: job.ThreadClass{State: "wait_mpi", Where: where}, Threads: 1},
			{ThreadClass: job.ThreadClass{State: string(picture.StateIdle)}, Threads: 3},
		}}
		p.Add(job.Answer{Rank: r, Size: 4, Kind: k, Member: job.Member{Peer: -1}})
	}
	var b strings.Builder
	JobProgress(New(&b, false, NoLimit), p.Report("77"), "77")
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"1 rank made progress, 2 did not, of 1 it is not known", "yes 1 wait_mpi compute 1",
		"no 2 wait_mpi solve > MPI_Allreduce 0,2", "not known 1 wait_mpi solve > MPI_Allreduce 3",
		"next: ompd-inspect job 77",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(text, "idle") {
		t.Errorf("idle threads are listed:\n%s", b.String())
	}
}
