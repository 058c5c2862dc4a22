package session

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Look answers a question about one moment of the target. The answer must be closed
// before the next look. If ctx ends, the look does, with its error; if the budget of the
// question is spent, the answer has what was read by then, and a warning.
func (t *Target) Look(ctx context.Context, q Question) (*Answer, error) {
	if t.asker != nil {
		return t.asker.Ask(ctx, q)
	}
	m, err := t.moment(ctx, q)
	if err != nil {
		return nil, err
	}
	return m.last, nil
}

// Moment is a target at one moment, of which several questions can be asked.
type Moment struct {
	source Source
	in     *inspect.Inspector
	target *Target
	known  *known
	guard  *gate
	memory *budget.Ledger
	last   *Answer
	cut    error // the budget of the look itself was spent
}

// Hold makes a Moment of the present one. The copy of a process has what q needs; of
// other targets, nothing is read yet. It is used until it is closed, and not after the
// target is.
func (t *Target) Hold(ctx context.Context, q Question) (*Moment, error) {
	if t.source == nil {
		return nil, ErrCannotStop
	}
	if !t.source.Living() {
		q = Question{Budget: q.Budget}
	}
	return t.moment(ctx, q)
}

// Bound has all that is read from now on end with ctx, or when so much processor time is
// used, 0 for any.
func (m *Moment) Bound(ctx context.Context, limit time.Duration) {
	m.guard.set(budget.New(ctx, limit))
}

// Spent is the error that reads end with, if the moment's context has ended or the
// processor time is used up. What was read since may be incomplete.
func (m *Moment) Spent() error {
	if m.cut != nil {
		return m.cut
	}
	return m.guard.Err()
}

// Ask answers a question about the moment. The answer is used until the moment is closed.
func (m *Moment) Ask(q Question) *Answer {
	a := q.read(m.in, m.guard.Err)
	m.finish(a)
	return a
}

// Target returns the target as it was at the moment.
func (m *Moment) Target() callbacks.Target { return m.in.Target() }

// Picture returns a picture with these parts, without verdicts.
func (m *Moment) Picture(want picture.Parts) *picture.Picture { return m.in.Picture(want) }

// Regions returns all parallel regions.
func (m *Moment) Regions() []picture.Region { return m.in.Regions() }

// Tasks yields all tasks. They are read while they are yielded.
func (m *Moment) Tasks() iter.Seq[picture.Task] { return m.in.Tasks() }

// ICVs returns the internal control variables.
func (m *Moment) ICVs() []picture.ICV { return m.in.ICVs() }

// ControlVars returns the control variables that are in force.
func (m *Moment) ControlVars() []picture.ControlVar { return m.in.ControlVars() }

// Layout returns the fields and globals of the runtimes, with their offsets and sources.
func (m *Moment) Layout() []picture.LayoutEntry { return m.in.Layout() }

// Checks returns the results of the checks of the target and its runtimes.
func (m *Moment) Checks() []picture.Check { return m.in.Doctor() }

// Breakpoints returns the locations at which a debugger can stop the runtimes.
func (m *Moment) Breakpoints() *picture.Breakpoints { return m.in.Breakpoints() }

// Close ends the use of the moment.
func (m *Moment) Close() error {
	m.guard.restart()
	if m.target.keep(m.known) {
		return nil
	}
	return m.known.Close()
}

// moment looks at the target and asks q.
func (t *Target) moment(ctx context.Context, q Question) (*Moment, error) {
	m := &Moment{source: t.source, memory: t.memory.Look(), target: t}
	m.guard, m.known = newGate(m.memory), t.takeKept(m.memory)
	whole := budget.New(ctx, q.Budget)
	ask := func(f func(*inspect.Inspector)) func(callbacks.Target) error {
		return func(ct callbacks.Target) (err error) {
			if _, local := local(ct); local {
				// It stays on the thread whose time is counted, so that it does not pay for other
				// looks. One that waits for a debugger at each read would pay for the change of
				// threads instead.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			part := whole
			if t.source.Living() {
				part = whole.Share(shares(ct))
				defer func() { whole.Return(part) }()
			}
			m.guard.restart()
			m.guard.set(part)
			if m.in, err = m.inspector(guarded(ct, m.guard), t.options, q.Only); err != nil {
				return err
			}
			m.in.Describe(t.source.About())
			f(m.in)
			return ctx.Err()
		}
	}
	read := ask(func(in *inspect.Inspector) {
		m.last = m.Ask(q)
		if t.source.Living() {
			q.readTasks(in)
		}
	})
	rehearse := func(ct callbacks.Target) error {
		defer func() { m.in = nil }() // nobody needs what it remembers
		return ask(q.rehearse)(ct)
	}
	if err := t.source.Look(ctx, rehearse, read); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.cut = m.guard.Err()
	m.guard.set(whole)
	m.in.Describe(t.source.About(), m.warnings()...) // with what the look cost
	m.last.close = m.Close
	return m, m.last.complete()
}

// warnings are what is odd about the target, and what there was no memory for.
func (m *Moment) warnings() []error {
	list := m.source.Warnings()
	look := m.memory.Err()
	if look != nil {
		list = append(list, look)
	}
	if err := m.known.memory.Err(); err != nil && (look == nil || err.Error() != look.Error()) {
		list = append(list, err)
	}
	return list
}

// heldShares is how small a part of the budget may be spent while a process stands still
// for it: 100 ms of the usual 10 s.
const heldShares = 100

// shares is into how many parts the budget is cut of which a look at a living target gets
// one: there is the rehearsal and the answer.
func shares(t callbacks.Target) int {
	if still, ok := t.(interface{ Held() bool }); ok && still.Held() {
		return heldShares
	}
	return 2
}

// finish completes an answer.
func (m *Moment) finish(a *Answer) {
	a.complete = func() error {
		m.in.Complete(a.Picture)
		if a.Breakpoints != nil {
			a.Breakpoints.Target.Pause, a.Breakpoints.Warnings = a.Picture.Target.Pause, a.Picture.Warnings
		}
		return nil
	}
	a.tasks, a.locate = m.in.Tasks(), m.in.Locate
	_ = a.complete()
}

// lookable is what a target must be able to do to be inspected.
type lookable interface {
	callbacks.Target
	callbacks.ModuleLister
}

// inspector joins what is needed to look at t.
func (m *Moment) inspector(t callbacks.Target, o Options, only picture.Only) (*inspect.Inspector, error) {
	lt, ok := t.(lookable)
	if !ok {
		return nil, errors.New("this kind of target does not list its modules")
	}
	mods, modErr := lt.Modules()
	sym, err := m.known.symbolizer(mods, o)
	if err != nil {
		return nil, err
	}
	unw := unwind.New(t, t.Arch(), mods).WithMemory(m.guard.kept)
	procs, rtErr := extended.Open(t, readers.Options{Options: layout.Options{
		Only: o.Sources, Kept: &m.known.code, Functions: unw.Functions,
	}})
	cfg := inspect.Config{
		Target:     t,
		Symbolizer: sym,
		Unwinder:   unw,
		Functions:  &m.known.functions,
		Budget:     m.guard,
		Only:       only,
	}
	if p, living := m.source.(*process); living {
		cfg.Monotonic, cfg.Rings = monotonic, p
		cfg.Clock = p.Clock
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
		learn(sym, p)
	}
	cfg.Warnings, cfg.Dormant = sortErrors(modErr, rtErr)
	return inspect.New(cfg)
}

// learn has the functions named of a runtime that is linked into an executable without symbols.
func learn(sym *symbolize.Symbolizer, p *extended.Process) {
	var known []symbolize.KnownFunction
	for _, f := range p.LinkedFunctions() {
		known = append(known, symbolize.KnownFunction{Name: f.Name, Low: f.Address.Offset, Size: f.Size})
	}
	sym.Learn(p.Identity().Module, known)
}

// monotonic returns the time of CLOCK_MONOTONIC, in nanoseconds.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}
