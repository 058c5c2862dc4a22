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

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// linesPerLook is the number of lines in which a node sends one snapshot of its ranks.
const linesPerLook = 4

// halfOfProcessors returns half the number of processors. The other half remains for the ranks.
func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// nodeParts writes parts as lines, several ranks in each.
type nodeParts struct {
	out     io.Writer
	waiting *job.Part
	count   int
	every   int        // ranks per line
	mu      sync.Mutex // guards the fields below, and the order of lines
	err     error
}

// add adds a part, and writes a line after every n.every ranks.
func (n *nodeParts) add(p *job.Part) {
	n.waiting.Merge(p)
	if n.count++; n.count%n.every == 0 {
		n.flush()
	}
}

// flush writes the parts that are not yet written.
func (n *nodeParts) flush() {
	n.write(n.waiting)
	n.waiting = job.NewPart()
}

// write writes a part as a line.
func (n *nodeParts) write(p *job.Part) { n.line(p.Encode()) }

// line writes a line, unless a previous write failed.
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

// picture writes the picture of a rank, in a line of its own. Several goroutines may call it.
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
	lost := job.NewPart() // the page lists the rank without its picture
	lost.Lose(nodeName(), fmt.Sprintf("it answered, but could not send the picture of rank %d: %v", rank, err))
	n.write(lost)
}

// nodeOptions contains the flags of job-node.
type nodeOptions struct {
	jobOptions
	filter  jobs.Filter
	detail  job.Set
	sampled engine.ProfileOptions
	sent    bool
	show    bool // send the picture of each rank, too
}

// jobNodeVerb returns the hidden verb job-node, which job runs on each node.
func jobNodeVerb(a *app) *cobra.Command {
	o := &nodeOptions{jobOptions: jobOptions{rank: -1}}
	cmd := &cobra.Command{
		Use: "job-node", Short: "Inspect the ranks of this node for `ompd-inspect job`, and write the results as lines",
		Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return (&jobRun{a}).jobNode(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.filter.Slurm, "slurm", "", "only ranks of this Slurm job")
	f.StringVar(&o.filter.Job, "job", "", "only ranks of the job with this name of its launcher")
	f.DurationVar(&o.interval, "interval", 0, "time between the two snapshots of each rank")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "number of ranks that are inspected in parallel (0: half of the processors)")
	f.DurationVar(&o.timeout, "timeout", nodeTimeout, "time limit (0: none)")
	f.DurationVar(&o.limit, "rank-timeout", rankTimeout, "time limit of one snapshot of one rank (0: none)")
	f.IntVar(&o.rank, "rank", -1, "print the report of this rank")
	f.TextVar(&o.detail, "detail", job.Set{}, "inspect only these ranks, with all debug information")
	f.BoolVar(&o.show, "pictures", false, "also send the picture of each rank")
	f.DurationVar(&o.sampled.For, "profile", 0, "send profiles of the ranks, over this time (0: snapshots)")
	f.IntVar(&o.sampled.Samples, "samples", 0, "end profiles after this number of samples (0: no limit)")
	f.BoolVar(&o.sent, "sent", false, "remove the file of this program, which was copied for this run")
	return cmd
}

// niceness is the scheduling priority of this process on nodes: the job's work comes first. It is not lower,
// because ranks that wait in MPI keep all processors of a node busy, and a snapshot must finish in seconds next
// to them.
const niceness = 5

// lowerPriority sets the priority of all threads of this process to niceness. Threads that start later inherit
// it.
func lowerPriority() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, niceness)
		}
	}
}

// removeSelf removes the file of this program, if job has sent it.
func removeSelf() {
	path, err := toolPath()
	if err == nil && strings.HasPrefix(path, filepath.Join(jobs.SentDir, jobs.SentName)) {
		_ = os.Remove(path)
	}
}

// nodeName returns the name of this node: that of Slurm, else the host name.
func nodeName() string {
	host, _ := os.Hostname()
	return cmp.Or(os.Getenv("SLURMD_NODENAME"), host)
}

// jobNode inspects the ranks of this machine and writes parts as lines.
func (a *jobRun) jobNode(ctx context.Context, o *nodeOptions) error {
	lowerPriority()
	if o.sent {
		removeSelf()
	}
	a.open.noDebuginfod = true // a thousand nodes would query the server at once
	list := jobs.Find(o.filter)
	if o.rank >= 0 {
		for _, p := range list {
			if p.Rank.Rank == o.rank {
				return a.ask(strconv.Itoa(p.PID), engine.Report(), a.printReport)
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
	if o.sampled.For > 0 {
		o.sampled.Budget, o.profile, n.every = a.budget, &o.sampled, 1 // a line for each
	}
	n.waiting.Hear(nodeName())
	if names := jobs.Jobs(list); len(names) > 1 {
		const words = "it has ranks of %d jobs (%s): choose one by --job"
		n.waiting.Lose(nodeName(), fmt.Sprintf(words, len(names), strings.Join(names, ", ")))
		list = nil
	}
	n.flush() // a node without ranks answers, too
	look := a.lookOptions(&o.jobOptions)
	look.Jobs = cmp.Or(o.jobs, halfOfProcessors())
	if o.show {
		look.Picture = n.picture
	}
	if o.detail.Len() > 0 {
		list = slices.DeleteFunc(list, func(p jobs.Process) bool { return !o.detail.Contains(p.Rank.Rank) })
		jobs.Detail(ctx, list[:min(len(list), jobs.MaxDetail)], look, n.add)
	} else {
		o.inspect(ctx, list, look, n.add)
	}
	n.flush()
	return n.err
}

// printReport prints the whole report.
func (a *jobRun) printReport(answer *engine.Result) error {
	return a.print(answer.Picture, report.Whole)
}

// nodeTimeout is the time that a node may take for its ranks if --timeout is unset.
const nodeTimeout = 30 * time.Second

// nodeTimeout returns the time that the nodes may take for their ranks.
func (o *jobOptions) nodeTimeout() time.Duration {
	if o.timeout == 0 {
		return 0
	}
	limit := max(o.timeout, nodeTimeout)
	if o.profile != nil {
		limit += o.profile.For
	}
	return limit
}
