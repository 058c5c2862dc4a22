package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// jobWatchVerb shows which ranks of a job make progress.
func jobWatchVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1, watch: true}
	cmd := &cobra.Command{
		Use:   "watch SLURM-JOB | watch --mpirun PID | watch --hosts A,B | watch --pods SELECTOR",
		Short: "Two looks at the ranks of a job: which of them make progress",
		Long: `Looks at all ranks of a job twice and shows which made progress meanwhile, and where the
others are. A rank makes progress if a thread of the program passes a barrier, changes its
task, region or stack, or computes. What MPI does while it waits is none: a rank that polls
in one call of MPI is where it was.

Exit status: 0 at least one rank made progress, 3 none did, 5 that is not known; 1 no rank
could be read, 2 wrong usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.interval <= 0 {
				return usageError{errors.New("--interval: two looks need some time between them")}
			}
			return (&jobRun{a}).job(cmd.Context(), args, o)
		},
	}
	o.flags(cmd)
	return cmd
}

// printProgress prints which ranks made progress, and ends with the exit status for that.
func (a *jobRun) printProgress(r *job.Report, next string) error {
	err := a.printWith(a.Stdout, func(p report.Printer) error { return p.Progress(r, next) })
	switch {
	case err != nil:
		return err
	case r.Moved.Len() > 0:
		return nil
	case r.Still.Len() > 0:
		return statusError(ExitStuck)
	}
	return statusError(ExitUnknown)
}
