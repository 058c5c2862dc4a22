package engine

import (
	"context"
	"iter"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Source is a target that is read here: a core, a process, a program under a debugger. It is used by one goroutine at a
// time.
type Source interface {
	// About describes the source. After a call of Look, that includes the cost of the look.
	About() picture.Target
	// Warnings returns the problems of the source as a whole, and of the last call of Look.
	Warnings() []error
	// Look calls f with a snapshot, which is valid until the next call of Look. It may call f several times; the last
	// call counts. Before, it may call rehearse with the running program, to learn which memory f will read.
	Look(ctx context.Context, rehearse, f func(callbacks.Target) error) error
	// Living reports whether the source can change by itself between two snapshots.
	Living() bool
	// Close frees the source.
	Close() error
}

// Stopper is a Source that can be stopped. Until Resume, all snapshots are the same.
type Stopper interface {
	Stop(ctx context.Context) error
	Resume() error
}

// Sampled is a Source of which many snapshots are taken in short time.
type Sampled interface {
	// Sample is Look for a question that is repeated, at less cost.
	Sample(ctx context.Context, rehearse, f func(callbacks.Target) error) error
}

// Meter is a Source with counters of its threads.
type Meter interface {
	// Usage returns the CPU time that each thread has used since its start.
	Usage() ([]picture.Use, error)
	// CPUTime returns the CPU time that all threads have used.
	CPUTime() (time.Duration, error)
}

// Direct is a Source that is read without stopping it, with its registers, modules and mappings.
type Direct interface {
	callbacks.Target
	callbacks.RegisterReader
	callbacks.ModuleLister
	callbacks.MappingLister
}

// Asker answers queries about one target without a Source. The target of a server is one.
type Asker interface {
	// Ask answers a query about a new snapshot.
	Ask(ctx context.Context, q Query) (*Result, error)
	// Watch takes several snapshots, as Target.Watch does.
	Watch(ctx context.Context, interval time.Duration, count int) Looks
	// Close frees the target.
	Close() error
}

// Profiler is an Asker that samples a process itself, as Target.Profile does.
type Profiler interface {
	Profile(ctx context.Context, o ProfileOptions) (*picture.Profile, error)
}

// Looks yields snapshots of one process, each with the changes since the one before and, from the second on, with the
// result so far.
type Looks = iter.Seq2[*picture.Look, error]

// Opener opens targets of one kind, which it recognizes by their names. It returns nil, and no error, for the name of a
// target of another kind.
type Opener func(ctx context.Context, name string, o Options) (*Target, error)
