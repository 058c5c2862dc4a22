package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Look takes a snapshot of the target and answers a query about it. The result must be closed before the next look.
// If ctx ends, Look returns its error. If the budget of the query is spent, the result contains the parts that were
// read, and a warning.
func (t *Target) Look(ctx context.Context, q Query) (*Result, error) {
	if t.asker != nil {
		return t.asker.Ask(ctx, q)
	}
	s, err := t.takeSnapshot(ctx, q, t.source.Look, nil)
	if err != nil {
		return nil, err
	}
	return s.last, nil
}

// looking is Source.Look, or Sampled.Sample.
type looking func(ctx context.Context, rehearse, f func(callbacks.Target) error) error

// sample is Look for a sample of a profile: it differs little from the sample before. names has the names of earlier
// samples.
func (t *Target) sample(ctx context.Context, q Query, names *inspect.HeapNames) (*Result, error) {
	look := t.source.Look
	if s, ok := t.source.(Sampled); ok {
		look = s.Sample
	}
	s, err := t.takeSnapshot(ctx, q, look, names)
	if err != nil {
		return nil, err
	}
	return s.last, nil
}

// Snapshot is a target at one time, which can be queried several times.
type Snapshot struct {
	source   Source
	in       *inspect.Inspector
	target   *Target
	known    *known
	names    *inspect.HeapNames // of earlier samples; nil for a look of its own
	guard    *gate
	memory   *budget.Ledger
	last     *Result
	cutShort error // the budget of the look itself was spent
}

// Snapshot takes a snapshot of the target. The copy of a process contains the memory that q needs; other targets are
// not read yet. The snapshot must be closed before the target is.
func (t *Target) Snapshot(ctx context.Context, q Query) (*Snapshot, error) {
	if t.source == nil {
		return nil, ErrCannotStop
	}
	if !t.source.Living() {
		q = Query{Budget: q.Budget}
	}
	return t.takeSnapshot(ctx, q, t.source.Look, nil)
}

// takeSnapshot takes a snapshot by look, and answers q. names are those of earlier samples; nil for a look of its own.
func (t *Target) takeSnapshot(ctx context.Context, q Query, look looking, names *inspect.HeapNames) (*Snapshot, error) {
	s := &Snapshot{source: t.source, memory: t.memory.Look(), target: t, names: names}
	s.guard, s.known = newGate(s.memory), t.takeKept(s.memory)
	whole := budget.New(ctx, q.Budget)
	ask := func(f func(*inspect.Inspector)) func(callbacks.Target) error {
		return func(ct callbacks.Target) (err error) {
			if _, local := directTarget(ct); local {
				// The CPU time of this thread is counted; another look on the same thread would be counted too. A
				// target that a debugger lends waits at each read, which would cost a switch of threads each time.
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			part := whole
			if t.source.Living() {
				part = whole.Share(shares(ct))
				defer func() { whole.Return(part) }()
			}
			s.guard.restart()
			s.guard.set(part)
			if s.in, err = s.inspector(guarded(ct, s.guard), t.options, q.Only); err != nil {
				return err
			}
			s.in.Describe(t.source.About())
			f(s.in)
			return ctx.Err()
		}
	}
	read := ask(func(in *inspect.Inspector) {
		s.last = s.Ask(q)
		if t.source.Living() {
			q.readTasks(in)
		}
	})
	rehearse := func(ct callbacks.Target) error {
		defer func() { s.in = nil }() // its data is garbage before the process is stopped
		return ask(q.rehearse)(ct)
	}
	if err := look(ctx, rehearse, read); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.cutShort = s.guard.Err()
	s.guard.set(whole)
	s.in.Describe(t.source.About(), s.warnings()...) // with the cost of the look
	s.last.close = s.Close
	return s, s.last.complete()
}

// heldShares is the part of the budget that may be spent while a process is stopped for the whole look: 100 ms of the
// default 10 s.
const heldShares = 100

// shares returns the number of parts into which the budget is divided; a look at a living target gets one. There are
// two passes, the rehearsal and the query itself.
func shares(t callbacks.Target) int {
	if still, ok := t.(live.StoppedTarget); ok && still.IsHeld() {
		return heldShares
	}
	return 2
}

// lookable is a target that can be inspected.
type lookable interface {
	callbacks.Target
	callbacks.ModuleLister
}

// inspector returns an inspector of t, with the symbolizer, unwinder and runtimes that it needs.
func (s *Snapshot) inspector(t callbacks.Target, o Options, only picture.Only) (*inspect.Inspector, error) {
	lt, ok := t.(lookable)
	if !ok {
		return nil, errors.New("this kind of target does not list its modules")
	}
	mods, modErr := lt.Modules()
	sym, err := s.known.symbolizer(mods, o)
	if err != nil {
		return nil, err
	}
	unw := s.known.unwinder(t, mods)
	var procs []*extended.Process
	rtErr := emulated(t, mods)
	if rtErr == nil {
		procs, rtErr = extended.Open(t, readers.Options{Options: layout.Options{
			Only: o.Sources, Kept: &s.known.code, Functions: unw.Functions,
		}})
	}
	cfg := inspect.Config{
		Target:     t,
		Symbolizer: sym,
		Unwinder:   unw,
		Functions:  &s.known.functions,
		Budget:     s.guard,
		Only:       only,
		HeapNames:  s.names,
	}
	if p, living := s.source.(*process); living {
		cfg.Monotonic, cfg.Rings = monotonic, p
		cfg.Clock, cfg.PerfMap = p.Clock, p.PerfMap
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
		learn(sym, p)
	}
	cfg.Warnings, cfg.Dormant = sortErrors(modErr, rtErr)
	return inspect.New(cfg)
}

// emulated returns an error if a target is an emulator (qemu-user) that executes a program for another architecture:
// a module is for that one. The threads' registers and stacks are those of the emulator.
func emulated(t callbacks.Target, mods []*callbacks.Module) error {
	emulator := "an emulator"
	if i := slices.IndexFunc(mods, func(m *callbacks.Module) bool { return m.Main }); i >= 0 {
		emulator = filepath.Base(mods[i].Path)
	}
	for _, m := range mods {
		of := elfx.ArchOf(m.Image)
		if of == t.Arch() || of == callbacks.ArchUnknown {
			continue
		}
		return fmt.Errorf("it is an emulated program for %v, executed by %s: its OpenMP runtime is not read, and "+
			"threads and stacks are those of the emulator; inspect a core that the emulator writes when the program "+
			"crashes (ulimit -c unlimited)", of, emulator)
	}
	if !strings.HasPrefix(emulator, "qemu-") { // other programs map files of other machines to read them
		return nil
	}
	if of := foreignMachine(t); of != "" {
		return fmt.Errorf("it is an emulated program for %s, executed by %s: programs for that machine are not read, "+
			"and threads and stacks are those of the emulator; gdb reads the program through the emulator's own "+
			"server (qemu-user's -g)", of, emulator)
	}
	return nil
}

// foreignMachine returns the machine of a mapped ELF file that is for none of the supported ones, or "".
func foreignMachine(t callbacks.Target) string {
	lister, ok := t.(callbacks.MappingLister)
	if !ok {
		return ""
	}
	for _, m := range lister.Mappings() {
		var b [elfx.HeadSize]byte
		if m.File == "" || m.FileOffset != 0 || t.ReadMemory(m.Low, b[:]) != nil {
			continue
		}
		if machine := elfx.UnsupportedMachine(b[:]); machine != "" {
			return machine
		}
	}
	return ""
}

// learn gives the symbolizer the names of a runtime's functions that is linked into an executable without symbols.
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

// Ask answers a query about the snapshot. The result is valid until the snapshot is closed.
func (s *Snapshot) Ask(q Query) *Result {
	a := q.read(s.in, s.guard.Err)
	s.finish(a)
	return a
}

// finish adds to a result the functions that complete it.
func (s *Snapshot) finish(a *Result) {
	a.complete = func() error {
		s.in.Complete(a.Picture)
		if a.Breakpoints != nil {
			a.Breakpoints.Target.Pause, a.Breakpoints.Warnings = a.Picture.Target.Pause, a.Picture.Warnings
		}
		return nil
	}
	a.tasks, a.locate = s.in.Tasks(), s.in.Locate
	_ = a.complete()
}

// warnings returns the problems of the target, and the parts that exceeded the memory limit.
func (s *Snapshot) warnings() []error {
	list := s.source.Warnings()
	look := s.memory.Err()
	if look != nil {
		list = append(list, look)
	}
	if err := s.known.memory.Err(); err != nil && (look == nil || err.Error() != look.Error()) {
		list = append(list, err)
	}
	return list
}

// Bound limits all later reads by ctx and a CPU time; 0 means no limit.
func (s *Snapshot) Bound(ctx context.Context, limit time.Duration) {
	s.guard.set(budget.New(ctx, limit))
}

// Spent returns the error that ended the reads, if the context of the snapshot has ended or its CPU time is used up.
// Results since then may be incomplete.
func (s *Snapshot) Spent() error {
	if s.cutShort != nil {
		return s.cutShort
	}
	return s.guard.Err()
}

// Target returns the target as it was when the snapshot was taken.
func (s *Snapshot) Target() callbacks.Target { return s.in.Target() }

// Picture returns a picture with these parts, without verdicts.
func (s *Snapshot) Picture(want picture.Parts) *picture.Picture { return s.in.Picture(want) }

// Regions returns all parallel regions.
func (s *Snapshot) Regions() []picture.Region { return s.in.Regions() }

// Tasks yields all tasks. They are read while they are yielded.
func (s *Snapshot) Tasks() iter.Seq[picture.Task] { return s.in.Tasks() }

// ICVs returns the internal control variables.
func (s *Snapshot) ICVs() []picture.ICV { return s.in.ICVs() }

// ControlVars returns the control variables that are in force.
func (s *Snapshot) ControlVars() []picture.ControlVar { return s.in.ControlVars() }

// Layout returns the fields and globals of the runtimes, with their offsets and sources.
func (s *Snapshot) Layout() []picture.LayoutEntry { return s.in.Layout() }

// Checks returns the results of the checks of the target and its runtimes.
func (s *Snapshot) Checks() []picture.Check { return s.in.Doctor() }

// Breakpoints returns the locations at which a debugger can stop the runtimes.
func (s *Snapshot) Breakpoints() *picture.Breakpoints { return s.in.Breakpoints() }

// Close frees the snapshot.
func (s *Snapshot) Close() error {
	s.guard.restart()
	if s.target.keep(s.known) {
		return nil
	}
	return s.known.Close()
}
