package delve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Pause describes the effect of a look on the program.
type Pause struct {
	Halted   bool          // it ran, and was halted for the look
	Duration time.Duration // from the halt until it ran again
	Threads  int
}

// state is the relevant part of api.DebuggerState.
type state struct {
	Pid               int
	TargetCommandLine string
	Running           bool
	Recording         bool
	CoreDumping       bool
	Exited            bool   `json:"exited"`
	ExitStatus        int    `json:"exitStatus"`
	StopReason        string `json:"stopReason"`
	Threads           []thread
}

// thread is the relevant part of api.Thread.
type thread struct {
	ID int    `json:"id"` // LWP
	PC uint64 `json:"pc"`
}

// Look calls f with the stopped program. If the program runs, Look calls announce, halts it, and
// resumes it after f; if another client has stopped it, it stays stopped. The target of f stays
// valid until Close; after the look it answers from its cache.
func (p *Process) Look(ctx context.Context, announce func(), f func(callbacks.Target) error) (pause Pause, err error) {
	before, err := p.state(ctx)
	if err != nil {
		return pause, err
	}
	if before.Running {
		announce()
		start := time.Now()
		if before, err = p.halt(ctx); err != nil {
			return pause, err
		}
		if pause.Halted = before.StopReason == "manual"; pause.Halted {
			defer func() {
				err = errors.Join(err, p.resume(context.WithoutCancel(ctx)))
				pause.Duration = time.Since(start)
			}()
		} // otherwise it has just stopped by itself, and another client will expect that
	}
	p.info.PID, p.info.Command, pause.Threads = before.Pid, before.TargetCommandLine, len(before.Threads)
	s, err := p.sight(ctx, before)
	if err != nil {
		return pause, err
	}
	p.seen = append(p.seen, s)
	defer s.over.Store(true)
	if mods, _ := s.target.InContext(ctx).(callbacks.ModuleLister).Modules(); len(mods) > 0 {
		p.info.Executable = mods[0].Path
	}
	if err := f(s.target.InContext(ctx)); err != nil {
		return pause, err
	}
	return pause, p.unchanged(ctx, before)
}

// state returns the state without waiting for a running program.
func (p *Process) state(ctx context.Context) (*state, error) {
	var out struct{ State *state }
	err := p.conn.call(ctx, "State", struct{ NonBlocking bool }{true}, &out)
	return out.State.sorted(), p.living(out.State, err)
}

// halt stops the program.
func (p *Process) halt(ctx context.Context) (*state, error) {
	var out struct{ State *state }
	err := p.conn.call(ctx, "Command", command{"halt"}, &out)
	return out.State.sorted(), p.living(out.State, err)
}

// sorted sorts the threads; Delve lists them in random order.
func (s *state) sorted() *state {
	if s != nil {
		slices.SortFunc(s.Threads, func(a, b thread) int { return cmp.Compare(a.ID, b.ID) })
	}
	return s
}

// command is the relevant part of api.DebuggerCommand.
type command struct {
	Name string `json:"name"`
}

// resume resumes the program, over a new connection if the old one is lost. It does not wait for Delve's reply,
// which arrives at the next stop; the state shows that the program runs.
func (p *Process) resume(ctx context.Context) error {
	c := p.conn
	if c.broken() != nil {
		fresh, err := dial(ctx, c.address, c.timeout)
		if err != nil {
			return fmt.Errorf("the program was halted and still is: %w", err)
		}
		defer fresh.close()
		c = fresh
	}
	var now struct{ State state }
	r := request{method: "State", in: struct{ NonBlocking bool }{true}, out: &now}
	if err := c.call(ctx, r.method, r.in, r.out); err == nil && now.State.Running {
		return nil // another client was faster; a second command would wait for the next stop
	}
	if err := c.tell(ctx, "Command", command{"continue"}, &r); err != nil {
		return fmt.Errorf("the program was halted and may still be: %w: see with `dlv connect %s`, and `continue`", err,
			c.address)
	}
	var f failure
	if errors.As(r.err, &f) { // it has ended right after
		return nil
	}
	return r.err
}

// living returns an error if Delve has no process that can be inspected.
func (p *Process) living(s *state, err error) error {
	var f failure
	switch {
	case errors.As(err, &f) && strings.Contains(string(f), "has exited"), err == nil && s != nil && s.Exited:
		if s != nil {
			f = failure(fmt.Sprintf("process %d has exited with status %d", s.Pid, s.ExitStatus))
		}
		return fmt.Errorf("%w: the Delve at %s says: %s: `restart` it there", ErrNoProcess, p.conn.address, f)
	case err != nil:
		return fmt.Errorf("state of the program: %w", err)
	case s == nil:
		return fmt.Errorf("state of the program: %w", errNotDelve)
	case s.Recording || s.CoreDumping:
		return fmt.Errorf("the Delve at %s is recording, or writes a core: ask again when it is done", p.conn.address)
	}
	return nil
}

// unchanged returns an error if the program ran since before.
func (p *Process) unchanged(ctx context.Context, before *state) error {
	now, err := p.state(ctx)
	if err != nil {
		return err
	}
	if now.Running || !slices.Equal(now.Threads, before.Threads) {
		return fmt.Errorf("%w: what was read does not belong to one moment: repeat the command", ErrRan)
	}
	return nil
}

// sight prepares the target of one look.
func (p *Process) sight(ctx context.Context, now *state) (*sight, error) {
	if err := p.recording(ctx); err != nil {
		return nil, err
	}
	s := &sight{p: p}
	regs, err := s.registers(ctx, now.Threads[:min(1, len(now.Threads))]...)
	if err != nil {
		return nil, err
	}
	if len(regs) == 0 || regs[0] == nil {
		return nil, fmt.Errorf("%w: the Delve at %s gives no registers of it", ErrNoProcess, p.conn.address)
	}
	hello := &ompdv1.Hello{
		About: &ompdv1.Target{Kind: ompdv1.TargetKind_TARGET_KIND_PROCESS, Pid: int64(now.Pid),
			Command: now.TargetCommandLine,
			Arch:    regs[0].arch.String()},
		Powers: []ompdv1.Power{ompdv1.Power_POWER_REGISTERS},
	}
	hello.About.Executable, _, _ = strings.Cut(now.TargetCommandLine, " ")
	if hello.Auxv, err = s.auxv(ctx); err != nil {
		return nil, err
	}
	opts := p.opts.Options
	opts.Exe = p.executable(now.Pid)
	s.target, err = remote.New(hello, s, opts)
	return s, err
}
