package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/report"
	"github.com/ompd-inspect/ompd-inspect/job"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// remoteJob are ranks on nodes, which somebody else's command reaches.
type remoteJob struct {
	asked    string
	nodes    []jobs.Node
	slurm    string // job of Slurm, whose nodes are asked for first
	pods     string // label selector, likewise
	launcher string // name of the job as its launcher has it; empty for any
}

func (r remoteJob) name() string  { return r.asked }
func (r remoteJob) next() string  { return r.asked }
func (r remoteJob) hurries() bool { return true }

// atOnce is how many commands for hosts run at a time.
const atOnce = 64

func (r remoteJob) gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error {
	list, err := r.errands(ctx, a, o, g)
	if err != nil {
		return err
	}
	run := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for _, e := range list {
		group.Go(func() {
			run <- struct{}{}
			defer func() { <-run }()
			if err := e.Run(ctx, g.add); err != nil {
				g.lose(e.Host, err.Error())
			}
		})
	}
	group.Wait()
	r.absent(g)
	return nil
}

// absent notes the ranks that no node has: they are gone, if all nodes answered.
func (r remoteJob) absent(g *gathering) {
	rep := g.report("")
	p := job.NewPart()
	k := job.Kind{Condition: job.Gone, Why: "no process of it was found on any node"}
	if len(rep.Missing) > 0 {
		k = job.Kind{Condition: job.Silent, Why: "no node that answered has it"}
	}
	for rank := range min(rep.Ranks, job.MaxRanks) {
		if !g.all.Ranks().Has(rank) {
			p.Add(job.Answer{Rank: rank, Kind: k, Member: job.Member{Peer: -1}})
		}
	}
	g.add(p)
}

// errands are the commands to run, and who cannot be asked is noted.
func (r remoteJob) errands(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) ([]jobs.Errand, error) {
	nodes, err := r.nodes, error(nil)
	switch {
	case r.slurm != "":
		nodes, err = jobs.SlurmNodes(ctx, r.slurm)
	case r.pods != "":
		nodes, err = jobs.Pods(ctx, r.pods)
	}
	if err != nil {
		return nil, err
	}
	remote, err := r.words(a, o)
	if err != nil {
		return nil, err
	}
	var alive []string
	for _, n := range nodes {
		if n.Dead != "" {
			g.lose(n.Name, n.Dead)
			continue
		}
		alive = append(alive, n.Name)
	}
	if len(alive) == 0 {
		return nil, errors.New("no node of " + r.asked + " can be asked: " + nodes[0].Name + ": " + nodes[0].Dead)
	}
	if r.slurm != "" && o.via == "" {
		return []jobs.Errand{jobs.Srun(r.slurm, alive, remote)}, nil
	}
	via := defaultVia
	if r.pods != "" {
		via = "kubectl exec -i {host} --"
	}
	var list []jobs.Errand
	for _, host := range alive {
		e, err := jobs.Via(cmp.Or(o.via, via), host, remote)
		if err != nil {
			return nil, usageError{err}
		}
		list = append(list, e)
	}
	return list, nil
}

// words are what is to run on the nodes.
func (r remoteJob) words(a *jobRun, o *jobOptions) (jobs.Remote, error) {
	own, err := toolPath()
	if err != nil {
		return jobs.Remote{}, err
	}
	args := []string{"job-node", "--interval", o.interval.String(), "--budget", a.budget.String()}
	if r.slurm != "" {
		args = append(args, "--slurm", r.slurm)
	}
	if name := cmp.Or(o.job, r.launcher); name != "" {
		args = append(args, "--job", name)
	}
	if o.rank >= 0 {
		args = append(args, "--rank", strconv.Itoa(o.rank))
		if a.json {
			args = append(args, "--json")
		}
	}
	remote := jobs.Remote{Tool: cmp.Or(o.tool, own), Args: args}
	if o.send || r.pods != "" && o.tool == "" {
		remote.Send = own
	}
	return remote, nil
}

// showRank has the node of one rank print its report.
func (r remoteJob) showRank(ctx context.Context, a *jobRun, o *jobOptions) error {
	g := &gathering{all: job.NewPart()}
	list, err := r.errands(ctx, a, o, g)
	if err != nil {
		return err
	}
	printed := &counter{to: a.Stdout}
	var last error
	for _, e := range list {
		cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
		cmd.Stdout = printed
		if e.Send != "" {
			f, err := os.Open(e.Send)
			if err != nil {
				return err
			}
			defer f.Close()
			cmd.Stdin = f
		}
		if err := cmd.Run(); err != nil {
			last = fmt.Errorf("%s: %w", e.Host, err)
		}
		if printed.n > 0 {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("rank %d of %s was not found", o.rank, r.asked), last)
}

// counter counts what is written.
type counter struct {
	to *os.File
	n  int
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.to.Write(p)
}

// jobNodeVerb looks at the ranks of this node for job.
func jobNodeVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1}
	var filter jobs.Filter
	cmd := &cobra.Command{
		Use: "job-node", Short: "What job runs on each node: looks at its ranks, and writes what it finds as lines",
		Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return (&jobRun{a}).jobNode(cmd.Context(), filter, o) },
	}
	f := cmd.Flags()
	f.StringVar(&filter.Slurm, "slurm", "", "ranks of this job of Slurm")
	f.StringVar(&filter.Job, "job", "", "ranks of the job that its launcher calls so")
	f.DurationVar(&o.interval, "interval", 0, "time between the two looks at each rank")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "ranks that are looked at at a time; 0 for half of the processors")
	f.DurationVar(&o.timeout, "timeout", nodeTimeout, "when to end; 0 for never")
	f.IntVar(&o.rank, "rank", -1, "print the report of this rank")
	return cmd
}

// politeness is the priority of looks on nodes: the job's work comes first.
const politeness = 10

// jobNode looks at the ranks of this machine and writes parts as lines.
func (a *jobRun) jobNode(ctx context.Context, filter jobs.Filter, o *jobOptions) error {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, politeness)
	a.open.noDebuginfod = true // a thousand nodes would ask at once
	list := jobs.Find(filter)
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
	if names := jobs.Jobs(list); len(names) > 1 {
		host, _ := os.Hostname()
		const words = "it has ranks of %d jobs (%s): choose one by --job"
		n.waiting.Lose(host, fmt.Sprintf(words, len(names), strings.Join(names, ", ")))
		list = nil
	}
	n.flush() // a node without ranks answers, too
	look := a.jobLook(o)
	look.Jobs = cmp.Or(o.jobs, halfOfProcessors())
	jobs.Look(ctx, list, look, n.add)
	n.flush()
	return n.err
}

// showWhole shows the whole report.
func (a *jobRun) showWhole(answer *session.Answer) error {
	return a.print(answer.Picture, report.Whole)
}
