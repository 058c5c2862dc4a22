package engine

import (
	"context"
	"errors"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Watch takes count snapshots of a process, with the given interval between them. It ends with ctx; that is not an
// error.
func (t *Target) Watch(ctx context.Context, interval time.Duration, count int) Looks {
	if t.asker != nil {
		return t.asker.Watch(ctx, interval, count)
	}
	return func(yield func(*picture.Look, error) bool) {
		w := &watching{target: t, interval: interval}
		for n := range count {
			if n > 0 && !w.rest(ctx) {
				return
			}
			l, err := w.lookPatiently(ctx)
			if err != nil && ctx.Err() != nil && n > 0 {
				return
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// watching is the state of one call of Watch.
type watching struct {
	watch.Series
	target   *Target
	interval time.Duration
	at       time.Time

	progressed bool // in the looks so far
}

// rest waits for the interval. It counts the CPU time of the threads from the time when they run again after the
// stop. It returns false if ctx has ended.
func (w *watching) rest(ctx context.Context) bool {
	if !wait(ctx, watch.Settle) {
		return false
	}
	total, _ := w.target.Usage() // the look reports a process that has ended
	w.Rest(total)
	return wait(ctx, w.interval-time.Since(w.at))
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// maxStops limits the attempts in a row to stop a process in which one thread gets no processor.
const maxStops = 4

// lookPatiently takes one snapshot. On a busy machine a thread of low priority may get no processor for as long as a
// stop waits for it; then lookPatiently tries again after the interval, a few times.
func (w *watching) lookPatiently(ctx context.Context) (l *picture.Look, err error) {
	for range maxStops {
		if l, err = w.look(ctx); !errors.Is(err, live.ErrStuck) || !wait(ctx, w.interval) {
			break
		}
	}
	return l, err
}

// look takes one snapshot.
func (w *watching) look(ctx context.Context) (*picture.Look, error) {
	total, err := w.target.Usage()
	if err != nil {
		return nil, err
	}
	a, err := w.target.Look(ctx, Query{
		Parts: picture.ReportParts(), Verdicts: w.doubted(), Trace: true, Budget: DefaultBudget,
	})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	w.at = time.Now()
	l := w.Look(a.Picture, a.Trace, w.at, total)
	w.Conclude()
	w.progressed = l.Result != nil && l.Result.Verdict == picture.WatchProgress
	return l, nil
}

// doubted reports whether the next look may find that the process makes no progress. Its picture then needs the facts
// that explain all waits.
func (w *watching) doubted() bool { return w.Last() != nil && !w.progressed }

// written adds to each thread the number of its events in the recorder, and its last step of progress. It reads the
// headers of the rings and their newest records while the program may write them. Without a recorder the counts stay 0.
func (t *Target) written(total []picture.Use) {
	target, ok := t.source.(Direct)
	if !ok {
		return
	}
	maps := target.Mappings()
	if len(trace.Named(maps)) == 0 {
		return
	}
	reader, err := trace.OpenNamed(target, maps, t.source.About().PID)
	if err != nil {
		return // the verbs that read events report it
	}
	rec, err := reader.Doing()
	if err != nil {
		return
	}
	of := map[int]*trace.Thread{}
	for _, thread := range rec.Threads {
		if thread.Life == trace.Alive {
			of[int(thread.LWP)] = thread
		}
	}
	for i := range total {
		thread := of[total[i].LWP]
		if thread == nil {
			continue
		}
		total[i].Records = int64(thread.Written)
		if reader.Newest(thread) == nil {
			total[i].Step = thread.Step()
		}
	}
}

// Usage returns the CPU time that each thread of a process has used since its start, and its progress by the
// recorder. The error is ErrNotWatched if the target is not a process.
func (t *Target) Usage() ([]picture.Use, error) {
	total, err := t.sourceUsage()
	if err == nil {
		t.written(total)
	}
	return total, err
}

func (t *Target) sourceUsage() ([]picture.Use, error) {
	if m, ok := t.source.(Meter); ok {
		return m.Usage()
	}
	return nil, ErrNotWatched
}
