package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// looksPerHang is the number of snapshots during --hang-after. A hang is reported at most one interval
	// between them late.
	looksPerHang = 4
	// minHang is the smallest time of --hang-after.
	minHang = looksPerHang * watch.Interval
	// spunShare is the smallest share of CPU time that marks a thread as spinning in the report.
	spunShare = 0.01
	// maxPulse is the longest time between two snapshots.
	maxPulse = 10 * time.Second
	// confirmations is the number of snapshots in a row, after the first one, that must show a hang before a
	// process is ended. confirmNap is the time between two of them: threads that hand over a lock are unlikely
	// to be caught in that moment so often.
	confirmations = 2
	confirmNap    = 5 * time.Millisecond
	// unjudgedAfter is the shortest time after which a program that runs is reported to have no OpenMP runtime. A
	// program may load its runtime late, but hardly later than this.
	unjudgedAfter = 30 * time.Second
)

// pulse takes snapshots of the processes of a program at intervals, and reports those that make no progress for
// a time.
type pulse struct {
	*app
	program *live.Program
	after   time.Duration
	hung    chan []hang

	mu     sync.Mutex
	beats  map[int]*beat
	round  time.Time // start of the current round of snapshots; comparisons use it as the time of all of them
	resets int

	skipped  map[int]bool // processes whose debugger reportHeld has named
	started  time.Time
	plain    bool // a process without an OpenMP runtime was seen
	judged   bool // a process with one was seen
	reported bool // reportUnjudged has printed its note
}

// newPulse returns a pulse that has taken no snapshot.
func newPulse(a *app, program *live.Program, after time.Duration) *pulse {
	return &pulse{app: a, program: program, after: after, hung: make(chan []hang), skipped: map[int]bool{}}
}

// hang is a process that makes no progress and cannot make any.
type hang struct {
	pid    int
	parent int // parent process
	still  *picture.Standstill
	found  bool // a verdict reports the hang
}

// beat is the last snapshot of a process.
type beat struct {
	pid     int
	process *engine.Target // nil after the usage is known
	parent  int            // parent process
	trace   *picture.Trace
	usage   []picture.Use // CPU time, read some time after the snapshot
	at      time.Time
	round   time.Time       // start of the round of this snapshot
	since   time.Time       // start of the first round since which there was no progress
	spun    map[int]float64 // CPU time since then, in seconds, of threads without progress
	outside bool            // since then, it has waited for an event that another process can cause
	found   bool            // a verdict reports a hang; set only if verdicts were asked for
	held    bool            // found, or nothing in the process can change
	stops   int             // stops by job control so far
}

// watch takes snapshots until ctx is canceled.
func (p *pulse) watch(ctx context.Context) {
	p.reset()
	p.mu.Lock()
	p.started = time.Now()
	p.mu.Unlock()
	interval := min(p.after/looksPerHang, maxPulse)
	for pause(ctx, interval-watch.Settle) {
		if list := p.look(ctx); list != nil {
			select {
			case p.hung <- list:
			case <-ctx.Done():
				return
			}
		}
		p.reportUnjudged(max(p.after, unjudgedAfter))
		if !pause(ctx, watch.Settle) {
			return
		}
		p.count()
	}
}

// reset forgets earlier snapshots, because processes were stopped for a report.
func (p *pulse) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	closeAll(p.beats)
	p.beats = map[int]*beat{}
	p.resets++
}

// closeAll closes the processes of beats.
func closeAll(beats map[int]*beat) {
	for _, b := range beats {
		b.process.Close()
	}
}

// look takes a snapshot of all processes and returns those that hang.
func (p *pulse) look(ctx context.Context) []hang {
	p.mu.Lock()
	before, resets := p.beats, p.resets
	p.round = time.Now()
	p.mu.Unlock()
	beats := map[int]*beat{}
	var plain, judged bool
	for _, pid := range p.program.Processes() {
		b, err := p.beat(ctx, pid, before[pid])
		plain = plain || err == nil && b.trace == nil
		judged = judged || err == nil && b.trace != nil
		// it has ended, is stopped, executed another program, or has no OpenMP runtime
		if err != nil || b.trace == nil {
			continue
		}
		beats[pid] = b
	}
	list := p.hangs(ctx, beats)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plain, p.judged = p.plain || plain, p.judged || judged
	if p.resets != resets {
		closeAll(beats)
		beats, list = map[int]*beat{}, nil
	}
	p.beats = beats
	return list
}

// reportUnjudged prints a note, once, if the program has run for a time and no process of it had an OpenMP
// runtime: --hang-after judges no such process.
func (p *pulse) reportUnjudged(least time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reported || p.judged || !p.plain || time.Since(p.started) < least {
		return
	}
	p.reported = true
	p.note("--hang-after has no effect: no process of the program has loaded an OpenMP runtime, and processes " +
		"without one are not judged")
}

// hangs returns the processes that made no progress for the time of --hang-after, and cannot make any.
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

// confirm takes further snapshots of a process that seems to hang. ok reports whether each of them shows that,
// without progress of a thread. found reports whether one of them has a verdict of a hang.
func (p *pulse) confirm(ctx context.Context, b *beat) (found, ok bool) {
	last := b.trace
	if !b.held {
		return false, false
	}
	for range confirmations {
		if !pause(ctx, confirmNap) {
			return false, false
		}
		trace, found, held, err := p.judge(ctx, b.process)
		if err != nil || !held || p.program.Debugger(b.pid) != "" ||
			watch.Since(last, trace, confirmNap, nil).Verdict == picture.WatchProgress {
			return false, false
		}
		last, b.found = trace, b.found || found
	}
	return b.found, true
}

// judge takes a snapshot of a process. found reports whether a verdict says that it hangs. held reports whether
// that verdict, or the waits of its threads, show that nothing in it can change.
func (p *pulse) judge(ctx context.Context, t *engine.Target) (trace *picture.Trace, found, held bool, err error) {
	q := engine.Report()
	q.Trace, q.Budget = true, p.budget
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, false, false, err
	}
	if trace = answer.Trace; len(answer.Picture.Runtimes) == 0 {
		trace = nil
	} else {
		found = slices.ContainsFunc(answer.Picture.Verdicts, diagnose.Hangs)
		held = found || waitsForever(trace)
	}
	return trace, found, held, answer.Close()
}

// waitsForever reports whether each thread that has something to do sleeps until another thread of the process
// wakes it, or is in a loop that ends only when another thread writes memory.
func waitsForever(t *picture.Trace) bool {
	held := 0
	for _, th := range t.Threads {
		switch {
		case th.Role == picture.RoleIdle || th.Hidden: // it waits for work from another thread
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

// standstill returns the activity of the threads since the last progress.
func (b *beat) standstill(d time.Duration) *picture.Standstill {
	s := &picture.Standstill{Seconds: d.Seconds(), WaitsOutside: b.outside}
	for _, lwp := range slices.Sorted(maps.Keys(b.spun)) {
		if b.spun[lwp] < spunShare*s.Seconds {
			continue // it only checked at intervals whether it can continue
		}
		s.Spinning = append(s.Spinning, picture.Spin{LWP: lwp, CPUSeconds: b.spun[lwp]})
	}
	return s
}

// Errors of processes that are not judged now.
var (
	errStopped = errors.New("job control has stopped it")
	errHeld    = errors.New("a debugger holds it")
)

// reportHeld prints a note, once for each process, that a debugger holds a process after `ompd-inspect release`.
func (p *pulse) reportHeld(pid int, debugger string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.skipped[pid] {
		return
	}
	p.skipped[pid] = true
	p.note("%s, holds process %d: it is not judged until it is detached", debugger, pid)
}

// beat takes a snapshot of one process. The result has no trace if the process has no OpenMP runtime.
func (p *pulse) beat(ctx context.Context, pid int, before *beat) (b *beat, err error) {
	b = &beat{pid: pid, round: p.round}
	stopped, stops := p.program.JobStops(pid)
	if stopped {
		return nil, errStopped
	}
	b.stops = stops
	if debugger := p.program.Debugger(pid); debugger != "" {
		p.reportHeld(pid, debugger)
		return nil, errHeld
	}
	o := p.open.engineOptions()
	process, err := p.program.Open(pid, o.Live())
	if err != nil {
		return nil, err
	}
	b.parent = process.Info().Parent
	b.process = engine.NewProcessTarget(process, nil, o)
	defer func() {
		if b.trace == nil {
			b.process.Close()
		}
	}()
	use, err := b.process.Usage()
	if err != nil {
		return b, err
	}
	var trace *picture.Trace
	if before != nil && p.round.Sub(before.since) >= p.after {
		trace, b.found, b.held, err = p.judge(ctx, b.process)
	} else {
		trace, err = p.traceProcess(ctx, b.process)
	}
	if err == nil && trace != nil {
		b.add(before, trace, use)
	}
	return b, err
}

// traceProcess takes a snapshot of a process. It returns nil if the process has no OpenMP runtime.
func (p *pulse) traceProcess(ctx context.Context, t *engine.Target) (*picture.Trace, error) {
	answer, err := t.Look(ctx, engine.Query{Parts: picture.ReportParts(), Trace: true, Budget: p.budget})
	if err != nil {
		return nil, err
	}
	if len(answer.Picture.Runtimes) == 0 {
		return nil, answer.Close()
	}
	return answer.Trace, answer.Close()
}

// add fills a beat from a snapshot, and compares it with the one before, if there is one.
func (b *beat) add(before *beat, trace *picture.Trace, use []picture.Use) {
	b.trace, b.at, b.spun = trace, time.Now(), map[int]float64{}
	b.since = b.round
	for _, t := range trace.Threads {
		b.outside = b.outside || t.Outside
	}
	if before == nil || before.usage == nil || before.stops != b.stops {
		return
	}
	c := watch.Since(before.trace, trace, b.at.Sub(before.at), watch.UsedSince(before.usage, use))
	if c.Verdict == picture.WatchProgress {
		return
	}
	b.since, b.spun = before.since, before.spun
	b.outside = b.outside || before.outside // it may have been woken and not yet have continued
	for _, t := range c.Threads {
		if t.Activity == picture.ActivitySpun && !t.Ignored {
			b.spun[t.LWP] += t.CPU
		}
	}
}

// count records the CPU time of the threads some time after the snapshots, when they run again.
func (p *pulse) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.beats {
		b.usage, _ = b.process.Usage()
	}
	closeAll(p.beats)
}

// pause waits for a time. It returns false if ctx is canceled first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
