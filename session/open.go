package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Options say how targets are opened and read. The zero value finds files where the
// target says that they are, and asks no server for debug information.
type Options struct {
	Exe       string   // the executable of a core, wherever the core says it is
	Sysroot   string   // directory that stands for "/" of the target's machine
	DebugDirs []string // directories of separate debug files, such as /usr/lib/debug
	// Debuginfod are the addresses of servers that are asked for debug information.
	Debuginfod []string
	// NoDebug names code by the symbols of the target's own files only: functions without
	// lines, and nothing that only debug information tells.
	NoDebug bool
	// NoStop forbids to stop the threads of a process.
	NoStop bool
	// Sources limits from where layouts of runtimes are taken; nil means from all.
	Sources []string
	// Label is the name of a core in pictures; empty means that by which it is opened.
	Label string
	// Open opens the files that a target names, and a core itself; nil opens all that this
	// process may read.
	Open func(name string) (*os.File, error)
	// MaxMemory is what a target may make this process hold, in bytes: 0 for
	// budget.DefaultMemory, -1 for any. What does not fit is left out, and said.
	MaxMemory int64
	Unpack
	// Memory counts what the target takes, in place of a ledger of its own with MaxMemory;
	// nil for that.
	Memory callbacks.Ledger
	// Openers are asked for a target before it is looked for on this machine.
	Openers []Opener

	memory *budget.Ledger // of the target that is being opened
}

// Unpack says how a compressed core is decompressed.
type Unpack struct {
	// Unpacking is told now and then how many bytes are unpacked; it may be nil.
	Unpacking func(done int64)
	// Work is the processor time that it may take, for each 64 MiB of the file; 0 for any.
	Work time.Duration
}

// Opener opens targets of one kind, which it knows by their names. It returns nil, and no
// error, for a name of another kind.
type Opener func(ctx context.Context, name string, o Options) (*Target, error)

// Source is what can be looked at: a core, a process, a program that a debugger holds.
// It is used by one goroutine at a time.
type Source interface {
	// About describes it; after a look, also what the look cost.
	About() picture.Target
	// Warnings are what is odd about it as a whole, or about the last look.
	Warnings() []error
	// Look calls f with a target that is of one moment and stays valid until the next
	// look. It may call f several times; the last call counts. Before, it may call
	// rehearse with targets that are of no one moment, to learn what f will read.
	Look(ctx context.Context, rehearse, f func(callbacks.Target) error) error
	// Living reports whether it may be different at another moment by itself.
	Living() bool
	// Close frees it.
	Close() error
}

// Stopper is a Source that can be held at one moment: until Resume, all looks are at that.
type Stopper interface {
	Stop(ctx context.Context) error
	Resume() error
}

// Meter is a Source that knows what its threads have used.
type Meter interface {
	// Used is what each thread has used since it began.
	Used() ([]picture.Use, error)
}

// Asker answers questions about one target by itself, as a server does.
type Asker interface {
	// Ask answers a question about the present moment.
	Ask(ctx context.Context, q Question) (*Answer, error)
	// Watch looks several times, as Target.Watch does.
	Watch(ctx context.Context, interval time.Duration, count int) Looks
	// Close frees the target.
	Close() error
}

// Errors that say what a target is not.
var (
	// ErrNoTarget says that nothing has the name of a target.
	ErrNoTarget = errors.New("give a core file or the number of a process; `ompd-inspect ps` lists the processes " +
		"that use OpenMP")
	// ErrCannotStop says that a target cannot be held at one moment.
	ErrCannotStop = errors.New("this kind of target cannot be stopped")
	// ErrExited says that a process has ended.
	ErrExited = live.ErrExited
	// ErrNoThread says that a target has no thread of the number that is asked for.
	ErrNoThread = inspect.ErrNoThread
	// ErrNoRegion and ErrNoTask say that a target has none by the ID that is asked for.
	ErrNoRegion, ErrNoTask = inspect.ErrNoRegion, inspect.ErrNoTask
	// ErrRecording says that a file has only what was recorded of a process, of which there are no pictures.
	ErrRecording = errors.New("it has what `record --save` wrote, the events of a program without its memory")
	// ErrNoMemory says that a target's memory is read by who answers for it, and not here.
	ErrNoMemory = errors.New("its memory is not read here")
	// ErrNotWatched says that a target is no running process.
	ErrNotWatched = errors.New("it is not a process that can be watched: give the number of a process")
)

// Target is an open target. It is used by one goroutine at a time.
type Target struct {
	source  Source
	asker   Asker
	options Options
	memory  *budget.Ledger
	keeps   bool   // Keep was called
	kept    *known // of the last look, nil if there is none
}

// Open opens what a name names: a process by its number, a core by its path, and what
// the openers of the options know. The target must be closed.
func Open(ctx context.Context, name string, o Options) (*Target, error) {
	o.Ledger()
	for _, open := range o.Openers {
		if t, err := open(ctx, name, o); t != nil || err != nil {
			return t, err
		}
	}
	if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
		p, err := live.Open(pid, o.Live())
		if err != nil {
			if o.Open != nil { // whether there is such a file is not for who asks
				return nil, err
			}
			return nil, fileInstead(name, err)
		}
		return OfProcess(p, nil, o), nil
	}
	core, err := corefile.Open(name, corefile.Options{
		Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Open: o.Open, Progress: o.Unpacking, Canceled: ctx.Err,
		Memory: o.memory, Work: o.Work,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", err, ErrNoTarget)
	}
	if err != nil {
		return nil, err
	}
	return NewTarget(OfCore(core, name, o), o), nil
}

// NewTarget makes a target of a source, which it closes in the end.
func NewTarget(s Source, o Options) *Target {
	o.memory = cmp.Or(o.memory, o.ledger())
	return &Target{source: s, options: o, memory: o.memory}
}

// ledger is one of the size that the options say.
func (o Options) ledger() *budget.Ledger {
	switch {
	case o.Memory != nil:
		return budget.LedgerOf(o.Memory)
	case o.MaxMemory < 0:
		return budget.NewLedger(0)
	case o.MaxMemory == 0:
		return budget.NewLedger(budget.DefaultMemory)
	}
	return budget.NewLedger(uint64(o.MaxMemory))
}

// Ledger is what counts the memory of the one target that is opened with these options, for
// sources that take some.
func (o *Options) Ledger() callbacks.Ledger {
	if o.memory == nil {
		o.memory = o.ledger()
	}
	return o.memory
}

// OfAsker makes a target of what answers by itself; Close closes it.
func OfAsker(a Asker) *Target { return &Target{asker: a} }

// Live are the options as package live has them.
func (o Options) Live() live.Options {
	return live.Options{
		Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, NoStop: o.NoStop, Open: o.Open,
		Memory: cmp.Or(o.memory, o.ledger()),
	}
}

// fileInstead says how to open a core whose name is a number, if there is one.
func fileInstead(name string, err error) error {
	if _, statErr := os.Stat(name); statErr == nil {
		return fmt.Errorf("%w; for the file of that name: `ompd-inspect ./%s`", err, name)
	}
	return err
}

// About describes the target, as far as it is known without a look.
func (t *Target) About() picture.Target {
	if t.source == nil {
		return picture.Target{}
	}
	return t.source.About()
}

// Living reports whether the target may be different at another moment by itself.
func (t *Target) Living() bool { return t.source == nil || t.source.Living() }

// Stop holds the target at the present moment until Resume. Whoever can ask in one piece
// should only look, which stops a process much shorter.
func (t *Target) Stop(ctx context.Context) error {
	if s, ok := t.source.(Stopper); ok {
		return s.Stop(ctx)
	}
	if t.Living() {
		return ErrCannotStop
	}
	return nil // it stands still
}

// Resume lets the target go on.
func (t *Target) Resume() error {
	if s, ok := t.source.(Stopper); ok {
		return s.Resume()
	}
	return nil
}

// Read calls f with the target at one moment, for whoever reads its memory by itself. It
// may call f several times; the last call counts.
func (t *Target) Read(ctx context.Context, f func(callbacks.Target) error) error {
	if t.source == nil {
		return ErrNoMemory
	}
	return t.source.Look(ctx, f, f)
}

// Direct returns the target as it is now, whose memory is read without stopping it. The error is ErrNoMemory if this
// module does not read the target by itself.
func (t *Target) Direct() (Direct, error) {
	if d, ok := t.source.(Direct); ok {
		return d, nil
	}
	return nil, ErrNoMemory
}

// Saved returns the time at which the recording of a core was written into a file, by CLOCK_MONOTONIC in nanoseconds;
// 0 if it is unknown.
func (t *Target) Saved() int64 {
	if c, ok := t.source.(core); ok {
		return c.Moment()
	}
	return 0
}

// Options returns the options that the target was opened with.
func (t *Target) Options() Options { return t.options }

// Used is what each thread of a process has used since it began. The error of a target
// that is no process is ErrNotWatched.
func (t *Target) Used() ([]picture.Use, error) {
	total, err := t.used()
	if err == nil {
		t.written(total)
	}
	return total, err
}

func (t *Target) used() ([]picture.Use, error) {
	if m, ok := t.source.(Meter); ok {
		return m.Used()
	}
	return nil, ErrNotWatched
}

// Close frees the target. What was got from it by then stays, but for lists that were
// not read to their end.
func (t *Target) Close() error {
	if t.asker != nil {
		return t.asker.Close()
	}
	err := t.source.Close()
	if t.kept != nil {
		err = errors.Join(err, t.kept.Close())
		t.kept = nil
	}
	return err
}
