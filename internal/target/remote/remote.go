// Package remote implements a target on the callbacks of a debugger: it requests memory, symbols, threads and
// registers in the messages of DebuggerService, independent of their transport.
//
// Round trips are slow, so there are few, with much data each: memory in chunks of pages, the stacks of all
// threads together, and no data that the files of the modules contain. Answers are cached until the program
// runs.
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

// Asker sends questions to a debugger. It is safe for concurrent use.
type Asker interface {
	// Ask sends questions together and returns an answer for each, in order.
	// It is one round trip. The error is that of the connection, or of ctx.
	Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error)
}

// Options sets where the files of the program are searched. The zero value uses the program's paths.
type Options struct {
	Exe       string   // the executable, wherever its path in the program was
	Sysroot   string   // directory that replaces "/" of the program
	DebugDirs []string // directories with .build-id trees, such as /usr/lib/debug
	// Open opens the files that the debugger and the program name; nil opens every file that this process may
	// read.
	Open func(name string) (*os.File, error)
	// Memory limits and counts the cached memory and the memory made from the modules' files; nil does not
	// limit it.
	Memory callbacks.Ledger
}

// Target is a program that a debugger holds. InContext returns it as a callbacks.Target.
type Target struct {
	hello *ompdv1.Hello
	asker Asker
	opts  Options
	arch  callbacks.Arch
	trips atomic.Uint64
	taken *budget.Ledger // for the cache

	mu    sync.Mutex
	stop  *stop // the present one
	about *ompdv1.Target
}

// stop is the known data of the program at one stop. Each part has its own lock, since one may need another:
// threads and modules are locked first, then symbols and mappings, then memory.
type stop struct {
	over    atomic.Bool
	memory  *memory
	threads threads
	modules moduleTable
	symbols symbols
	maps    maps
}

// New returns the program of the debugger that sent hello.
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

// Stopped records that the program ran and is at a new stop, and drops the cached data. about describes the
// program now; nil means unchanged.
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

// Close drops the cached data and unmaps the files of the modules. Their images must not be used after it.
func (t *Target) Close() error { return t.Stopped(nil) }

// About returns the debugger's last description of the program.
func (t *Target) About() *ompdv1.Target {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.about
}

// RoundTrips returns the number of requests to the debugger so far.
func (t *Target) RoundTrips() uint64 { return t.trips.Load() }

// hasPower reports whether the debugger announced a power.
func (t *Target) hasPower(p ompdv1.Power) bool { return slices.Contains(t.hello.GetPowers(), p) }

// InContext returns the target at the present stop as a callbacks.Target with modules and with the debugger's
// powers. Once the program runs, or ctx has ended, only cached data can be read.
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

// bound is a Target at one stop; its questions end with ctx.
type bound struct {
	t   *Target
	s   *stop
	ctx context.Context
}

var (
	_ callbacks.Target       = bound{}
	_ callbacks.ModuleLister = bound{}
)

// Arch returns the architecture of the program.
func (b bound) Arch() callbacks.Arch { return b.t.arch }

// errRan means that the stop has ended.
var errRan = fmt.Errorf("the program ran meanwhile: %w", callbacks.StaleHandle)

// ask sends questions, and counts the round trip.
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

// codes maps a debugger's codes to errors.
var codes = map[ompdv1.AnswerCode]error{
	ompdv1.AnswerCode_ANSWER_CODE_UNMAPPED:          callbacks.ErrUnmapped,
	ompdv1.AnswerCode_ANSWER_CODE_NOT_CAPTURED:      callbacks.ErrNotCaptured,
	ompdv1.AnswerCode_ANSWER_CODE_NO_SYMBOL:         callbacks.ErrNoSymbol,
	ompdv1.AnswerCode_ANSWER_CODE_NO_THREAD_STORAGE: callbacks.ErrNoThreadStorage,
	ompdv1.AnswerCode_ANSWER_CODE_NO_THREAD:         callbacks.ErrNoThread,
	ompdv1.AnswerCode_ANSWER_CODE_NO_TYPE:           callbacks.ErrNoType,
	ompdv1.AnswerCode_ANSWER_CODE_UNSUPPORTED:       callbacks.Unsupported,
}

// errorOf returns the error in an answer, or nil. An answer to another question is an error.
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

// codeOf returns the code of an error.
func codeOf(err error) ompdv1.AnswerCode {
	for code, e := range codes {
		if errors.Is(err, e) {
			return code
		}
	}
	return ompdv1.AnswerCode_ANSWER_CODE_UNSPECIFIED
}
