package engine

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

// LayoutSources are the names of the sources of layouts.
var LayoutSources = []string{"symbols", "memory", "debuginfo", "code", "table"}

// Options control how targets are opened and read. The zero value finds files at the paths that the target names, and
// uses no server for debug information.
type Options struct {
	Exe       string   // path of a core's executable, instead of the path in the core
	Sysroot   string   // directory that replaces "/" of the target's machine
	DebugDirs []string // directories of separate debug files, such as /usr/lib/debug
	// Debuginfod lists the URLs of servers for debug information.
	Debuginfod []string
	// NoDebug ignores debug information: code is named by the symbols of the target's own files, without lines.
	NoDebug bool
	// NoStop forbids stopping the threads of a process.
	NoStop bool
	// Sources limits the sources of the runtimes' layouts to some of LayoutSources; nil allows all.
	Sources []string
	// Label is the name of a core in pictures; by default the name by which it is opened.
	Label string
	// Open opens the files that a target names, and a core itself; nil opens all files that this process may read.
	Open func(name string) (*os.File, error)
	// MaxMemory limits the memory that a target uses in this process, in bytes: 0 means budget.DefaultMemory, -1 no
	// limit. Parts that do not fit are left out, with a warning.
	MaxMemory int64
	Unpack
	// Memory counts the memory of the target. It replaces a ledger of MaxMemory bytes; it may be nil.
	Memory callbacks.Ledger
	// Openers are tried before the name is taken for a process or a core of this machine.
	Openers []Opener

	memory *budget.Ledger // of the target that is being opened
}

// Unpack controls the decompression of a core.
type Unpack struct {
	// Unpacking is called several times with the number of unpacked bytes and the part of the file that was read
	// (0: unknown); it may be nil.
	Unpacking func(done int64, part float64)
	// Work limits the CPU time for each 64 MiB of the file; 0 means no limit.
	Work time.Duration
}

// Errors of targets and queries.
var (
	// ErrNoTarget reports that no target has the name.
	ErrNoTarget = errors.New("give a core file or the number of a process; `ompd-inspect ps` lists the processes " +
		"that use OpenMP")
	// ErrCannotStop reports that a target cannot be stopped.
	ErrCannotStop = errors.New("this kind of target cannot be stopped")
	// ErrExited reports that a process has ended.
	ErrExited = live.ErrExited
	// ErrNoThread reports that a target has no thread with the LWP of the query.
	ErrNoThread = inspect.ErrNoThread
	// ErrNoRegion and ErrNoTask report that a target has no region, or no task, with the ID of the query.
	ErrNoRegion, ErrNoTask = inspect.ErrNoRegion, inspect.ErrNoTask
	// ErrRecording reports that a file contains only the events of a program, without its memory.
	ErrRecording = errors.New("it has what `record --save` wrote, the events of a program without its memory")
	// ErrNoMemory reports that the memory of a target is read by an Asker.
	ErrNoMemory = errors.New("its memory is not read here")
	// ErrNotWatched reports that a target is not a running process.
	ErrNotWatched = errors.New("it is not a process that can be watched: give the number of a process")
)

// Target is an open target. It is used by one goroutine at a time.
type Target struct {
	source  Source
	asker   Asker
	options Options
	memory  *budget.Ledger
	keeps   bool   // KeepFiles was called
	kept    *known // of the last look; may be nil
}

// Open opens a process by its number, a core by its path, or a target of one of the openers by its name. The target
// must be closed.
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
			if o.Open != nil { // the caller may not learn whether such a file exists
				return nil, err
			}
			return nil, fileInstead(name, err)
		}
		return NewProcessTarget(p, nil, o), nil
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
	return NewTarget(NewCoreSource(core, name, o), o), nil
}

// NewProcessTarget returns the target of an open process. death is the signal that the process is about to die of;
// nil if there is no such signal.
func NewProcessTarget(p *live.Process, death *live.Death, o Options) *Target {
	return NewTarget(&process{Process: p, death: death}, o)
}

// NewTarget returns a target that reads s. Close closes s.
func NewTarget(s Source, o Options) *Target {
	o.memory = cmp.Or(o.memory, o.ledger())
	return &Target{source: s, options: o, memory: o.memory}
}

// ledger returns a ledger of the size that the options allow.
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

// Ledger returns the ledger of the target that is opened with these options, for sources that use memory of their
// own.
func (o *Options) Ledger() callbacks.Ledger {
	if o.memory == nil {
		o.memory = o.ledger()
	}
	return o.memory
}

// NewAskerTarget returns a target with a as its Asker. Close closes a.
func NewAskerTarget(a Asker) *Target { return &Target{asker: a} }

// Live returns the options for package live.
func (o Options) Live() live.Options {
	return live.Options{
		Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, NoStop: o.NoStop, Open: o.Open,
		Memory: cmp.Or(o.memory, o.ledger()),
	}
}

// fileInstead adds to err how to open a core that is named by a number, if there is such a file.
func fileInstead(name string, err error) error {
	if _, statErr := os.Stat(name); statErr == nil {
		return fmt.Errorf("%w; for the file of that name: `ompd-inspect ./%s`", err, name)
	}
	return err
}

// About describes the target, as far as that is possible without a look.
func (t *Target) About() picture.Target {
	if t.source == nil {
		return picture.Target{}
	}
	return t.source.About()
}

// Living reports whether the target can change by itself between two looks.
func (t *Target) Living() bool { return t.source == nil || t.source.Living() }

// Stop stops the target until Resume. Look stops a process for a much shorter time; prefer it where one query is
// enough.
func (t *Target) Stop(ctx context.Context) error {
	if s, ok := t.source.(Stopper); ok {
		return s.Stop(ctx)
	}
	if t.Living() {
		return ErrCannotStop
	}
	return nil // it does not run
}

// Resume resumes the target.
func (t *Target) Resume() error {
	if s, ok := t.source.(Stopper); ok {
		return s.Resume()
	}
	return nil
}

// Read calls f with a snapshot, so that f reads its memory itself. It may call f several times; the last call counts.
func (t *Target) Read(ctx context.Context, f func(callbacks.Target) error) error {
	if t.source == nil {
		return ErrNoMemory
	}
	return t.source.Look(ctx, f, f)
}

// Direct returns the target as it is now; its memory is read without stopping it. The error is ErrNoMemory if the
// target has an Asker.
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
		return c.Saved()
	}
	return 0
}

// Options returns the options that the target was opened with.
func (t *Target) Options() Options { return t.options }

// Close frees the target. Results that were obtained before stay valid, except lists that were not read to the end.
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
