package live

import (
	"context"
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Sampler takes samples of a process: looks that start with the memory which the samples before have read, so that they
// need no rehearsal and mostly one stop. It is used by one goroutine at a time.
type Sampler struct {
	p     *Process
	want  wanted
	known bool // want has the memory of a sample of the current modules
	room  []byte
	last  *reader // of the last answer, with copies in room; nil before the first
}

// NewSampler returns a Sampler of the process.
func (p *Process) NewSampler() *Sampler { return &Sampler{p: p} }

// sampleStops is the number of stops of a sample. The second one copies the memory that the first has missed. What the
// second one misses, such as tasks that have just been made, is read while the threads run.
const sampleStops = 2

// Bounds of the memory that is copied for a sample, in bytes. It grows with the places at which threads were seen; at
// the bound, it is found again by a whole look.
const (
	maxSample       = 1 << 20
	maxSampleThread = 16 << 10 // in addition, for each thread
)

// Sample is LookPrepared, with two differences. Once it knows the memory that f reads, it calls f at most sampleStops
// times, and prepare not at all. It does not stop the process during an answer, so that rare samples read some words
// while the threads run. The first sample is a whole look, and so is each one after the modules have changed.
func (s *Sampler) Sample(ctx context.Context, prepare, f func(callbacks.Target) error) (Pause, error) {
	p := s.p
	if err := ctx.Err(); err != nil {
		return Pause{}, err
	}
	_, before := p.lastLayout()
	if s.known {
		if err := p.refresh(); err != nil {
			return Pause{}, p.exitReason(err)
		}
	}
	if _, mods := p.lastLayout(); !s.known || mods != before {
		return s.lookWhole(ctx, prepare, f)
	}
	l := &looker{p: p, ctx: ctx, f: f, want: s.want}
	if fields, err := statFields(procPath(p.pid, "stat")); err == nil {
		l.pause.Suspended = fields[0] == "T"
	}
	answer, threads, err := s.sampleStopped(l)
	if errors.Is(err, ErrTraced) {
		return s.lookWhole(ctx, prepare, f)
	}
	if err != nil {
		return l.pause, p.exitReason(err)
	}
	s.known = totalSize(s.want.blocks.spans()) <= maxSample+maxSampleThread*uint64(threads)
	return l.pause, answer
}

// lookWhole takes a sample by a whole look, and keeps the memory that it has read for the next.
func (s *Sampler) lookWhole(ctx context.Context, prepare, f func(callbacks.Target) error) (Pause, error) {
	pause, want, err := s.p.lookPrepared(ctx, prepare, f)
	// All stacks are copied as those of running threads, as any thread may run again before the next sample.
	s.want = wanted{blocks: want.blocks}
	s.known = err == nil && pause.Stops > 0 && len(pause.Stranded) == 0
	return pause, err
}

// sampleStopped answers from a copy that was made while all threads were stopped. It returns the number of threads.
func (s *Sampler) sampleStopped(l *looker) (answer error, threads int, err error) {
	for n := 1; ; n++ {
		before, _ := l.p.lastLayout()
		if s.last != nil {
			s.last.first = nil // facts on code that were found with it may be asked for more code
		}
		copies, threads, err := l.p.capture(l.ctx, l.want, &l.pause, &s.room)
		if err != nil {
			return nil, 0, err
		}
		if end := l.p.endReason(); end != nil {
			return nil, 0, end
		}
		r := l.p.newReader(copies, nil)
		r.before, s.last = before, r
		l.pause.Running = runningThreads(threads)
		answer = l.f(l.p.newView(r, rosterOf(threads)))
		l.want.addBlocks(r.missed)
		if len(r.missed) == 0 || n == sampleStops {
			return answer, len(threads), nil
		}
	}
}
