// Package remote makes a target of a debugger that lends its callbacks: it asks
// for memory, symbols, threads and registers in the messages of DebuggerService,
// and knows nothing of how they travel.
//
// What travels is slow, so little is asked and much at once: memory in pages with
// what lies behind them, the stacks of all threads together, and nothing that the
// files of the modules have. Answers are kept until the program runs.
package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Asker asks a debugger. It may be used by several goroutines at once.
type Asker interface {
	// Ask sends questions together and returns an answer for each, in order.
	// It is one round trip. The error is that of the connection, or of ctx.
	Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error)
}

// Options tell where the files of the program are. The zero value looks where the
// program had them.
type Options struct {
	Exe       string   // the executable, wherever the program had it
	Sysroot   string   // directory that stands for "/" of the program
	DebugDirs []string // directories with .build-id trees, such as /usr/lib/debug
	// Open opens the files that the debugger and the program name; nil opens all that
	// this process may read.
	Open func(name string) (*os.File, error)
	// Memory counts what is kept of the program's memory and made of the modules' files,
	// and bounds it; nil does not.
	Memory callbacks.Ledger
}

// Target is a program that a debugger holds. At makes the target of it that the
// rest of this module uses.
type Target struct {
	hello *ompdv1.Hello
	asker Asker
	opts  Options
	arch  callbacks.Arch
	trips atomic.Uint64
	taken *budget.Ledger // for what is kept

	mu    sync.Mutex
	stop  *stop // the present one
	about *ompdv1.Target
}

// stop is what is known of the program while it does not run. Each part has a lock
// of its own, since finding one may take asking for another: threads and modules
// are asked for first, then symbols and mappings, then memory.
type stop struct {
	over    atomic.Bool
	memory  *memory
	threads threads
	modules moduleTable
	symbols symbols
	maps    maps
}

// New returns the program that a debugger which said hello holds.
func New(hello *ompdv1.Hello, asker Asker, o Options) (*Target, error) {
	t := &Target{hello: hello, asker: asker, opts: o, about: hello.GetAbout(), taken: budget.LedgerOf(o.Memory)}
	t.stop = t.newStop()
	for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
		if hello.GetAbout().GetArch() == a.String() {
			t.arch = a
			return t, nil
		}
	}
	return nil, fmt.Errorf("the debugger's program is of architecture %q, not %v or %v", hello.GetAbout().GetArch(),
		callbacks.ArchX86_64, callbacks.ArchAArch64)
}

func (t *Target) newStop() *stop {
	s := &stop{memory: newMemory(t.taken)}
	s.symbols.known = map[symbol]found{}
	return s
}

// Stopped says that the program ran and is at a new stop: what was known of it is
// forgotten. about describes it now; nil means as before.
func (t *Target) Stopped(about *ompdv1.Target) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.stop
	t.stop = t.newStop()
	if about != nil {
		t.about = about
	}
	old.over.Store(true)
	old.memory.close()
	return old.modules.close()
}

// Close forgets everything and unmaps the files of the modules. Their images must
// not be used after it.
func (t *Target) Close() error { return t.Stopped(nil) }

// About is what the debugger last said of the program.
func (t *Target) About() *ompdv1.Target {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.about
}

// RoundTrips is how often the debugger was asked so far.
func (t *Target) RoundTrips() uint64 { return t.trips.Load() }

// hasPower reports whether the debugger said that it has a power.
func (t *Target) hasPower(p ompdv1.Power) bool { return slices.Contains(t.hello.GetPowers(), p) }

// InContext returns the target as a callbacks.Target with modules and with the powers
// that the debugger has, at the present stop. Once the program runs, or ctx has
// ended, everything that is not known yet cannot be read.
func (t *Target) InContext(ctx context.Context) callbacks.Target {
	t.mu.Lock()
	b := bound{t, t.stop, ctx}
	t.mu.Unlock()
	r, m, y := registers{b}, mappings{b}, types{b}
	type with struct{ registers, mappings, types bool }
	switch (with{t.hasPower(ompdv1.Power_POWER_REGISTERS), t.hasPower(ompdv1.Power_POWER_MAPPINGS),
		t.hasPower(ompdv1.Power_POWER_TYPES)}) {
	case with{true, false, false}:
		return struct {
			bound
			registers
		}{b, r}
	case with{true, true, false}:
		return struct {
			bound
			registers
			mappings
		}{b, r, m}
	case with{true, true, true}:
		return struct {
			bound
			registers
			mappings
			types
		}{b, r, m, y}
	case with{true, false, true}:
		return struct {
			bound
			registers
			types
		}{b, r, y}
	case with{false, true, false}:
		return struct {
			bound
			mappings
		}{b, m}
	case with{false, true, true}:
		return struct {
			bound
			mappings
			types
		}{b, m, y}
	case with{false, false, true}:
		return struct {
			bound
			types
		}{b, y}
	}
	return b
}

// bound is a Target at one stop whose questions end with ctx.
type bound struct {
	t   *Target
	s   *stop
	ctx context.Context
}

var (
	_ callbacks.Target       = bound{}
	_ callbacks.ModuleLister = bound{}
)

// Arch is the architecture of the program.
func (b bound) Arch() callbacks.Arch { return b.t.arch }

// errRan says that a stop is over.
var errRan = fmt.Errorf("the program ran meanwhile: %w", callbacks.StaleHandle)

// ask asks, and counts.
func (b bound) ask(questions ...*ompdv1.Question) ([]*ompdv1.Answer, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	if b.s.over.Load() {
		return nil, errRan
	}
	b.t.trips.Add(1)
	answers, err := b.t.asker.Ask(b.ctx, questions)
	switch {
	case err != nil:
		return nil, err
	case b.s.over.Load():
		return nil, errRan
	case len(answers) != len(questions):
		return nil, fmt.Errorf("the debugger gave %d answers to %d questions: %w", len(answers), len(questions),
			callbacks.CallbackError)
	}
	return answers, nil
}

// codes are the errors that a debugger's codes stand for.
var codes = map[ompdv1.AnswerCode]error{
	ompdv1.AnswerCode_ANSWER_CODE_UNMAPPED:          callbacks.ErrUnmapped,
	ompdv1.AnswerCode_ANSWER_CODE_NOT_CAPTURED:      callbacks.ErrNotCaptured,
	ompdv1.AnswerCode_ANSWER_CODE_NO_SYMBOL:         callbacks.ErrNoSymbol,
	ompdv1.AnswerCode_ANSWER_CODE_NO_THREAD_STORAGE: callbacks.ErrNoThreadStorage,
	ompdv1.AnswerCode_ANSWER_CODE_NO_THREAD:         callbacks.ErrNoThread,
	ompdv1.AnswerCode_ANSWER_CODE_NO_TYPE:           callbacks.ErrNoType,
	ompdv1.AnswerCode_ANSWER_CODE_UNSUPPORTED:       callbacks.Unsupported,
}

// errorOf is the error that an answer is; nil if it is none. An answer to another
// question is one.
func errorOf(a *ompdv1.Answer, answered bool) error {
	e := a.GetError()
	switch {
	case answered:
		return nil
	case e == nil:
		return fmt.Errorf("the debugger answered another question: %w", callbacks.CallbackError)
	}
	err, ok := codes[e.GetCode()]
	if !ok {
		err = callbacks.CallbackError
	}
	if e.GetMessage() == "" {
		return err
	}
	return fmt.Errorf("%w: the debugger says: %s", err, e.GetMessage())
}

// codeOf is the code that stands for an error.
func codeOf(err error) ompdv1.AnswerCode {
	for code, e := range codes {
		if errors.Is(err, e) {
			return code
		}
	}
	return ompdv1.AnswerCode_ANSWER_CODE_UNSPECIFIED
}
