package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// watchVerb looks at a process several times.
func (a *app) watchVerb() *cobra.Command {
	interval, count := time.Second, 3
	cmd := &cobra.Command{
		Use: "watch PID", Short: "Several looks at a process: which threads, regions and tasks make progress",
		Long: `Looks at a process several times and shows what changed in between: which threads
moved, spun or did not run, what they used, which regions and tasks came and went.

The verdict is "progress" if a thread made progress: it passed a barrier, changed its
task, region, stack, registers or the words of its frames, another thread got the lock
that it waits for, or it recorded more than attempts to acquire one
(docs/recorder.md); "spinning" if threads used
processors and only waited, as a count of the runtime or their code proves; "no
progress" if none of them ran, or those that did wait for one that sleeps for a time
or waits for input, a signal or another process; "unknown" if threads ran, or had something to
do, and nothing shows whether they made progress.

Without progress, it ends with the cause: a verdict of a hang, or the threads that all
others wait for in the end, with what they do and the locks that they hold.

Exit status: 0 progress, 3 no progress, 4 spinning, 5 unknown; 1 the process
could not be read or has ended, 2 wrong usage.

With --json each look is one JSON document on a line of its own
(proto/watch.schema.json), the last one with the result.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case interval < watch.Interval:
				return usageError{fmt.Errorf("--interval %v: it is at least %v", interval, watch.Interval)}
			case count < 2:
				return usageError{fmt.Errorf("--count %d: a difference needs at least 2 looks", count)}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			return a.watch(ctx, args[0], interval, count)
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two looks")
	cmd.Flags().IntVar(&count, "count", count, "number of looks")
	return a.targeted(cmd)
}

// watch makes the looks and ends with the verdict as exit status.
func (a *app) watch(ctx context.Context, name string, interval time.Duration, count int) (err error) {
	t, err := a.openTarget(a.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var last *watch.Look
	var result *watch.Change
	for l, err := range t.Watch(ctx, interval, count) {
		switch {
		case errors.Is(err, session.ErrNotWatched):
			return usageError{fmt.Errorf("%s: %w", name, err)}
		case err != nil && ctx.Err() != nil && last != nil: // interrupted: the looks so far count
			continue
		case err != nil:
			return err
		}
		if last, result = l, l.Result; l.Number < count {
			l.Result = nil
		}
		if err := a.printLook(l); err != nil {
			return err
		}
	}
	if result == nil {
		return errInterrupted
	}
	if last.Result == nil {
		last.Result = result
		if err := a.printLook(last); err != nil {
			return err
		}
	}
	return watchStatus(result)
}

// printLook prints a look.
func (a *app) printLook(l *watch.Look) error {
	p, err := a.printer(a.Stdout)
	if err != nil {
		return err
	}
	return p.Look(l)
}

var errInterrupted = errors.New("interrupted before the second look: there is nothing to compare")

// watchStatus is the exit status for a result.
func watchStatus(r *watch.Change) error {
	switch r.Verdict {
	case watch.Stuck:
		return statusError(ExitStuck)
	case watch.Spinning:
		return statusError(ExitSpinning)
	case watch.Unknown:
		return statusError(ExitUnknown)
	}
	return nil
}
