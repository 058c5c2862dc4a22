package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// Exit statuses of watch beside those of all verbs.
const (
	exitStuck    = 3 // no progress
	exitSpinning = 4
	exitUnknown  = 5
)

// statusError ends the tool with an exit status and no message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// watchVerb looks at a process several times.
func (a *app) watchVerb() *cobra.Command {
	interval, count := time.Second, 3
	cmd := &cobra.Command{
		Use: "watch PID", Short: "Several looks at a process: which threads, regions and tasks get on", Args: oneTarget,
		Long: `Looks at a process several times and tells what changed in between: which threads
moved, spun or did not run, what they used, which regions and tasks came and went.

The verdict is "progress" if a thread got on: it passed a barrier, changed its
task, region or stack, or computed in the program's own code; "spinning" if
threads used processors in waits of the runtime, or in a loop of the program that
changes no register, and nothing else happened; "no progress" if none of them
ran; "unknown" if threads ran where they could not be seen without a stop.

Exit status: 0 progress, 3 no progress, 4 spinning, 5 unknown; 1 the process
could not be read or has ended, 2 wrong usage.

With --json each look is one JSON document on a line of its own
(proto/watch.schema.json), the last one with the result.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case interval < inspect.WatchInterval:
				return usageError{fmt.Errorf("--interval %v: it is at least %v", interval, inspect.WatchInterval)}
			case count < 2:
				return usageError{fmt.Errorf("--count %d: a difference needs at least 2 looks", count)}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			if a.remote() {
				return a.watchRemote(ctx, args[0], interval, count)
			}
			return a.watch(ctx, args[0], interval, count)
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two looks")
	cmd.Flags().IntVar(&count, "count", count, "number of looks")
	return cmd
}

// watch makes the looks and ends with the verdict as exit status.
func (a *app) watch(ctx context.Context, name string, interval time.Duration, count int) (err error) {
	t, err := a.openTarget(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	l, ok := t.(*liveTarget)
	if !ok {
		return usageError{fmt.Errorf("%s: %w", name, errNotWatched)}
	}
	w := &watcher{app: a, target: l, interval: interval}
	for n := range count {
		if n > 0 && !w.wait(ctx) {
			break // interrupted: the looks so far count
		}
		if err := w.look(ctx, n == count-1); err != nil {
			return err
		}
	}
	return w.end()
}

// watcher is one run of watch.
type watcher struct {
	*app
	inspect.Watch
	target   *liveTarget
	interval time.Duration
	at       time.Time
}

// wait lets time pass, and counts what the threads use after they have come back
// from the stop; false if it was interrupted.
func (w *watcher) wait(ctx context.Context) bool {
	if !pause(ctx, inspect.WatchSettle) {
		return false
	}
	total, _ := used(w.target.p) // a process that has ended is told by the look
	w.Rest(total)
	return pause(ctx, w.interval-time.Since(w.at))
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// look makes one picture and prints what changed.
func (w *watcher) look(ctx context.Context, last bool) (err error) {
	total, err := used(w.target.p)
	if err != nil {
		return err
	}
	var pic *inspect.Picture
	var track *inspect.Track
	in, done, err := w.lookAt(ctx, w.target, question{read: func(in *inspect.Inspector) {
		pic = in.Picture(inspect.ReportParts())
		track = in.Track(pic)
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	in.Complete(pic)
	w.at = time.Now()
	l := w.Look(pic, track, w.at, total)
	if last {
		w.Conclude()
	}
	return w.printLook(l)
}

// used is what the threads of a process have used since they began.
func used(p *live.Process) ([]inspect.ThreadUse, error) {
	usage, err := p.Usage()
	if err != nil {
		return nil, err
	}
	list := make([]inspect.ThreadUse, len(usage))
	for i, u := range usage {
		list[i] = inspect.ThreadUse{LWP: int(u.Thread.Value), CPU: u.User + u.System, Switches: u.Switches}
	}
	return list, nil
}

// printLook prints a look.
func (a *app) printLook(l *inspect.Look) error {
	if a.json {
		return json.NewEncoder(a.stdout).Encode(l)
	}
	p, err := a.printer()
	if err != nil {
		return err
	}
	text.Look(p, l)
	text.Result(p, l)
	return p.Err()
}

// end gives the exit status.
func (w *watcher) end() error {
	if l := w.Last(); l == nil || l.Result == nil { // interrupted
		if !w.Conclude() {
			return errInterrupted
		}
		if err := w.printLook(l); err != nil {
			return err
		}
	}
	return watchStatus(w.Last().Result)
}

// watchRemote is watch at a server.
func (a *app) watchRemote(ctx context.Context, name string, interval time.Duration, count int) error {
	return a.atServer(name, func(_ context.Context, t *client.Target) error {
		var last *inspect.Look
		var result *inspect.Change
		for l, err := range t.Looks(ctx, interval, count) {
			if err != nil && ctx.Err() != nil { // interrupted: the looks so far count
				break
			}
			if err != nil {
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
	})
}

var errNotWatched = errors.New("it is no process that can be watched: give the number of a process")

var errInterrupted = errors.New("interrupted before the second look: there is nothing to compare")

// watchStatus is the exit status for a result.
func watchStatus(r *inspect.Change) error {
	switch r.Verdict {
	case inspect.WatchStuck:
		return statusError(exitStuck)
	case inspect.WatchSpinning:
		return statusError(exitSpinning)
	case inspect.WatchUnknown:
		return statusError(exitUnknown)
	}
	return nil
}
