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

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Options say how ranks are looked at.
type Options struct {
	Open     session.Options
	Budget   time.Duration // processor time for one rank
	Interval time.Duration // between the two looks; 0 for one look
	Jobs     int           // looks at a time
	Limit    time.Duration // by the clock, for one look at one rank; 0 for none
	// Picture is told what was found of a rank in detail; it may be nil. Several goroutines
	// call it.
	Picture func(rank int, pic *picture.Picture)
}

// seen is what the first look at a rank leaves for the second.
type seen struct {
	answer job.Answer
	trace  *picture.Trace
	used   []picture.Use
	at     time.Time
}

// Look looks twice at each of some processes, and tells what it found: after the first look
// and, with whether the rank made progress, after the second.
func Look(ctx context.Context, list []Process, o Options, tell func(*job.Part)) {
	tellOne := serial(tell)
	give := func(a job.Answer) {
		p := job.NewPart()
		p.Add(a)
		tellOne(p)
	}
	o.Open.NoDebug = o.Picture == nil // Resolve names places, once for all ranks
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
			if a, ok := s.again(ctx, list[i], o); ok {
				give(a)
			}
		}
	})
}

// serial is tell for several goroutines.
func serial(tell func(*job.Part)) func(*job.Part) {
	var mu sync.Mutex
	return func(p *job.Part) {
		mu.Lock()
		defer mu.Unlock()
		tell(p)
	}
}

// within is ctx with the limit for one look.
func (o Options) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Limit == 0 {
		return ctx, func() {}
	}
	why := fmt.Errorf("no answer within %v (--rank-timeout)", o.Limit)
	return context.WithTimeoutCause(ctx, o.Limit, why)
}

// report is the question of a whole report.
func (o Options) report() session.Question {
	q := session.Report()
	q.Budget = o.Budget
	return q
}

// each calls f with the numbers below n, some at a time, until ctx ends.
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

// base is what is known of a process without a look.
func (p Process) base() job.Answer {
	host := p.Host
	if host == "" {
		host, _ = os.Hostname()
	}
	a := job.Answer{Rank: p.Rank.Rank, Size: p.Size, Member: job.Member{Host: host, PID: p.PID, Peer: -1}}
	if p.State == 'T' {
		a.Condition = job.Stopped
	}
	return a
}

// failed is the answer of a rank that could not be looked at.
func (p Process) failed(err error) job.Answer {
	a := p.base()
	a.Condition, a.Why = job.Unreadable, err.Error()
	if _, _, gone := stat(p.PID); errors.Is(err, session.ErrExited) || gone != nil {
		a.Condition, a.Why = job.Gone, "it ended while it was looked at"
	}
	return a
}

// lookOnce looks at a process for the first time.
func lookOnce(ctx context.Context, p Process, o Options) *seen {
	q := o.report()
	q.Trace = true
	s := &seen{}
	ctx, cancel := o.within(ctx)
	defer cancel()
	err := ask(ctx, strconv.Itoa(p.PID), o, q, func(t *session.Target, a *session.Answer) {
		s.answer, s.trace, s.at = joined(p.base(), job.Of(a.Picture, a.Locate)), a.Trace, time.Now()
		s.used, _ = t.Used()
		if o.Picture != nil {
			o.Picture(s.answer.Rank, a.Picture)
		}
	})
	if err != nil {
		s.answer = p.failed(reason(ctx, err))
	}
	return s
}

// reason is why a look failed: that it took too long, if it did.
func reason(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// ask asks a process or a core one question.
func ask(
	ctx context.Context, name string, o Options, q session.Question, f func(*session.Target, *session.Answer),
) (err error) {
	t, err := session.Open(ctx, name, o.Open)
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

// joined is what a look found of a rank, with what was known of it before.
func joined(base, found job.Answer) job.Answer {
	if found.Rank < 0 {
		found.Rank = base.Rank
	}
	found.Size, found.Host = cmp.Or(base.Size, found.Size), cmp.Or(base.Host, found.Host)
	found.Condition = cmp.Or(base.Condition, found.Condition)
	found.Path = cmp.Or(base.Path, found.Path)
	return found
}

// again looks at a process a second time, and reports whether it made progress since.
func (s *seen) again(ctx context.Context, p Process, o Options) (out job.Answer, ok bool) {
	q := session.Question{Parts: picture.ReportParts(), Trace: true, Budget: o.Budget}
	ctx, cancel := o.within(ctx)
	defer cancel()
	err := ask(ctx, strconv.Itoa(p.PID), o, q, func(t *session.Target, a *session.Answer) {
		now, _ := t.Used()
		out, ok = s.answer, true
		out.Movement = s.movement(a, watch.UsedSince(s.used, now))
	})
	if err != nil {
		out = p.failed(reason(ctx, err))
		ok = out.Condition == job.Gone
	}
	return out, ok
}

// movement reports whether a rank made progress: one of the program's own threads did, or one
// that is in MPI has come to another call.
func (s *seen) movement(a *session.Answer, used []picture.Use) job.Movement {
	c := watch.Since(s.trace, a.Trace, time.Since(s.at), used)
	own := func(lwp int) bool {
		return slices.ContainsFunc(a.Picture.Threads, func(t picture.Thread) bool {
			return t.LWP == lwp && (t.Role != picture.RoleNone || t.MPI != nil || lwp == a.Picture.Target.PID)
		})
	}
	ran := false
	for _, t := range c.Threads {
		if t.Ignored || !own(t.LWP) {
			continue
		}
		switch t.Activity {
		case picture.ActivityMoved, picture.ActivityNew:
			return job.Moved
		case picture.ActivityRan:
			ran = true
		}
	}
	if ran {
		return job.SeenOnce
	}
	return job.Still
}
