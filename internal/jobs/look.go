package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Options contains the options of inspecting ranks.
type Options struct {
	Open     engine.Options
	Budget   time.Duration // CPU time for one rank
	Interval time.Duration // between the two snapshots; 0 for one snapshot
	Jobs     int           // number of parallel snapshots
	Limit    time.Duration // wall-clock time of one snapshot of one rank; 0: no limit
	// Picture receives the picture of a rank that was inspected in detail; it may be nil. Several goroutines
	// call it.
	Picture func(rank int, pic *picture.Picture)
}

// seen keeps the state of a rank between its two snapshots.
type seen struct {
	answer job.Answer
	trace  *picture.Trace
	used   []picture.Use
	at     time.Time
}

// Look takes two snapshots of each of some processes, and passes the results to emit: after the first and, with
// the progress of the rank, after the second.
func Look(ctx context.Context, list []Process, o Options, emit func(*job.Part)) {
	tellOne := serialize(emit)
	give := func(a job.Answer) {
		p := job.NewPart()
		p.Add(a)
		tellOne(p)
	}
	o.Open.NoDebug = o.Picture == nil // Resolve finds the lines of places, once for all ranks
	first := make([]*seen, len(list))
	each(ctx, len(list), o.Jobs, func(i int) {
		first[i] = lookOnce(ctx, list[i], o)
		give(first[i].answer)
	})
	if o.Interval == 0 || !pause(ctx, o.Interval) {
		return
	}
	each(ctx, len(list), o.Jobs, func(i int) {
		if s := first[i]; s != nil && s.trace != nil {
			if a, ok := s.lookAgain(ctx, list[i], o); ok {
				give(a)
			}
		}
	})
}

// serialize returns emit for use by several goroutines.
func serialize(emit func(*job.Part)) func(*job.Part) {
	var mu sync.Mutex
	return func(p *job.Part) {
		mu.Lock()
		defer mu.Unlock()
		emit(p)
	}
}

// withLimit returns ctx with the time limit of one snapshot.
func (o Options) withLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Limit == 0 {
		return ctx, func() {}
	}
	why := fmt.Errorf("no answer within %v (--rank-timeout)", o.Limit)
	return context.WithTimeoutCause(ctx, o.Limit, why)
}

// reportQuestion returns the question of a whole report.
func (o Options) reportQuestion() engine.Query {
	q := engine.Report()
	q.Budget = o.Budget
	return q
}

// each calls f with the numbers below n, some in parallel, until ctx is canceled.
func each(ctx context.Context, n, atOnce int, f func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, max(1, atOnce))
	for i := range n {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			group.Wait()
			return
		}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// base returns the answer of a process without a snapshot.
func (p Process) base() job.Answer {
	host := p.Host
	if host == "" {
		host, _ = os.Hostname()
	}
	a := job.Answer{Rank: p.Rank.Rank, Size: p.Size, Member: job.Member{Host: host, PID: p.PID, Peer: -1}}
	a.Program = p.Program
	if p.State == 'T' {
		a.Condition = job.Stopped
	}
	return a
}

// failed returns the answer of a rank that could not be inspected.
func (p Process) failed(err error) job.Answer {
	a := p.base()
	a.Condition, a.Why = job.Unreadable, err.Error()
	if _, _, gone := readStat(p.PID); errors.Is(err, engine.ErrExited) || gone != nil {
		a.Condition, a.Why = job.Gone, "it ended during the snapshot"
	}
	return a
}

// lookOnce takes the first snapshot of a process.
func lookOnce(ctx context.Context, p Process, o Options) *seen {
	q := o.reportQuestion()
	q.Trace = true
	s := &seen{}
	ctx, cancel := o.withLimit(ctx)
	defer cancel()
	err := ask(ctx, strconv.Itoa(p.PID), o, q, func(t *engine.Target, a *engine.Result) {
		s.answer, s.trace, s.at = merge(p.base(), job.Classify(a.Picture, a.Locate)), a.Trace, time.Now()
		s.used, _ = t.Usage()
		if o.Picture != nil {
			o.Picture(s.answer.Rank, a.Picture)
		}
	})
	if err != nil {
		s.answer = p.failed(reason(ctx, err))
	}
	return s
}

// reason returns the error of a failed snapshot: the exceeded time limit, if that is the cause.
func reason(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// ask asks a process or a core one question.
func ask(
	ctx context.Context, name string, o Options, q engine.Query, f func(*engine.Target, *engine.Result),
) (err error) {
	t, err := engine.Open(ctx, name, o.Open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	a, err := t.Look(ctx, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	f(t, a)
	return nil
}

// merge returns the result of a snapshot of a rank, with the data that was known before it.
func merge(base, found job.Answer) job.Answer {
	if found.Rank < 0 {
		found.Rank = base.Rank
	}
	found.Size, found.Host = cmp.Or(base.Size, found.Size), cmp.Or(base.Host, found.Host)
	found.Condition = cmp.Or(base.Condition, found.Condition)
	found.Path, found.Program = cmp.Or(base.Path, found.Path), cmp.Or(found.Program, base.Program)
	return found
}

// lookAgain takes a second snapshot of a process, and reports whether it made progress since the first.
func (s *seen) lookAgain(ctx context.Context, p Process, o Options) (out job.Answer, ok bool) {
	q := engine.Query{Parts: picture.ReportParts(), Trace: true, Budget: o.Budget}
	ctx, cancel := o.withLimit(ctx)
	defer cancel()
	err := ask(ctx, strconv.Itoa(p.PID), o, q, func(t *engine.Target, a *engine.Result) {
		now, _ := t.Usage()
		out, ok = s.answer, true
		out.Movement = s.movement(a, watch.UsedSince(s.used, now))
	})
	if err != nil {
		out = p.failed(reason(ctx, err))
		ok = out.Condition == job.Gone
	}
	return out, ok
}

// movement reports whether a rank made progress: one of the program's own threads did, or one in MPI is in
// another call, or copies a message. Polling inside of MPI is no progress, however much CPU time it takes.
// A thread that had work and got no processor proves nothing.
func (s *seen) movement(a *engine.Result, used []picture.Use) job.Movement {
	c := watch.Since(s.trace, a.Trace, time.Since(s.at), used)
	own := func(lwp int) bool {
		return slices.ContainsFunc(a.Picture.Threads, func(t picture.Thread) bool {
			return t.LWP == lwp && (t.Role != picture.RoleNone || t.MPI != nil || lwp == a.Picture.Target.PID)
		})
	}
	unknown := false
	for _, t := range c.Threads {
		if t.Ignored || !own(t.LWP) {
			continue
		}
		old, now := s.trace.Threads[t.LWP], a.Trace.Threads[t.LWP]
		switch {
		case t.Activity == picture.ActivityMoved, t.Activity == picture.ActivityNew, old.Copies, now.Copies:
			return job.Moved
		case old.Polls && now.Polls:
		case t.Activity == picture.ActivityRan, t.Activity == picture.ActivityStill && !watch.Rests(&now):
			unknown = true
		}
	}
	if unknown {
		return job.SeenOnce
	}
	return job.Still
}
