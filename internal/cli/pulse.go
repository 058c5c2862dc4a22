package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

const (
	// looksPerHang is how many looks --hang-after has: a hang is told at most
	// one of their intervals late.
	looksPerHang = 4
	// minHang is the least time of --hang-after.
	minHang = looksPerHang * watch.Interval
	// spunShare is the part of the time that a thread must have used to be told of as
	// one that spun.
	spunShare = 0.01
	// maxPulse is the longest time between two looks.
	maxPulse = 10 * time.Second
	// confirmations is how many looks in a row, after the first one, must show a hang before a process is ended, and
	// confirmNap the time between two of them: threads that hand something over are not seen doing that so often.
	confirmations = 2
	confirmNap    = 5 * time.Millisecond
)

// pulse looks at the processes of a program now and then, and tells which make no
// progress for a time.
type pulse struct {
	*app
	program *live.Program
	after   time.Duration
	hung    chan []hang

	mu     sync.Mutex
	beats  map[int]*beat
	round  time.Time // when the present looks began: to all that is compared, they are of one time
	resets int
}

// hang is a process that makes no progress, and cannot make any.
type hang struct {
	pid    int
	parent int // the process that started it
	still  *picture.Standstill
	found  bool // a verdict says that it hangs
}

// beat is the last look at a process.
type beat struct {
	process *session.Target // until usage is known
	parent  int             // the process that started it
	trace   *picture.Trace
	usage   []watch.Use // some time after it
	at      time.Time
	round   time.Time       // of all looks that were made with it
	since   time.Time       // of the first looks since which there was no progress
	spun    map[int]float64 // processor time since then of threads that came nowhere, in seconds
	outside bool            // since then, it has waited for what another process may do
	found   bool            // a verdict says that it hangs; only if it was to be looked for
	held    bool            // the same, or nothing in it can change
	stops   int             // of job control so far
}

// watch looks until ctx is done.
func (p *pulse) watch(ctx context.Context) {
	p.reset()
	interval := min(p.after/looksPerHang, maxPulse)
	for pause(ctx, interval-watch.Settle) {
		if list := p.look(ctx); list != nil {
			select {
			case p.hung <- list:
			case <-ctx.Done():
				return
			}
		}
		if !pause(ctx, watch.Settle) {
			return
		}
		p.count()
	}
}

// reset forgets what was seen before: processes stood still for a report.
func (p *pulse) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	closeAll(p.beats)
	p.beats = map[int]*beat{}
	p.resets++
}

// closeAll ends the use of processes.
func closeAll(beats map[int]*beat) {
	for _, b := range beats {
		b.process.Close()
	}
}

// look looks at all processes and returns those that hang.
func (p *pulse) look(ctx context.Context) []hang {
	p.mu.Lock()
	before, resets := p.beats, p.resets
	p.round = time.Now()
	p.mu.Unlock()
	beats := map[int]*beat{}
	for _, pid := range p.program.Processes() {
		b, err := p.beat(ctx, pid, before[pid])
		if err != nil || b.trace == nil { // it has ended, is stopped, became another program, or has no runtime
			continue
		}
		beats[pid] = b
	}
	list := p.hangs(ctx, beats)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resets != resets {
		closeAll(beats)
		beats, list = map[int]*beat{}, nil
	}
	p.beats = beats
	return list
}

// hangs lists the processes that made no progress for the time of --hang-after, and cannot make any.
func (p *pulse) hangs(ctx context.Context, beats map[int]*beat) (list []hang) {
	for pid, b := range beats {
		d := p.round.Sub(b.since)
		if d < p.after {
			continue
		}
		if found, ok := p.confirm(ctx, b); ok {
			list = append(list, hang{pid: pid, parent: b.parent, still: b.standstill(d), found: found})
		}
	}
	return list
}

// confirm looks at a process that seems to hang several times more, and reports whether each look shows that, and none
// that a thread made progress. found reports whether the last one has a verdict that says so.
func (p *pulse) confirm(ctx context.Context, b *beat) (found, ok bool) {
	last := b.trace
	if !b.held {
		return false, false
	}
	for range confirmations {
		if !pause(ctx, confirmNap) {
			return false, false
		}
		trace, found, held, err := p.judged(ctx, b.process)
		if err != nil || !held || watch.Since(last, trace, confirmNap, nil).Verdict == watch.Progress {
			return false, false
		}
		last, b.found = trace, found
	}
	return b.found, true
}

// judged looks at a process. found reports whether a verdict says that it hangs, and held whether that, or what its
// threads wait for, shows it.
func (p *pulse) judged(ctx context.Context, t *session.Target) (trace *picture.Trace, found, held bool, err error) {
	q := session.Report()
	q.Trace, q.Budget = true, p.budget
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, false, false, err
	}
	if trace = answer.Trace; len(answer.Picture.Runtimes) == 0 {
		trace = nil
	} else {
		found = slices.ContainsFunc(answer.Picture.Verdicts, diagnose.Hangs)
		held = found || standsForEver(trace)
	}
	return trace, found, held, answer.Close()
}

// standsForEver reports whether each thread that has something to do sleeps until another thread of the process
// wakes it, or is in a loop that ends only when another thread writes memory.
func standsForEver(t *picture.Trace) bool {
	held := 0
	for _, th := range t.Threads {
		switch {
		case th.Role == picture.RoleIdle || th.Hidden: // it waits for work that another thread gives it
		case th.Sleeps && !t.Posted:
			held++
		case th.Spins != nil && !th.Outside && (th.Inside || !t.Handled):
			held++
		default:
			return false
		}
	}
	return held > 0
}

// standstill is what the threads did since there was no progress.
func (b *beat) standstill(d time.Duration) *picture.Standstill {
	s := &picture.Standstill{Seconds: d.Seconds(), WaitsOutside: b.outside}
	for _, lwp := range slices.Sorted(maps.Keys(b.spun)) {
		if b.spun[lwp] < spunShare*s.Seconds {
			continue // it looked now and then whether it may go on
		}
		s.Spinning = append(s.Spinning, picture.Spin{LWP: lwp, CPUSeconds: b.spun[lwp]})
	}
	return s
}

// errStopped says that a process was stopped by job control.
var errStopped = errors.New("it is stopped")

// beat looks at one process. It has no trace if it has no OpenMP runtime.
func (p *pulse) beat(ctx context.Context, pid int, before *beat) (b *beat, err error) {
	b = &beat{round: p.round}
	stopped, stops := p.program.JobStops(pid)
	if stopped {
		return nil, errStopped
	}
	b.stops = stops
	o := p.open.session()
	process, err := p.program.Open(pid, o.Live())
	if err != nil {
		return nil, err
	}
	b.parent = process.Info().Parent
	b.process = session.OfProcess(process, nil, o)
	defer func() {
		if b.trace == nil {
			b.process.Close()
		}
	}()
	use, err := b.process.Used()
	if err != nil {
		return b, err
	}
	var trace *picture.Trace
	if before != nil && p.round.Sub(before.since) >= p.after {
		trace, b.found, b.held, err = p.judged(ctx, b.process)
	} else {
		trace, err = p.seen(ctx, b.process)
	}
	if err == nil && trace != nil {
		b.add(before, trace, use)
	}
	return b, err
}

// seen looks at a process. There is no trace if it has no OpenMP runtime.
func (p *pulse) seen(ctx context.Context, t *session.Target) (*picture.Trace, error) {
	answer, err := t.Look(ctx, session.Question{Parts: inspect.ReportParts(), Trace: true, Budget: p.budget})
	if err != nil {
		return nil, err
	}
	if len(answer.Picture.Runtimes) == 0 {
		return nil, answer.Close()
	}
	return answer.Trace, answer.Close()
}

// add makes the beat of a look, the next one after before, if there is one.
func (b *beat) add(before *beat, trace *picture.Trace, use []watch.Use) {
	b.trace, b.at, b.spun = trace, time.Now(), map[int]float64{}
	b.since = b.round
	for _, t := range trace.Threads {
		b.outside = b.outside || t.Outside
	}
	if before == nil || before.usage == nil || before.stops != b.stops {
		return
	}
	c := watch.Since(before.trace, trace, b.at.Sub(before.at), watch.UsedSince(before.usage, use))
	if c.Verdict == watch.Progress {
		return
	}
	b.since, b.spun = before.since, before.spun
	b.outside = b.outside || before.outside // it may have been woken, and not have got on yet
	for _, t := range c.Threads {
		if t.Activity == watch.Spun && !t.Ignored {
			b.spun[t.LWP] += t.CPU
		}
	}
}

// count notes what the threads have used when they are back from the looks.
func (p *pulse) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.beats {
		b.usage, _ = b.process.Used()
	}
	closeAll(p.beats)
}

// pause lets time pass; false if ctx ended it.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
