package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// linesPerLook is in how many lines a node tells of one look at its ranks.
const linesPerLook = 4

// halfOfProcessors leaves the other half to the ranks.
func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// nodeParts writes parts as lines, several ranks in each.
type nodeParts struct {
	out     io.Writer
	waiting *job.Part
	count   int
	every   int        // ranks in a line
	mu      sync.Mutex // of what follows, and the order of lines
	err     error
}

// add takes a part, and writes a line now and then.
func (n *nodeParts) add(p *job.Part) {
	n.waiting.Merge(p)
	if n.count++; n.count%n.every == 0 {
		n.flush()
	}
}

// flush writes what was not written yet.
func (n *nodeParts) flush() {
	n.write(n.waiting)
	n.waiting = job.NewPart()
}

// write writes a part as a line.
func (n *nodeParts) write(p *job.Part) { n.line(p.Encode()) }

// line writes a line, unless there was an error.
func (n *nodeParts) line(line []byte, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		_, err = n.out.Write(line)
	}
	if n.err == nil {
		n.err = err
	}
}

// picture writes the picture of a rank, in a line of its own: several goroutines call it.
func (n *nodeParts) picture(rank int, pic *picture.Picture) {
	p := job.NewPart()
	text, err := json.Marshal(pic)
	var line []byte
	if err == nil {
		p.Show(rank, text)
		line, err = p.Encode()
	}
	if err == nil {
		n.line(line, nil)
		return
	}
	lost := job.NewPart() // the rank is on the page without it
	lost.Lose(nodeName(), fmt.Sprintf("it answered, but could not send the picture of rank %d: %v", rank, err))
	n.write(lost)
}

// nodeOptions are the flags of job-node.
type nodeOptions struct {
	jobOptions
	filter jobs.Filter
	detail job.Set
	sent   bool
	show   bool // send the picture of each rank, too
}

// jobNodeVerb looks at the ranks of this node for job.
func jobNodeVerb(a *app) *cobra.Command {
	o := &nodeOptions{jobOptions: jobOptions{rank: -1}}
	cmd := &cobra.Command{
		Use: "job-node", Short: "What job runs on each node: looks at its ranks, and writes what it finds as lines",
		Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return (&jobRun{a}).jobNode(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.filter.Slurm, "slurm", "", "ranks of this job of Slurm")
	f.StringVar(&o.filter.Job, "job", "", "ranks of the job that its launcher calls so")
	f.DurationVar(&o.interval, "interval", 0, "time between the two looks at each rank")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "ranks that are looked at at a time; 0 for half of the processors")
	f.DurationVar(&o.timeout, "timeout", nodeTimeout, "when to end; 0 for never")
	f.DurationVar(&o.limit, "rank-timeout", rankTimeout, "how long one look at one rank may take; 0 for any time")
	f.IntVar(&o.rank, "rank", -1, "print the report of this rank")
	f.TextVar(&o.detail, "detail", job.Set{}, "look at these ranks only, with all debug information")
	f.BoolVar(&o.show, "pictures", false, "send the picture of each rank, too")
	f.BoolVar(&o.sent, "sent", false, "this program's file was sent for this one run: remove it")
	return cmd
}

// politeness is the priority of looks on nodes: the job's work comes first. But ranks that wait in
// MPI keep all processors of a node busy, and a look has to end in seconds beside them.
const politeness = 5

// bePolite gives all threads of this process a low priority, which those that begin later have
// from them.
func bePolite() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, politeness)
		}
	}
}

// removeSelf removes the file of this program, if it is one that job has sent.
func removeSelf() {
	path, err := toolPath()
	if err == nil && strings.HasPrefix(path, filepath.Join(jobs.SentDir, jobs.SentName)) {
		_ = os.Remove(path)
	}
}

// nodeName is what this node is called: by Slurm, or by itself.
func nodeName() string {
	host, _ := os.Hostname()
	return cmp.Or(os.Getenv("SLURMD_NODENAME"), host)
}

// jobNode looks at the ranks of this machine and writes parts as lines.
func (a *jobRun) jobNode(ctx context.Context, o *nodeOptions) error {
	bePolite()
	if o.sent {
		removeSelf()
	}
	a.open.noDebuginfod = true // a thousand nodes would ask at once
	list := jobs.Find(o.filter)
	if o.rank >= 0 {
		for _, p := range list {
			if p.Rank.Rank == o.rank {
				return a.see(strconv.Itoa(p.PID), session.Report(), a.showWhole)
			}
		}
		return nil
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	n := &nodeParts{out: a.Stdout, waiting: job.NewPart(), every: max(1, len(list)/linesPerLook)}
	n.waiting.Hear(nodeName())
	if names := jobs.Jobs(list); len(names) > 1 {
		const words = "it has ranks of %d jobs (%s): choose one by --job"
		n.waiting.Lose(nodeName(), fmt.Sprintf(words, len(names), strings.Join(names, ", ")))
		list = nil
	}
	n.flush() // a node without ranks answers, too
	look := a.jobLook(&o.jobOptions)
	look.Jobs = cmp.Or(o.jobs, halfOfProcessors())
	if o.show {
		look.Picture = n.picture
	}
	if o.detail.Len() > 0 {
		list = slices.DeleteFunc(list, func(p jobs.Process) bool { return !o.detail.Has(p.Rank.Rank) })
		jobs.Detail(ctx, list[:min(len(list), jobs.MaxDetail)], look, n.add)
	} else {
		jobs.Look(ctx, list, look, n.add)
	}
	n.flush()
	return n.err
}

// showWhole shows the whole report.
func (a *jobRun) showWhole(answer *session.Answer) error {
	return a.print(answer.Picture, report.Whole)
}

// nodeTimeout is what a node may take for its ranks, if nobody waits longer.
const nodeTimeout = 30 * time.Second

// nodeTimeout is what the nodes may take for their ranks.
func (o *jobOptions) nodeTimeout() time.Duration {
	if o.timeout == 0 {
		return 0
	}
	return max(o.timeout, nodeTimeout)
}
