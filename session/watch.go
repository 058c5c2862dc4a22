package session

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Looks are looks at one process, each with what changed since the one before, and, from
// the second on, with the result so far.
type Looks = iter.Seq2[*picture.Look, error]

// Watch looks at a process count times, with some time from one look to the next. It ends
// with ctx; that is no error.
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

// watching is one call of Watch.
type watching struct {
	watch.Series
	target   *Target
	interval time.Duration
	at       time.Time

	progressed bool // in the looks so far
}

// rest lets time pass, and counts what the threads use after they have come back from the
// stop; false if ctx ended it.
func (w *watching) rest(ctx context.Context) bool {
	if !pause(ctx, watch.Settle) {
		return false
	}
	total, _ := w.target.Used() // a process that has ended is told by the look
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

// maxStops is how many times in a row a look tries to stop a process of which a thread gets no processor.
const maxStops = 4

// lookPatiently makes one look. On a busy machine a thread of low priority may get no processor for as long as a stop
// waits for it: then it looks again, some times, after the interval.
func (w *watching) lookPatiently(ctx context.Context) (l *picture.Look, err error) {
	for range maxStops {
		if l, err = w.look(ctx); !errors.Is(err, live.ErrStuck) || !pause(ctx, w.interval) {
			break
		}
	}
	return l, err
}

// look makes one look.
func (w *watching) look(ctx context.Context) (*picture.Look, error) {
	total, err := w.target.Used()
	if err != nil {
		return nil, err
	}
	a, err := w.target.Look(ctx, Question{
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

// doubted reports whether the next look may find that the process makes no progress: its picture then has the
// facts that say what all wait for.
func (w *watching) doubted() bool { return w.Last() != nil && !w.progressed }

// written adds how many records of the recorder each thread has written, and by which it got on:
// what the headers of the rings and their newest records say, read beside their writers. Without
// a recorder it adds nothing.
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
		return // it is told where its events are asked for
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
