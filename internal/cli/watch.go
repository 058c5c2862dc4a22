package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// watchVerb returns the verb watch.
func (a *app) watchVerb() *cobra.Command {
	interval, count := time.Second, 3
	cmd := &cobra.Command{
		Use: "watch PID", Short: "Take several snapshots of a process and show whether it makes progress",
		Long: `Takes several snapshots of a process and shows the changes between them: which threads
moved, spun or did not run, their CPU time, and which regions and tasks started and ended.

The verdict is one of:

  progress     a thread made progress: it passed a barrier, changed its task, region,
               stack, registers or the words of its frames, another thread got the lock
               that it waits for, or it recorded more than attempts to acquire a lock
               (docs/guide/recorder.md)
  spinning     threads used CPU time and only waited, as a counter of the runtime or
               their code proves
  no progress  no thread ran, or those that ran wait for a thread that sleeps for a time
               or waits for input, a signal or another process
  unknown      threads ran, or had something to do, and there is no evidence whether they
               made progress

Without progress, it prints the cause: a verdict of a hang, or the threads that all others
wait for directly or indirectly, with their activity and the locks that they hold.

Exit status: 0 progress, 3 no progress, 4 spinning, 5 unknown; 1 the process
could not be read or has ended, 2 wrong usage.

With --json each snapshot is one JSON document on a line of its own
(proto/watch.schema.json); the last one contains the result.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case interval < watch.Interval:
				return usageError{fmt.Errorf("--interval %v: it must be at least %v", interval, watch.Interval)}
			case count < 2:
				return usageError{fmt.Errorf("--count %d: it must be at least 2", count)}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			return a.watch(ctx, args[0], interval, count)
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two snapshots")
	cmd.Flags().IntVar(&count, "count", count, "number of snapshots")
	return a.targeted(cmd)
}

// watch takes the snapshots and returns the verdict as exit status.
func (a *app) watch(ctx context.Context, name string, interval time.Duration, count int) (err error) {
	t, err := a.openTarget(a.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var last *picture.Look
	var result *picture.Change
	for l, err := range t.Watch(ctx, interval, count) {
		switch {
		case errors.Is(err, engine.ErrNotWatched):
			return usageError{fmt.Errorf("%s: %w", name, err)}
		case err != nil && ctx.Err() != nil && last != nil: // interrupted: the snapshots so far count
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

// printLook prints a snapshot, unless --quiet is set.
func (a *app) printLook(l *picture.Look) error {
	if a.quiet {
		return nil
	}
	p, err := a.printer(a.Stdout)
	if err != nil {
		return err
	}
	return p.Look(l)
}

var errInterrupted = errors.New("interrupted before the second snapshot: there is nothing to compare")

// watchStatus returns the exit status for a result.
func watchStatus(r *picture.Change) error {
	switch r.Verdict {
	case picture.WatchStuck:
		return statusError(ExitStuck)
	case picture.WatchSpinning:
		return statusError(ExitSpinning)
	case picture.WatchUnknown:
		return statusError(ExitUnknown)
	}
	return nil
}
