package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Time limits of a job: the first sign of progress, and the page of the ranks that have answered.
const (
	jobPartial = 5 * time.Second
	jobTimeout = 10 * time.Second
	// limit of one snapshot of one rank
	rankTimeout = 5 * time.Second
)

// defaultVia is the command that reaches a host.
const defaultVia = "ssh -o BatchMode=yes {host}"

// jobPlaces contains the flags that name the places of ranks.
type jobPlaces struct {
	mpirun   int
	hosts    []string
	hostfile string
	pods     string
	job      string
	via      string
	tool     string
	send     bool
}

// jobOptions contains the flags of job.
type jobOptions struct {
	jobPlaces
	timeout  time.Duration
	early    time.Duration // when to show an interim page on the standard error
	limit    time.Duration // limit of one snapshot of one rank
	interval time.Duration
	jobs     int
	sample   int
	rank     int
	perRank  string
	watch    bool                   // show which ranks made progress
	profile  *engine.ProfileOptions // take profiles instead of snapshots; nil: do not
}

// jobRun is one run of job or job-node.
type jobRun struct{ *app }

// jobVerb returns the verb job.
func jobVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1}
	cmd := &cobra.Command{
		Use:   "job SLURM-JOB | job CORE... | job --mpirun PID | job --hosts A,B | job --pods SELECTOR",
		Short: "Summarize an MPI job: outlier ranks, and waits across ranks",
		Long: `Inspects all ranks of an MPI job, or core files of its ranks, and shows one page: verdicts
across ranks, and groups of ranks and threads that are at the same place. Each rank is
inspected twice, to find the ranks that make progress; a few of them a third time, in detail.
Nothing is installed on the nodes: srun, ssh, clush or kubectl run this program there
(docs/guide/jobs.md).

  ompd-inspect job 123456               a Slurm job, on a machine where srun works
  ompd-inspect job --mpirun PID         the ranks that an mpirun or mpiexec on this machine started
  ompd-inspect job --hosts n1,n2        all ranks of this user on these hosts
  ompd-inspect job --pods app=solver    all ranks in the pods with this label
  ompd-inspect job core.*               core files of ranks
  ompd-inspect job 123456 --rank 4217   the report of one rank
  ompd-inspect job watch 123456         the ranks that make progress, and the others
  ompd-inspect job profile 123456       where the time of all ranks goes

Exit status: 0 no hang was found, 3 a hang or a crash, 1 no rank could be read, 2 wrong usage.`,
		RunE: func(cmd *cobra.Command, args []string) error { return (&jobRun{a}).job(cmd.Context(), args, o) },
	}
	cmd.ValidArgsFunction = completeCores
	o.addFlags(cmd)
	f := cmd.Flags()
	f.IntVar(&o.sample, "sample", 0, "number of cores to inspect, evenly chosen (0: all)")
	f.IntVar(&o.rank, "rank", -1, "show the report of this rank")
	f.StringVar(&o.perRank, "per-rank", "",
		"also write the picture of each rank into this directory, as JSON")
	a.htmlFlag(cmd)
	a.outputFlags(cmd)
	cmd.AddCommand(jobWatchVerb(a), jobProfileVerb(a))
	return cmd
}

// addFlags adds the flags that name the ranks and the way to inspect them.
func (o *jobOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.mpirun, "mpirun", 0, "inspect the ranks that this mpirun or mpiexec process started")
	f.StringSliceVar(&o.hosts, "hosts", nil, "inspect the ranks on these hosts, separated by commas")
	f.StringVar(&o.hostfile, "hostfile", "", "file with one host per line; text after the name is ignored")
	f.StringVar(&o.pods, "pods", "", "inspect the ranks in the pods that match this label selector")
	f.StringVar(&o.job, "job", "", "with --hosts or --pods: only ranks of the job with this name of its launcher")
	f.StringVar(&o.via, "via", "", "command that runs another command on {host}; default: "+defaultVia)
	f.StringVar(&o.tool, "tool", "", "path of this program on the nodes; default: its path on this machine")
	f.BoolVar(&o.send, "send", false, "copy this program to the nodes first (always done for pods)")
	f.DurationVar(&o.timeout, "timeout", jobTimeout, "time after which the page is shown, without the ranks that "+
		"have not answered (0: wait for all)")
	f.DurationVar(&o.early, "early", jobPartial,
		"time after which an interim page is shown on the standard error (0: never)")
	f.DurationVar(&o.limit, "rank-timeout", rankTimeout, "time limit of one snapshot of one rank (0: none)")
	f.DurationVar(&o.interval, "interval", time.Second, "time between the two snapshots of each rank (0: one "+
		"snapshot only)")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "number of ranks or cores of one machine that are inspected in parallel (0: as "+
		"many as there are processors)")
}

// jobName matches the name of a Slurm job or job step.
var jobName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`) })

// job shows a job.
func (a *jobRun) job(ctx context.Context, args []string, o *jobOptions) error {
	if err := a.refuseRemote("job"); err != nil {
		return err
	}
	s, err := a.jobSource(args, o)
	if err != nil {
		return err
	}
	if o.rank >= 0 {
		return a.jobRank(ctx, s, o)
	}
	if o.perRank != "" {
		if err := os.MkdirAll(o.perRank, 0o700); err != nil {
			return err
		}
	}
	start := time.Now()
	g := newGathering()
	look := ctx
	if o.timeout > 0 && s.hurries() {
		var cancel context.CancelFunc
		look, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if o.early > 0 && s.hurries() && !a.quiet {
		early := time.AfterFunc(o.early, func() { a.showEarly(g, s, o.early) })
		defer early.Stop()
	}
	err = s.gather(look, a, o, g)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.resolve(a.open.engineOptions())
	if list := g.report("").Shown; look.Err() == nil && !o.watch {
		s.detail(look, a, o, g, list[:min(len(list), jobs.MaxDetail)])
	}
	r := g.report(s.name())
	r.Seconds, r.Partial = time.Since(start).Seconds(), look.Err() != nil
	if r.Answered.Len() == 0 {
		return noRank(s, r, err)
	}
	if err != nil {
		r.Missing = append(r.Missing, job.Lost{Reason: err.Error()})
	}
	if o.watch {
		return a.printProgress(r, s.arguments())
	}
	return a.printJob(r, s.arguments())
}

// maxReasons bounds the reasons that the error of a job without a readable rank gives.
const maxReasons = 4

// noRank returns the error of a job without a readable rank.
func noRank(s jobSource, r *job.Report, err error) error {
	name := strings.TrimPrefix(s.name(), "of ")
	switch {
	case err != nil:
		return err
	case len(r.Missing) > 0:
		var reasons []string
		for i, m := range r.Missing {
			if i == maxReasons {
				reasons = append(reasons, fmt.Sprintf("%d more", len(r.Missing)-i))
				break
			}
			reasons = append(reasons, cmp.Or(m.Host, "it")+": "+m.Reason)
		}
		in := "of " + name
		if c, ok := s.(coreJob); ok && len(c) > 1 {
			in = fmt.Sprintf("among %d cores", len(c))
		}
		return fmt.Errorf("no rank %s could be read: %s", in, strings.Join(reasons, "; "))
	}
	return fmt.Errorf("no rank of %s was found: a rank is a process of this user with a variable of MPI in its "+
		"environment, such as PMI_RANK; `ompd-inspect ps` shows the processes of this machine", name)
}

// printJob prints the page and returns the exit status for it.
func (a *jobRun) printJob(r *job.Report, next string) error {
	err := a.printWith(a.Stdout, func(p report.Printer) error { return p.Job(r, next) })
	if err != nil {
		return err
	}
	for _, v := range r.Verdicts {
		if v.Hangs() {
			return errFound
		}
	}
	return nil
}

// lookOptions returns the options of snapshots of ranks.
func (a *jobRun) lookOptions(o *jobOptions) jobs.Options {
	look := jobs.Options{
		Open: a.open.engineOptions(), Budget: a.budget, Interval: o.interval,
		Jobs: cmp.Or(o.jobs, runtime.GOMAXPROCS(0)), Limit: o.limit,
	}
	if o.perRank != "" {
		look.Picture = func(rank int, pic *picture.Picture) {
			if err := writePicture(o.perRank, rank, pic); err != nil {
				fmt.Fprintf(a.Stderr, "ompd-inspect: %v\n", err)
			}
		}
	}
	return look
}

// withoutPictures removes the pictures of ranks from a node's message. It writes them to files if the user
// asked for them.
func (a *jobRun) withoutPictures(o *jobOptions, p *job.Part) *job.Part {
	if o.profile != nil {
		return p // they are its profiles
	}
	for rank, text := range p.TakePictures() {
		if o.perRank == "" {
			continue
		}
		pic := &picture.Picture{}
		err := jsonx.Unmarshal(text, pic, budget.NewLedger(budget.DefaultMemory), "its content")
		if err == nil {
			err = writePicture(o.perRank, rank, pic)
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "ompd-inspect: the picture of rank %d: %v\n", rank, err)
		}
	}
	return p
}

// writePicture writes the picture of a rank as JSON into a directory.
func writePicture(dir string, rank int, pic *picture.Picture) (err error) {
	path := filepath.Join(dir, fmt.Sprintf("rank-%d.json", rank))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.WriteJSON(f, pic)
}
