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

// remoteJob are ranks on nodes, which somebody else's command reaches.
type remoteJob struct {
	asked    string
	again    string // what to type to ask the same
	nodes    []jobs.Node
	slurm    string // job of Slurm, whose nodes are asked for first
	pods     string // label selector, likewise
	launcher string // name of the job as its launcher has it; empty for any
}

func (r remoteJob) name() string  { return r.asked }
func (r remoteJob) next() string  { return r.again }
func (r remoteJob) hurries() bool { return true }

// atOnce is how many commands for hosts run at a time.
const atOnce = 64

func (r remoteJob) gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error {
	nodes, err := r.alive(ctx, g)
	if err != nil {
		return err
	}
	remote, err := r.words(a, o)
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
	r.absent(g)
	return nil
}

// runAll runs errands, some at a time.
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

// blame notes the nodes that did not answer, of an errand to many that failed, and reports
// whether there are some: nodes say their names.
func (r remoteJob) blame(g *gathering, nodes []string, err error) bool {
	if r.slurm == "" {
		return false
	}
	silent := slices.DeleteFunc(slices.Clone(nodes), g.heard)
	for _, n := range silent {
		g.lose(n, err.Error())
	}
	return len(silent) > 0
}

// detail implements jobSource: of the hosts whose errands brought the ranks.
func (r remoteJob) detail(ctx context.Context, a *jobRun, o *jobOptions, g *gathering, list []job.Where) {
	var ranks job.Set
	var nodes []string
	for _, w := range list {
		ranks.Add(w.Rank)
		if r.slurm != "" && !slices.Contains(nodes, w.Host) && g.heard(w.Host) {
			nodes = append(nodes, w.Host)
		}
	}
	if r.slurm == "" {
		nodes = g.whoBrought(ranks)
	}
	remote, err := r.words(a, o)
	if err != nil || len(nodes) == 0 {
		return
	}
	remote.Args = append(remote.Args, "--detail", ranks.String())
	errands, err := r.errands(nodes, o, remote)
	if err != nil {
		return
	}
	// Who does not answer now has answered before: that stands.
	runAll(errands, func(e jobs.Errand) {
		_ = e.Run(ctx, func(p *job.Part) { g.add(a.withoutPictures(o, p)) })
	})
}

// absent notes the ranks that no node has: they are gone, if all nodes answered.
func (r remoteJob) absent(g *gathering) {
	rep := g.report("")
	p := job.NewPart()
	k := job.Kind{Condition: job.Gone, Why: "no process of it was found on any node"}
	if len(rep.Missing) > 0 {
		k = job.Kind{Condition: job.Silent, Why: "no node that answered has it"}
		if len(rep.Missing) == 1 && rep.Missing[0].Host != "" {
			k.Why = "no node that answered has it, and " + rep.Missing[0].Host + " did not answer"
		}
	}
	for rank := range min(rep.Ranks, job.MaxRanks) {
		if !g.all.Ranks().Has(rank) {
			p.Add(job.Answer{Rank: rank, Kind: k, Member: job.Member{Peer: -1}})
		}
	}
	g.add(p)
}

// alive are the nodes that can be asked; who cannot is noted.
func (r remoteJob) alive(ctx context.Context, g *gathering) (alive []string, err error) {
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
		alive = append(alive, n.Name)
	}
	if len(alive) == 0 {
		return nil, errors.New("no node of " + r.asked + " can be asked: " + nodes[0].Name + ": " + nodes[0].Dead)
	}
	return alive, nil
}

// errands are the commands that run something on nodes.
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

// words are what is to run on the nodes.
func (r remoteJob) words(a *jobRun, o *jobOptions) (jobs.Remote, error) {
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
		args = append(args, "--sent") // srun leaves it there
	}
	remote := jobs.Remote{Tool: cmp.Or(o.tool, own), Args: args}
	if o.send || r.pods != "" && o.tool == "" {
		remote.Send = own
	}
	return remote, nil
}

// showRank has the node of one rank print its report.
func (r remoteJob) showRank(ctx context.Context, a *jobRun, o *jobOptions) error {
	nodes, err := r.alive(ctx, newGathering())
	if err != nil {
		return err
	}
	remote, err := r.words(a, o)
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
