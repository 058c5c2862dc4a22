package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
)

// remoteJob is a job on other nodes, which an external command reaches.
type remoteJob struct {
	asked    string
	args     string // arguments that name the same job
	nodes    []jobs.Node
	slurm    string // Slurm job with the nodes to list first
	pods     string // label selector of the pods, which are listed first
	launcher string // name of the job for its launcher; empty for any
}

func (r remoteJob) name() string      { return r.asked }
func (r remoteJob) arguments() string { return r.args }
func (r remoteJob) hurries() bool     { return true }

// atOnce is the number of commands for hosts that run in parallel.
const atOnce = 64

func (r remoteJob) gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error {
	nodes, err := r.liveNodes(ctx, g)
	if err != nil {
		return err
	}
	remote, err := r.command(a, o)
	if err != nil {
		return err
	}
	list, err := r.errands(nodes, o, remote)
	if err != nil {
		return err
	}
	runAll(list, func(e jobs.Errand) {
		err := e.Run(ctx, func(p *job.Part) { g.addFrom(e.Host, a.withoutPictures(o, p)) })
		if err != nil && !r.blame(g, nodes, err) {
			g.lose(e.Host, err.Error())
		}
	})
	r.recordAbsent(g)
	return nil
}

// runAll runs errands, atOnce in parallel.
func runAll(list []jobs.Errand, run func(jobs.Errand)) {
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for _, e := range list {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			run(e)
		})
	}
	group.Wait()
}

// blame records the nodes of a failed errand that did not answer, and reports whether there are any. Nodes that
// answered have sent their names.
func (r remoteJob) blame(g *gathering, nodes []string, err error) bool {
	if r.slurm == "" {
		return false
	}
	silent := slices.DeleteFunc(slices.Clone(nodes), g.hasAnswered)
	for _, n := range silent {
		g.lose(n, err.Error())
	}
	return len(silent) > 0
}

// detail implements jobSource. It asks the hosts of the errands that brought the ranks.
func (r remoteJob) detail(ctx context.Context, a *jobRun, o *jobOptions, g *gathering, list []job.Where) {
	var ranks job.Set
	var nodes []string
	for _, w := range list {
		ranks.Add(w.Rank)
		if r.slurm != "" && !slices.Contains(nodes, w.Host) && g.hasAnswered(w.Host) {
			nodes = append(nodes, w.Host)
		}
	}
	if r.slurm == "" {
		nodes = g.hostsOf(ranks)
	}
	remote, err := r.command(a, o)
	if err != nil || len(nodes) == 0 {
		return
	}
	remote.Args = append(remote.Args, "--detail", ranks.String())
	errands, err := r.errands(nodes, o, remote)
	if err != nil {
		return
	}
	// a host that does not answer now has answered before, which still counts
	runAll(errands, func(e jobs.Errand) {
		_ = e.Run(ctx, func(p *job.Part) { g.add(a.withoutPictures(o, p)) })
	})
}

// recordAbsent records the ranks that no node has. They are gone if all nodes answered.
func (r remoteJob) recordAbsent(g *gathering) {
	rep := g.report("")
	p := job.NewPart()
	k := job.Kind{Condition: job.Gone, Why: "it has no process on any node"}
	if len(rep.Missing) > 0 {
		k = job.Kind{Condition: job.Silent, Why: "no node that answered has it"}
		if len(rep.Missing) == 1 && rep.Missing[0].Host != "" {
			k.Why = "no node that answered has it, and " + rep.Missing[0].Host + " did not answer"
		}
	}
	for rank := range min(rep.Ranks, job.MaxRanks) {
		if !g.all.Ranks().Contains(rank) {
			p.Add(job.Answer{Rank: rank, Kind: k, Member: job.Member{Peer: -1}})
		}
	}
	g.add(p)
}

// liveNodes returns the nodes that can be asked, and records the others as lost.
func (r remoteJob) liveNodes(ctx context.Context, g *gathering) (liveNodes []string, err error) {
	nodes := r.nodes
	switch {
	case r.slurm != "":
		nodes, err = jobs.SlurmNodes(ctx, r.slurm)
	case r.pods != "":
		nodes, err = jobs.Pods(ctx, r.pods)
	}
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.Dead != "" {
			g.lose(n.Name, n.Dead)
			continue
		}
		liveNodes = append(liveNodes, n.Name)
	}
	if len(liveNodes) == 0 {
		return nil, errors.New("no node of " + r.asked + " can be asked: " + nodes[0].Name + ": " + nodes[0].Dead)
	}
	return liveNodes, nil
}

// errands returns the commands that run something on nodes.
func (r remoteJob) errands(nodes []string, o *jobOptions, remote jobs.Remote) (list []jobs.Errand, err error) {
	if r.slurm != "" && o.via == "" {
		return []jobs.Errand{jobs.Srun(r.slurm, nodes, remote)}, nil
	}
	via := defaultVia
	if r.pods != "" {
		via = "kubectl exec -i {host} --"
	}
	for _, host := range nodes {
		e, err := jobs.Via(cmp.Or(o.via, via), host, remote)
		if err != nil {
			return nil, usageError{err}
		}
		list = append(list, e)
	}
	return list, nil
}

// command returns the command to run on the nodes.
func (r remoteJob) command(a *jobRun, o *jobOptions) (jobs.Remote, error) {
	own, err := toolPath()
	if err != nil {
		return jobs.Remote{}, err
	}
	args := []string{
		"job-node", "--interval", o.interval.String(), "--budget", a.budget.String(),
		"--rank-timeout", o.limit.String(), "--timeout", o.nodeTimeout().String(),
	}
	if r.slurm != "" {
		args = append(args, "--slurm", r.slurm)
	}
	if o.perRank != "" {
		args = append(args, "--pictures")
	}
	if p := o.profile; p != nil {
		args = append(args, "--profile", p.For.String(), "--samples", strconv.Itoa(p.Samples))
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
	if o.send && r.slurm != "" && o.via == "" {
		args = append(args, "--sent") // srun leaves the file there
	}
	remote := jobs.Remote{Tool: cmp.Or(o.tool, own), Args: args}
	if o.send || r.pods != "" && o.tool == "" {
		remote.Send = own
	}
	return remote, nil
}

// showRank makes the node of one rank print its report.
func (r remoteJob) showRank(ctx context.Context, a *jobRun, o *jobOptions) error {
	nodes, err := r.liveNodes(ctx, newGathering())
	if err != nil {
		return err
	}
	remote, err := r.command(a, o)
	if err != nil {
		return err
	}
	list, err := r.errands(nodes, o, remote)
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

// counter counts the bytes written to it.
type counter struct {
	to *os.File
	n  int
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.to.Write(p)
}
