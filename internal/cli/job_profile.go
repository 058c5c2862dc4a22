package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// jobProfileFor is the default length of the profile of a job.
const jobProfileFor = 10 * time.Second

// jobProfileVerb returns the verb `job profile`.
func jobProfileVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1, profile: &engine.ProfileOptions{}}
	cmd := &cobra.Command{
		Use:   "profile SLURM-JOB | --mpirun PID | --hosts A,B | --pods SELECTOR",
		Short: "Show where the time of a job goes: Work and Wait, over all ranks",
		Long: `Samples all ranks of a job at the same time, and prints one profile of them: OpenMP Work and
OpenMP Wait by parallel region and line, as profile does for one process, and by rank. If a
rank works for longer than the others, which wait for it in MPI, the page names it.

All ranks are sampled for the time of --for; the page follows when their nodes have answered,
or at the latest when the time of --timeout is over, too.
Ctrl-C ends it early; ranks of other nodes are not on the page then.

Exit status: 0 the profile was printed, 1 no rank could be read, 2 wrong usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.profile.For <= 0:
				return usageError{fmt.Errorf("--for %v: the profile of a job needs a time", o.profile.For)}
			case o.profile.Samples < 0:
				return usageError{fmt.Errorf("--samples %d: it must not be negative", o.profile.Samples)}
			}
			if err := a.checkOutput(report.Profile); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			return (&jobRun{a}).profile(ctx, args, o)
		},
	}
	o.addFlags(cmd)
	for _, name := range []string{"interval", "early", "rank-timeout", "jobs"} {
		_ = cmd.Flags().MarkHidden(name) // of the other verbs
	}
	f := cmd.Flags()
	f.DurationVar(&o.profile.For, "for", jobProfileFor, "end after this time")
	f.IntVar(&o.profile.Samples, "samples", 0, "end after this number of samples of each rank (0: no limit)")
	a.htmlFlag(cmd)
	a.outputFlags(cmd)
	a.setView("job profile", report.Profile)
	return cmd
}

// profile shows the profile of a job.
func (a *jobRun) profile(ctx context.Context, args []string, o *jobOptions) error {
	if err := a.refuseRemote("job"); err != nil {
		return err
	}
	s, err := a.jobSource(args, o)
	if err != nil {
		return err
	}
	if _, ok := s.(coreJob); ok {
		return usageError{errors.New("cores do not run, so that they have no profile: name a job")}
	}
	a.note("profiling the job %s for %v", s.name(), o.profile.For)
	o.profile.Budget = a.budget
	limited := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, o.profile.For+o.timeout)
		defer cancel()
	}
	g := newGathering()
	err = s.gather(limited, a, o, g)
	ranks, lost := g.profiles()
	if len(ranks) == 0 {
		return noRank(s, g.report(s.name()), err)
	}
	if err != nil {
		lost = append(lost, err.Error())
	}
	p := profile.Merge(ranks, lost...)
	return a.printWith(a.Stdout, func(out report.Printer) error { return out.Profile(p) })
}

// profiles returns the profiles of the ranks, and what is missing.
func (g *gathering) profiles() (list []profile.Rank, lost []string) {
	for _, m := range g.report("").Missing {
		lost = append(lost, fmt.Sprintf("missing: %s: %s", m.Host, m.Reason))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	texts := g.all.TakePictures()
	for _, rank := range slices.Sorted(maps.Keys(texts)) {
		r := profile.Rank{Rank: rank, Profile: new(picture.Profile)}
		memory := budget.NewLedger(budget.DefaultMemory)
		if err := jsonx.Unmarshal(texts[rank], r.Profile, memory, "its content"); err != nil {
			lost = append(lost, fmt.Sprintf("the profile of rank %d: %v", rank, err))
			continue
		}
		if m, ok := g.all.Member(rank); ok {
			r.Host = m.Host
		}
		list = append(list, r)
	}
	return list, lost
}

// inspect inspects ranks of this machine: their profiles, or snapshots.
func (o *jobOptions) inspect(ctx context.Context, list []jobs.Process, look jobs.Options, emit func(*job.Part)) {
	if o.profile != nil {
		jobs.Profile(ctx, list, look, *o.profile, emit)
		return
	}
	jobs.Look(ctx, list, look, emit)
}
