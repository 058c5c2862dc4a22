package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// process is a running process.
type process struct {
	*live.Process
	pause   live.Pause
	sampler *live.Sampler // nil before the first sample
	death   *live.Death   // the signal that the process is about to die of; may be nil
}

// BeforeStop sets a function that each look calls before it stops the process. The data of the rehearsal is not used
// any more then, so that it is a good time to collect garbage.
func (t *Target) BeforeStop(f func()) {
	if p, ok := t.source.(*process); ok {
		p.Process.BeforeStop(f)
	}
}

// Look calls f with a copy of the memory that rehearse has read.
func (l *process) Look(ctx context.Context, rehearse, f func(callbacks.Target) error) (err error) {
	l.pause, err = l.LookPrepared(ctx, rehearse, f)
	return err
}

// Sample is Look for a sample of a profile.
func (l *process) Sample(ctx context.Context, rehearse, f func(callbacks.Target) error) (err error) {
	if l.sampler == nil {
		l.sampler = l.NewSampler()
	}
	l.pause, err = l.sampler.Sample(ctx, rehearse, f)
	return err
}

// Living returns true: a process runs.
func (l *process) Living() bool { return true }

// Usage returns the CPU time that each thread has used since its start.
func (l *process) Usage() ([]picture.Use, error) {
	usage, err := l.Process.Usage()
	if err != nil {
		return nil, err
	}
	list := make([]picture.Use, len(usage))
	for i, u := range usage {
		list[i] = picture.Use{LWP: int(u.Thread.Value), CPU: u.User + u.System, Switches: u.Switches,
			Runnable: u.State == 'R'}
	}
	return list, nil
}

// Warnings returns the uncertainties of the last look.
func (l *process) Warnings() []error {
	var out []error
	if l.pause.Suspended {
		out = append(out, errors.New(phrase.Suspended(l.Info().PID)))
	}
	if l.pause.Held {
		out = append(out, errors.New("the program moved its data structures while they were copied; it was stopped "+
			"while the answer was made, for a hundredth of the budget at most"))
	}
	if l.pause.Holder != "" {
		advice := ""
		if l.pause.Releasable {
			advice = fmt.Sprintf("; `ompd-inspect release %d` makes it detach", l.Info().PID)
		}
		out = append(out, fmt.Errorf("no thread was stopped, as %s, holds the process: what ran or changed meanwhile "+
			"is not certain%s", l.pause.Holder, advice))
	}
	if list := l.pause.Stranded; len(list) > 0 {
		out = append(out, fmt.Errorf("it was not stopped: thread %d waits in a library that was unloaded, and the "+
			"process would die of a stop, as of any signal to that thread", list[0].Value))
	}
	if n := len(l.pause.Running); n > 0 {
		who := "a thread ran during the look: its stack and state"
		if n > 1 {
			who = fmt.Sprintf("%d threads ran during the look: their stacks and states", n)
		}
		out = append(out, errors.New(who+" are of different moments"))
	}
	if n := len(l.pause.Unsettled); n > 0 {
		out = append(out, fmt.Errorf("%d words of memory changed while they were read, the first at %v: what depends "+
			"on them is unsettled", n, l.pause.Unsettled[0]))
	}
	return out
}

// About describes the process, and the cost of the last look.
func (l *process) About() picture.Target {
	info := l.Info()
	t := picture.Target{
		Kind: picture.TargetProcess, PID: info.PID, Executable: info.Executable, Arch: l.Arch().String(),
		Command: strings.Join(info.Command, " "), Forked: info.Forked,
	}
	if elapsed, cpu, err := l.Times(); err == nil { // a process that has ended has no times
		t.Elapsed, t.CPU = elapsed.Seconds(), cpu.Seconds()
	}
	if d := l.death; d != nil {
		t.Signal, t.CrashedLWP = signalName(d.Signal), d.LWP
		if d.HasCode {
			t.SignalCode = &d.Code
		}
		if d.HasAddress {
			h := picture.Hex(d.Address.Offset)
			t.FaultAddress = &h
		}
		return t
	}
	t.Pause = &picture.Pause{
		Threads: l.pause.Threads, Stops: l.pause.Stops, Microseconds: l.pause.Duration.Microseconds(),
		Unsettled: len(l.pause.Unsettled), Running: len(l.pause.Running),
		Suspended: l.pause.Suspended,
	}
	return t
}
