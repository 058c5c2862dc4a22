package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mortal is a core that looks like a process until its looks are used up; then they end with an error.
type mortal struct {
	engine.Source
	core  *corefile.Core
	looks int
	err   error
	after func()
}

// Look calls f with the core.
func (m *mortal) Look(_ context.Context, _, f func(callbacks.Target) error) error {
	if m.looks--; m.looks < 0 {
		return m.err
	}
	if m.after != nil && m.looks == 0 {
		defer m.after()
	}
	return f(m.core)
}

// About describes a process.
func (m *mortal) About() picture.Target {
	return picture.Target{Kind: picture.TargetProcess, PID: 7, Pause: &picture.Pause{Stops: 1}}
}

// Usage makes it a process.
func (m *mortal) Usage() ([]picture.Use, error) { return nil, nil }

// CPUTime makes it a process that does not work.
func (m *mortal) CPUTime() (time.Duration, error) { return 0, nil }

// newMortal returns the target of a golden core with a number of looks.
func newMortal(t *testing.T, looks int, err error) (*engine.Target, *mortal) {
	t.Helper()
	path, o, done := goldenCore("llvm-deadlock")
	t.Cleanup(done)
	core, openErr := corefile.Open(path, corefile.Options{Exe: o.Exe, Sysroot: o.Sysroot})
	if openErr != nil {
		t.Fatal(openErr)
	}
	m := &mortal{Source: engine.NewCoreSource(core, path, o), core: core, looks: looks, err: err}
	target := engine.NewTarget(m, o)
	t.Cleanup(func() { target.Close() })
	return target, m
}

// TestProfileEnds checks the ends of a profile: the end of the process, another program, a failed sample, a number of
// samples, and a canceled context. Each end returns the samples before it.
func TestProfileEnds(t *testing.T) {
	gone := &live.Error{PID: 7, Err: live.ErrNoProcess}
	for _, c := range []struct {
		err  error
		want picture.ProfileEnd
	}{
		{live.ErrExited, picture.ProfileExited}, {gone, picture.ProfileExited}, {live.ErrExec, picture.ProfileExec},
		{errors.New("no memory"), picture.ProfileFailed},
	} {
		target, _ := newMortal(t, 3, fmt.Errorf("process 7: %w", c.err))
		p, err := target.Profile(t.Context(), engine.ProfileOptions{})
		if err != nil || p.End != c.want || p.Samples != 3 || len(p.Places) == 0 {
			t.Errorf("%v: %+v, %v", c.err, p, err)
		}
		if warned := len(p.Warnings) > 0; warned != (c.want == picture.ProfileFailed) {
			t.Errorf("%v: warnings %q", c.err, p.Warnings)
		}
	}
	target, _ := newMortal(t, 3, live.ErrExited)
	if p, err := target.Profile(t.Context(), engine.ProfileOptions{Samples: 2}); err != nil || p.Samples != 2 ||
		p.End != picture.ProfileTimeOver {
		t.Errorf("2 samples: %+v, %v", p, err)
	}
	target, m := newMortal(t, 2, live.ErrExited)
	ctx, cancel := context.WithCancel(t.Context())
	m.after = cancel
	p, err := target.Profile(ctx, engine.ProfileOptions{})
	if err != nil || p.End != picture.ProfileInterrupted || p.Samples == 0 {
		t.Errorf("canceled: %+v, %v", p, err)
	}
}

// TestNoProfile checks the errors: a process that has ended before the first sample, and a core.
func TestNoProfile(t *testing.T) {
	target, _ := newMortal(t, 0, live.ErrExited)
	if p, err := target.Profile(t.Context(), engine.ProfileOptions{}); !errors.Is(err, live.ErrExited) {
		t.Errorf("%+v, %v", p, err)
	}
	core := open(t, "llvm-deadlock")
	if p, err := core.Profile(t.Context(), engine.ProfileOptions{}); !errors.Is(err, engine.ErrNotWatched) {
		t.Errorf("%+v, %v", p, err)
	}
}
