package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// core is a core file.
type core struct {
	*corefile.Core
	path string
}

// NewCoreSource returns the source of an open core. name is the name by which it was opened.
func NewCoreSource(c *corefile.Core, name string, o Options) Source {
	return core{c, cmp.Or(o.Label, name)}
}

// Look calls f once with the core.
func (c core) Look(_ context.Context, _, f func(callbacks.Target) error) error {
	if c.Info().Recording {
		return fmt.Errorf("%s: %w: `ompd-inspect trace %s` shows the events", c.path, ErrRecording, c.path)
	}
	return f(c.Core)
}

// Saved returns the time at which the recording was written into a file; 0 if it is unknown.
func (c core) Saved() int64 { return c.Info().Moment }

// Living returns false: a core does not change.
func (c core) Living() bool { return false }

// Warnings returns the problems of the core.
func (c core) Warnings() []error {
	var out []error
	for _, w := range c.Info().Warnings {
		out = append(out, errors.New(w))
	}
	return out
}

// About describes the core.
func (c core) About() picture.Target {
	info := c.Info()
	t := picture.Target{
		Kind: picture.TargetCore, Path: c.path, PID: info.PID, Executable: info.Executable, Arch: c.Arch().String(),
		CrashedLWP: int(info.CrashedLWP), Producer: info.Producer, Command: info.Args,
		Forked: info.Forked,
	}
	if info.Signal != 0 {
		t.Signal = signalName(info.Signal)
		if info.HasCode {
			t.SignalCode = &info.SignalCode
		}
	}
	if info.HasFault {
		h := picture.Hex(info.FaultAddress.Offset)
		t.FaultAddress = &h
	}
	return t
}

// signalName returns the name of a signal, or its number if it has no name.
func signalName(n int) string {
	return cmp.Or(unix.SignalName(unix.Signal(n)), fmt.Sprintf("signal %d", n))
}
