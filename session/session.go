// Package session is the Go API for pictures and verdicts: it opens a core file or a process, takes snapshots of it and
// answers queries.
//
// A picture (package picture) is the plain data of one snapshot: threads, parallel regions, tasks, stacks, and the
// verdicts that explain why the program hangs or died. A Query names the wanted parts; Target.Query answers it about a
// new snapshot:
//
//	t, err := session.Open(ctx, "core.1234", session.Options{})
//	...
//	defer t.Close()
//	result, err := t.Query(ctx, session.Report())
//	...
//	defer result.Close()
//	for _, v := range result.Picture.Verdicts {
//		fmt.Println(v.Summary)
//	}
//
// Target.Snapshot takes a snapshot for several queries, and for the routines of package ompd. Target.Watch takes a
// series of snapshots and reports whether the process makes progress.
//
// A process is stopped only while the memory that a query needs is copied. Each query has a limit of CPU time, and ends
// when its context ends.
package session

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Errors of targets and queries, for errors.Is.
var (
	// ErrNoTarget reports that no target has the name.
	ErrNoTarget = engine.ErrNoTarget
	// ErrCannotStop reports that a target cannot be stopped.
	ErrCannotStop = engine.ErrCannotStop
	// ErrExited reports that a process has ended.
	ErrExited = engine.ErrExited
	// ErrNoThread reports that a target has no thread with the LWP of the query.
	ErrNoThread = engine.ErrNoThread
	// ErrNoRegion and ErrNoTask report that a target has no region, or no task, with the ID of the query.
	ErrNoRegion, ErrNoTask = engine.ErrNoRegion, engine.ErrNoTask
	// ErrRecording reports that a file contains only the events of a program, without its memory.
	ErrRecording = engine.ErrRecording
	// ErrNotWatched reports that a target is not a running process.
	ErrNotWatched = engine.ErrNotWatched
)

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
	// Sources limits the sources of the runtimes' layouts (symbols, memory, debuginfo, code, table); nil allows all.
	Sources []string
	// Label is the name of a core in pictures; by default the name by which it is opened.
	Label string
	// Open opens the files that a target names, and a core itself; nil opens all files that this process may read.
	Open func(name string) (*os.File, error)
	// MaxMemory limits the memory that a target uses in this process, in bytes: 0 means 512 MiB, -1 no limit. Parts
	// that do not fit are left out, with a warning.
	MaxMemory int64
	// Memory counts the memory of the target. It replaces a ledger of MaxMemory bytes; it may be nil.
	Memory callbacks.Ledger
}

// Target is an open core or process. It is used by one goroutine at a time.
type Target engine.Target

// Open opens a process by its number, or a core by its path. Decompressing a core may take 10 s of CPU time for each
// 64 MiB of the file. The target must be closed.
func Open(ctx context.Context, name string, o Options) (*Target, error) {
	t, err := engine.Open(ctx, name, o.inner())
	return (*Target)(t), err
}

// OpenTarget opens a target of the caller's own: a debugger, a simulator, a remote stub. It needs no more than memory,
// symbols and threads (callbacks.Target). Without callbacks.RegisterReader there are no stacks, and states are those
// that the runtime keeps; Options.Exe names the executable if the target's symbols do not lead to it. The program must
// be stopped as long as the target is open: after it has run, open another one. Close does not close t.
func OpenTarget(t callbacks.Target, o Options) (*Target, error) {
	own, err := engine.OpenOwn(t, o.inner())
	return (*Target)(own), err
}

// inner returns the options as package engine has them.
func (o Options) inner() engine.Options {
	return engine.Options{
		Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Debuginfod: o.Debuginfod, NoDebug: o.NoDebug,
		NoStop: o.NoStop, Sources: o.Sources, Label: o.Label, Open: o.Open, MaxMemory: o.MaxMemory, Memory: o.Memory,
		Unpack: engine.Unpack{Work: engine.DefaultBudget},
	}
}

// inner returns the target with the methods that only this module uses.
func (t *Target) inner() *engine.Target { return (*engine.Target)(t) }

// About describes the target, as far as that is possible without a query.
func (t *Target) About() picture.Target { return t.inner().About() }

// Living reports whether the target can change by itself between two queries: a process can, a core cannot.
func (t *Target) Living() bool { return t.inner().Living() }

// Query takes a snapshot of the target and answers a query about it. The result must be closed before the next query.
// If ctx ends, Query returns its error. If the budget of the query is spent, the result contains the parts that were
// read, and a warning.
func (t *Target) Query(ctx context.Context, q Query) (*Result, error) {
	r, err := t.inner().Look(ctx, q.inner())
	if err != nil {
		return nil, err
	}
	return newResult(r), nil
}

// Snapshot takes a snapshot of the target. The copy of a process contains the memory that q needs. The snapshot must be
// closed before the target is.
func (t *Target) Snapshot(ctx context.Context, q Query) (*Snapshot, error) {
	s, err := t.inner().Snapshot(ctx, q.inner())
	return (*Snapshot)(s), err
}

// Watch takes count snapshots of a process, with the given interval between them. From the second on, each has the
// changes since the one before, and the result so far: whether the process makes progress. The loop ends with ctx; that
// is not an error.
func (t *Target) Watch(ctx context.Context, interval time.Duration, count int) iter.Seq2[*picture.Look, error] {
	return t.inner().Watch(ctx, interval, count)
}

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

// Profile samples the states and user-model stacks of a process until ctx ends, a limit is reached, or the process
// ends. After the first sample, these ends are no errors. The error is ErrNotWatched if the target is not a process.
func (t *Target) Profile(ctx context.Context, o ProfileOptions) (*picture.Profile, error) {
	return t.inner().Profile(ctx, engine.ProfileOptions{
		For: o.For, Samples: o.Samples, Started: o.Started, Budget: o.Budget,
	})
}

// Usage returns the CPU time that each thread of a process has used since its start. The error is ErrNotWatched if the
// target is not a process.
func (t *Target) Usage() ([]picture.Use, error) { return t.inner().Usage() }

// Stop stops the target until Resume: all snapshots between them are the same. Query stops a process for a much shorter
// time; prefer it where one query is enough.
func (t *Target) Stop(ctx context.Context) error { return t.inner().Stop(ctx) }

// Resume resumes the target.
func (t *Target) Resume() error { return t.inner().Resume() }

// KeepFiles makes each query keep, for the next one, up to 64 MB of data about the program's files and their code. That
// saves time if one target is queried repeatedly.
func (t *Target) KeepFiles() { t.inner().KeepFiles() }

// Close frees the target. Results that were obtained before stay valid, except tasks that were not read to the end.
func (t *Target) Close() error { return t.inner().Close() }

// Snapshot is a target at one time, which can be queried several times.
type Snapshot engine.Snapshot

// inner returns the snapshot with the methods that only this module uses.
func (s *Snapshot) inner() *engine.Snapshot { return (*engine.Snapshot)(s) }

// Query answers a query about the snapshot, within the query's budget. The query's selection (Only) has no effect: the
// snapshot has that of Target.Snapshot. The result is valid until the snapshot is closed.
func (s *Snapshot) Query(ctx context.Context, q Query) (*Result, error) {
	s.inner().Bound(ctx, q.Budget)
	r := s.inner().Ask(q.inner())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newResult(r), nil
}

// Target returns the target as it was when the snapshot was taken, for package ompd and others that read its memory.
func (s *Snapshot) Target() callbacks.Target { return s.inner().Target() }

// Close frees the snapshot.
func (s *Snapshot) Close() error { return s.inner().Close() }
