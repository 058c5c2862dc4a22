package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/delve"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// A target is a core file or a running process, opened.
type target interface {
	// about describes it; after a look, also what the look cost.
	about() inspect.Target
	// warnings are what is odd about it as a whole.
	warnings() []error
	// look calls f with a target that is of one moment and stays valid until
	// Close. It may call f several times; the last call counts. Before, it may
	// call prepare with targets that are of no one moment, to learn what f
	// will read.
	look(ctx context.Context, prepare, f func(callbacks.Target) error) error
	Close() error
}

// openTarget opens what the command line names: a process by its number, a
// program that Delve holds by Delve's address, a core by its path.
func (a *app) openTarget(name string) (target, error) {
	if strings.HasPrefix(name, delve.Scheme) {
		return a.openDelve(name)
	}
	if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
		p, err := live.Open(pid, a.liveOptions())
		if err != nil {
			return nil, fileInstead(name, err)
		}
		return &liveTarget{p: p}, nil
	}
	core, err := corefile.Open(name, corefile.Options{
		Exe: a.open.exe, Sysroot: a.open.sysroot, DebugDirs: a.open.debugDirs, Progress: a.progress("unpacking "+name, "MiB", 1<<20),
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: give a core file or the number of a process; `ompd-inspect ps` lists the processes that use OpenMP", err)
	}
	if err != nil {
		return nil, err
	}
	return coreTarget{core, name}, nil
}

func (a *app) liveOptions() live.Options {
	return live.Options{Sysroot: a.open.sysroot, DebugDirs: a.open.debugDirs, NoStop: a.open.noStop}
}

// fileInstead says how to open a core whose name is a number, if there is one.
func fileInstead(name string, err error) error {
	if _, statErr := os.Stat(name); statErr == nil {
		return fmt.Errorf("%w; for the file of that name: `ompd-inspect ./%s`", err, name)
	}
	return err
}

// coreTarget is a core file.
type coreTarget struct {
	*corefile.Core
	path string
}

func (c coreTarget) look(_ context.Context, _, f func(callbacks.Target) error) error {
	return f(c.Core)
}

func (c coreTarget) warnings() []error {
	var out []error
	for _, w := range c.Info().Warnings {
		out = append(out, errors.New(w))
	}
	return out
}

func (c coreTarget) about() inspect.Target {
	info := c.Info()
	t := inspect.Target{
		Kind: "core", Path: c.path, PID: info.PID, Executable: info.Executable, Arch: c.Arch().String(),
		CrashedLWP: int(info.CrashedLWP), Producer: info.Producer, Command: info.Args,
	}
	if info.Signal != 0 {
		t.Signal = signalName(info.Signal)
		if info.HasCode {
			t.SignalCode = &info.SignalCode
		}
	}
	if info.HasFault {
		h := inspect.Hex(info.FaultAddress.Offset)
		t.FaultAddress = &h
	}
	return t
}

// signalName is the name of a signal, or its number if it has none.
func signalName(n int) string {
	return cmp.Or(unix.SignalName(unix.Signal(n)), fmt.Sprintf("signal %d", n))
}

// liveTarget is a running process.
type liveTarget struct {
	p     *live.Process
	pause live.Pause
	death *live.Death // the signal that it is about to die of; nil if none
}

func (l *liveTarget) look(ctx context.Context, prepare, f func(callbacks.Target) error) (err error) {
	l.pause, err = l.p.LookPrepared(ctx, prepare, f)
	return err
}

func (l *liveTarget) Close() error { return l.p.Close() }

func (l *liveTarget) warnings() []error {
	var out []error
	if l.pause.Held {
		out = append(out, errors.New("the program moved its structures about while it was copied; it was stopped until the answer was complete"))
	}
	if n := len(l.pause.Running); n > 0 {
		out = append(out, fmt.Errorf("%d threads ran while they were looked at: their stacks and states are of different moments", n))
	}
	if n := len(l.pause.Unsettled); n > 0 {
		out = append(out, fmt.Errorf("%d words of memory changed while they were read, the first at %v: what depends on them is unsettled", n, l.pause.Unsettled[0]))
	}
	return out
}

func (l *liveTarget) about() inspect.Target {
	info := l.p.Info()
	t := inspect.Target{
		Kind: "process", PID: info.PID, Executable: info.Executable, Arch: l.p.Arch().String(),
		Command: strings.Join(info.Command, " "),
	}
	if d := l.death; d != nil {
		t.Signal, t.CrashedLWP = signalName(d.Signal), d.LWP
		if d.HasCode {
			t.SignalCode = &d.Code
		}
		if d.HasAddress {
			h := inspect.Hex(d.Address.Offset)
			t.FaultAddress = &h
		}
		return t
	}
	t.Pause = &inspect.Pause{
		Threads: l.pause.Threads, Stops: l.pause.Stops,
		Microseconds: l.pause.Duration.Microseconds(), Unsettled: len(l.pause.Unsettled), Running: len(l.pause.Running),
	}
	return t
}
