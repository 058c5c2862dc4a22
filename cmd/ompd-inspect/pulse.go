package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/live"
)

const (
	// looksPerHang is how many looks --hang-after has: a hang is told at most
	// one of their intervals late.
	looksPerHang = 4
	// minHang is the least time of --hang-after.
	minHang = looksPerHang * inspect.WatchInterval
	// maxPulse is the longest time between two looks.
	maxPulse = 10 * time.Second
)

// pulse looks at the processes of a program now and then, and tells which make no
// progress for a time.
type pulse struct {
	*app
	program *live.Program
	after   time.Duration
	hung    chan int // numbers of processes

	mu     sync.Mutex
	beats  map[int]*beat
	resets int
}

// beat is the last look at a process.
type beat struct {
	process *live.Process // until usage is known
	track   *inspect.Track
	usage   []inspect.ThreadUse // some time after it
	at      time.Time
	since   time.Time // of the first look since which there was no progress
	stops   int       // of job control so far
}

// watch looks until ctx is done.
func (p *pulse) watch(ctx context.Context) {
	p.reset()
	interval := min(p.after/looksPerHang, maxPulse)
	for pause(ctx, interval-inspect.WatchSettle) {
		for _, pid := range p.look(ctx) {
			select {
			case p.hung <- pid:
			case <-ctx.Done():
				return
			}
		}
		if !pause(ctx, inspect.WatchSettle) {
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
func (p *pulse) look(ctx context.Context) (hung []int) {
	p.mu.Lock()
	before, resets := p.beats, p.resets
	p.mu.Unlock()
	beats := map[int]*beat{}
	for _, pid := range p.program.Processes() {
		b, err := p.beat(ctx, pid, before[pid])
		if err != nil || b.track == nil { // it has ended, is stopped, became another program, or has no runtime
			continue
		}
		if beats[pid] = b; b.at.Sub(b.since) >= p.after {
			hung = append(hung, pid)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resets != resets {
		closeAll(beats)
		hung, beats = nil, map[int]*beat{}
	}
	p.beats = beats
	return hung
}

// errStopped says that a process was stopped by job control.
var errStopped = errors.New("it is stopped")

// beat looks at one process. It has no track if it has no OpenMP runtime.
func (p *pulse) beat(ctx context.Context, pid int, before *beat) (b *beat, err error) {
	b = &beat{}
	stopped, stops := p.program.JobStops(pid)
	if stopped {
		return nil, errStopped
	}
	b.stops = stops
	if b.process, err = p.program.Open(pid, p.liveOptions()); err != nil {
		return nil, err
	}
	defer func() {
		if b.track == nil {
			b.process.Close()
		}
	}()
	use, err := used(b.process)
	if err != nil {
		return b, err
	}
	var track *inspect.Track
	runtimes := 0
	_, done, err := p.lookAt(ctx, &liveTarget{p: b.process}, question{read: func(in *inspect.Inspector) {
		pic := in.Picture(inspect.ReportParts())
		track, runtimes = in.Track(pic), len(pic.Runtimes)
	}})
	if err != nil {
		return b, err
	}
	defer done()
	if runtimes == 0 {
		return b, nil
	}
	b.track, b.at = track, time.Now()
	b.since = b.at
	if before != nil && before.usage != nil && before.stops == b.stops {
		switch b.track.Since(before.track, b.at.Sub(before.at), inspect.UsedSince(before.usage, use)).Verdict {
		case inspect.WatchStuck, inspect.WatchSpinning:
			b.since = before.since
		}
	}
	return b, nil
}

// count notes what the threads have used when they are back from the looks.
func (p *pulse) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.beats {
		b.usage, _ = used(b.process)
	}
	closeAll(p.beats)
}
