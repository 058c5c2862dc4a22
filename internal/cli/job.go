package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Times of a job: when people are told how far it is, and when they get what is there.
const (
	jobPartial = 5 * time.Second
	jobTimeout = 10 * time.Second
	// rankTimeout is how long one look at one rank may take.
	rankTimeout = 5 * time.Second
)

// defaultVia reaches a host.
const defaultVia = "ssh -o BatchMode=yes {host}"

// jobPlaces are the flags that say where ranks are.
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

// jobOptions are the flags of job.
type jobOptions struct {
	jobPlaces
	timeout  time.Duration
	early    time.Duration // when to show what has come, beside the page
	limit    time.Duration // for one look at one rank
	interval time.Duration
	jobs     int
	sample   int
	rank     int
	perRank  string
	watch    bool // show who made progress
}

// jobRun is one run of job or job-node.
type jobRun struct{ *app }

// jobVerb shows a job of many ranks on one page.
func jobVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1}
	cmd := &cobra.Command{
		Use:   "job SLURM-JOB | job CORE... | job --mpirun PID | job --hosts A,B | job --pods SELECTOR",
		Short: "A job of many ranks of MPI on one page: who is different, and who waits for whom",
		Long: `Looks at all ranks of an MPI job, or at cores of its ranks, and shows one page: verdicts
over ranks, and classes of ranks and threads that are at the same place. Ranks are
looked at twice, so that those that make progress are known, and a few of them a third
time in detail. Nothing is installed: srun, ssh, clush or kubectl run this program on
the nodes (docs/jobs.md).

  ompd-inspect job 123456               a job of Slurm, from where srun works
  ompd-inspect job --mpirun PID         what an mpirun or mpiexec on this machine started
  ompd-inspect job --hosts n1,n2        all ranks of this user on these hosts
  ompd-inspect job --pods app=solver    the same of pods, by their labels
  ompd-inspect job core.*               cores of ranks
  ompd-inspect job 123456 --rank 4217   the report of one rank
  ompd-inspect job watch 123456         which ranks make progress

Exit status: 0 no hang was found, 3 a hang or a crash, 1 no rank could be read, 2 wrong usage.`,
		RunE: func(cmd *cobra.Command, args []string) error { return (&jobRun{a}).job(cmd.Context(), args, o) },
	}
	cmd.ValidArgsFunction = completeCores
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&o.sample, "sample", 0, "look at so many cores only, evenly chosen; 0 for all")
	f.IntVar(&o.rank, "rank", -1, "show the report of this rank")
	f.StringVar(&o.perRank, "per-rank", "",
		"also write the picture of each rank into this directory, as JSON")
	a.htmlFlag(cmd)
	a.outputFlags(cmd)
	cmd.AddCommand(jobWatchVerb(a))
	return cmd
}

// flags adds the flags that say where the ranks are and how they are looked at.
func (o *jobOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.mpirun, "mpirun", 0, "the job that this process of mpirun or mpiexec started")
	f.StringSliceVar(&o.hosts, "hosts", nil, "hosts to look at, separated by commas")
	f.StringVar(&o.hostfile, "hostfile", "", "file with a host on each line; what follows the name is ignored")
	f.StringVar(&o.pods, "pods", "", "label selector of the pods to look at")
	f.StringVar(&o.job, "job", "", "of hosts and pods: only the job that its launcher calls so")
	f.StringVar(&o.via, "via", "", "command that runs another on {host}; without it "+defaultVia)
	f.StringVar(&o.tool, "tool", "", "path of this program on the nodes; without it, its path here")
	f.BoolVar(&o.send, "send", false, "send this program to the nodes (pods get it always)")
	f.DurationVar(&o.timeout, "timeout", jobTimeout, "when to show what has come by then; 0 to wait for all")
	f.DurationVar(&o.early, "early", jobPartial,
		"when to show on the standard error the page of what has come by then; 0 for never")
	f.DurationVar(&o.limit, "rank-timeout", rankTimeout, "how long one look at one rank may take; 0 for any time")
	f.DurationVar(&o.interval, "interval", time.Second, "time between the two looks at each rank, 0 for one look")
	f.IntVarP(&o.jobs, "jobs", "j", runtime.GOMAXPROCS(0),
		"ranks or cores of one machine that are looked at at a time")
}

// jobName matches the name of a job of Slurm, or of a step of one.
var jobName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`) })

// job shows a job.
func (a *jobRun) job(ctx context.Context, args []string, o *jobOptions) error {
	if err := a.here("job"); err != nil {
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
	if o.early > 0 && s.hurries() {
		early := time.AfterFunc(o.early, func() { a.showEarly(g, s, o.early) })
		defer early.Stop()
	}
	err = s.gather(look, a, o, g)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.resolve(a.open.session())
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
		return a.printProgress(r, s.next())
	}
	return a.printJob(r, s.next())
}

// noRank is the error of a job of which nothing could be read.
func noRank(s jobSource, r *job.Report, err error) error {
	switch {
	case err != nil:
		return err
	case len(r.Missing) > 0:
		return fmt.Errorf("no rank of %s could be read: %s: %s", s.name(), cmp.Or(r.Missing[0].Host, "it"),
			r.Missing[0].Reason)
	}
	return fmt.Errorf("no rank of %s was found: a rank is a process of this user with a variable of MPI in its "+
		"environment, such as PMI_RANK; `ompd-inspect ps` shows the processes of this machine", s.name())
}

// printJob prints the page, and ends with its exit status.
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

// jobLook are the options of looks at ranks.
func (a *jobRun) jobLook(o *jobOptions) jobs.Options {
	look := jobs.Options{
		Open: a.open.session(), Budget: a.budget, Interval: o.interval, Jobs: o.jobs, Limit: o.limit,
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

// withoutPictures is what a node sent without the pictures of ranks in it, which are written if
// the user asked for them.
func (a *jobRun) withoutPictures(o *jobOptions, p *job.Part) *job.Part {
	for rank, text := range p.TakePictures() {
		if o.perRank == "" {
			continue
		}
		pic := &picture.Picture{}
		err := json.Unmarshal(text, pic)
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
