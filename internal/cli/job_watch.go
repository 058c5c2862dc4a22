package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// jobWatchVerb returns the verb `job watch`.
func jobWatchVerb(a *app) *cobra.Command {
	o := &jobOptions{rank: -1, watch: true}
	cmd := &cobra.Command{
		Use:   "watch SLURM-JOB | watch --mpirun PID | watch --hosts A,B | watch --pods SELECTOR",
		Short: "Take two snapshots of a job's ranks and show which ranks made progress",
		Long: `Takes two snapshots of all ranks of a job and shows which ranks made progress between them,
and where the others are. A rank makes progress if a thread of the program passes a barrier,
changes its task, region or stack, or computes. The work of MPI while it waits is not
progress: a rank that polls in one MPI call has not moved.

Exit status: 0 at least one rank made progress, 3 none did, 5 that is not known; 1 no rank
could be read, 2 wrong usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.interval <= 0 {
				return usageError{errors.New("--interval: two snapshots need some time between them")}
			}
			return (&jobRun{a}).job(cmd.Context(), args, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

// printProgress prints the ranks that made progress and the others, and returns the exit status for that.
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
