package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// costShare is the time between two samples, in what they cost the program: the stop, and the processors' time that
// this tool takes from it. Nothing is gained by samples closer than leastRest. A machine with too few processors for
// its programs can make one stop last for a second; mostRest bounds the time without samples after it.
const (
	costShare = 50
	leastRest = 10 * time.Millisecond
	mostRest  = 10 * time.Second
)

// cpuStep is the step of the kernel's counters of CPU time.
const cpuStep = 10 * time.Millisecond

// keptCosts is the number of the last samples whose mean cost gives the time to the next. A median would leave out the
// long stops, which cost a program the most.
const keptCosts = 8

// ProfileOptions are the options of a profile.
type ProfileOptions struct {
	// For is the time after which it ends; 0: it has no limit.
	For time.Duration
	// Samples is the number of samples after which it ends; 0: it has no limit.
	Samples int
	// Started is called after the first sample; it may be nil.
	Started func()
	// Budget limits the CPU time of each sample; 0: it has no limit.
	Budget time.Duration
}

// Profile samples the states and user-model stacks of a process until ctx ends, the time is over, or the process ends.
// These ends are no errors after the first sample. The error is ErrNotWatched if the target is not a
// process.
func (t *Target) Profile(ctx context.Context, o ProfileOptions) (*picture.Profile, error) {
	if t.asker != nil {
		if p, ok := t.asker.(Profiler); ok {
			return p.Profile(ctx, o)
		}
		return nil, ErrNotWatched
	}
	m, ok := t.source.(Meter)
	if !ok {
		return nil, ErrNotWatched
	}
	t.KeepFiles() // and what their code tells; it stays the same
	p := &profiling{target: t, meter: m, budget: o.Budget, last: time.Now(), names: &inspect.HeapNames{}}
	end := p.last.Add(o.For)
	for n := 0; ; n++ {
		if o.Samples > 0 && n == o.Samples {
			return p.end(ctx, picture.ProfileTimeOver, nil), nil
		}
		rest := p.rest()
		if o.For > 0 && n > 0 && time.Now().Add(rest).After(end) {
			wait(ctx, time.Until(end))
			return p.end(ctx, picture.ProfileTimeOver, nil), nil
		}
		if n > 0 && !wait(ctx, rest) {
			return p.end(ctx, picture.ProfileInterrupted, nil), nil
		}
		if err := p.sample(ctx); err != nil {
			switch {
			case n == 0:
				return nil, err
			case ctx.Err() != nil:
				return p.end(ctx, picture.ProfileInterrupted, nil), nil
			case HasEnded(err):
				return p.end(ctx, picture.ProfileExited, nil), nil
			case errors.Is(err, live.ErrExec):
				return p.end(ctx, picture.ProfileExec, nil), nil
			}
			return p.end(ctx, picture.ProfileFailed, err), nil
		}
		if n == 0 && o.Started != nil {
			o.Started()
		}
	}
}

// HasRuntime reports whether the target has loaded an OpenMP runtime, used or not. It does not stop a process. limit is
// that of its CPU time; 0 means no limit.
func (t *Target) HasRuntime(ctx context.Context, limit time.Duration) (bool, error) {
	d, err := t.Direct()
	if err != nil {
		return false, err
	}
	runtime.LockOSThread() // the CPU time of this thread is counted
	defer runtime.UnlockOSThread()
	memory := t.memory.Look()
	defer memory.Close()
	g := newGate(memory)
	g.set(budget.New(ctx, limit))
	target := guarded(d, g)
	mods, _ := d.Modules() // without a module, it has no runtime
	opened, err := readers.Open(target, readers.Options{Options: layout.Options{
		Only: t.options.Sources, Functions: unwind.New(target, target.Arch(), mods).WithMemory(memory).Functions,
	}})
	warnings, dormant := sortErrors(err)
	return len(opened)+len(warnings)+len(dormant) > 0, ctx.Err()
}

// HasEnded reports whether an error means that the process has ended.
func HasEnded(err error) bool {
	return errors.Is(err, live.ErrExited) || errors.Is(err, live.ErrZombie) || errors.Is(err, live.ErrNoProcess)
}

// profiling is the state of one call of Profile.
type profiling struct {
	profile.Series
	target *Target
	meter  Meter
	budget time.Duration
	last   time.Time // of the last sample
	costs  []cost    // of the last samples, without the first: it finds what stays the same
	names  *inspect.HeapNames

	started time.Time     // when the first sample was taken
	used    time.Duration // the program's CPU time by then
}

// cost is the cost of a sample.
type cost struct{ stop, own time.Duration }

// end returns the profile. A canceled context is the reason of the end, if there is one.
func (p *profiling) end(ctx context.Context, end picture.ProfileEnd, reason error) *picture.Profile {
	if ctx.Err() != nil && end == picture.ProfileTimeOver {
		end = picture.ProfileInterrupted
	}
	return p.Profile(end, reason)
}

// rest returns the time to the next sample. It varies by a quarter, so that a program with a period of the same length
// is seen in all of its phases.
func (p *profiling) rest() time.Duration {
	d := restAfter(p.costs, p.takenShare())
	return d + time.Duration((rand.Float64()-1./2)/2*float64(d))
}

// restAfter returns the time to the next sample, given the costs of the last ones. The program loses each stop, and a
// share of this tool's CPU time, from 0 to 1.
func restAfter(costs []cost, share float64) time.Duration {
	var lost time.Duration
	for _, c := range costs {
		lost += c.stop + time.Duration(share*float64(c.own))
	}
	return min(max(costShare*lost/time.Duration(max(len(costs), 1)), leastRest), mostRest)
}

// takenShare returns the share of this tool's CPU time that is taken from the program, from 0 to 1. With a processor to
// spare it is 0. If the program has used all of them since the first sample, it is 1, because a thread that lost its
// processor holds up the others at the next barrier.
func (p *profiling) takenShare() float64 {
	used, err := p.meter.CPUTime()
	if err != nil || p.started.IsZero() {
		return 1
	}
	passed := max(time.Since(p.started), cpuStep)
	busy := float64(used-p.used) / float64(passed)
	return min(max(busy+1-float64(runtime.NumCPU()), 0), 1)
}

// sample adds a sample. On a busy machine a thread may get no processor for as long as a stop waits for it; then sample
// tries again, a few times.
func (p *profiling) sample(ctx context.Context) (err error) {
	for range maxStops {
		if err = p.look(ctx); !errors.Is(err, live.ErrStuck) || !wait(ctx, max(p.rest(), time.Second)) {
			break
		}
	}
	return err
}

// look adds one sample.
func (p *profiling) look(ctx context.Context) error {
	before := ownTime()
	a, err := p.target.sample(ctx, Query{
		Parts:  picture.Parts{Threads: true, Regions: true, Stacks: true},
		Budget: p.budget,
	}, p.names)
	if err != nil {
		return err
	}
	now := time.Now()
	c := cost{own: ownTime() - before}
	if pause := a.Picture.Target.Pause; pause != nil {
		c.stop = time.Duration(pause.Microseconds) * time.Microsecond
	}
	if p.started.IsZero() {
		p.started = now
		p.used, _ = p.meter.CPUTime() // with 0, the share is 1
	} else {
		p.costs = append(p.costs, c)
		p.costs = p.costs[max(len(p.costs)-keptCosts, 0):]
	}
	p.Add(a.Picture, now.Sub(p.last), c.own)
	p.last = now
	return a.Close()
}

// ownTime returns the CPU time that this process has used.
func ownTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
