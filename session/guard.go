package session

import (
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// gate is where reads of a target are counted and, in the end, refused.
type gate struct {
	budget atomic.Pointer[budget.Budget]
	kept   *budget.Ledger        // of the moment
	held   *budget.Ledger        // of the present answer, a part of kept
	full   atomic.Pointer[error] // there is no more memory
}

// newGate returns the gate of a moment, whose memory is a part of l.
func newGate(l *budget.Ledger) *gate {
	kept := l.Part()
	return &gate{kept: kept, held: kept.Part()}
}

// set begins with another budget. The answers so far are not held any more.
func (g *gate) set(b *budget.Budget) {
	g.held.Close()
	g.full.Store(nil)
	g.budget.Store(b)
}

// restart gives back all memory: what was made so far is not used any more.
func (g *gate) restart() {
	g.held.Close()
	g.kept.Close()
}

// Spend counts work that is about to be done (budget.Budget).
func (g *gate) Spend(work int) error {
	if err := g.full.Load(); err != nil {
		return *err
	}
	return g.budget.Load().Spend(work)
}

// Keep counts memory that is used as long as the moment is (budget.Ledger).
func (g *gate) Keep(n uint64) error { return g.take(g.kept, n) }

// Hold counts memory that is used as long as the present answer is.
func (g *gate) Hold(n uint64) error { return g.take(g.held, n) }

// take counts memory. When there is no more, there is no more work either.
func (g *gate) take(l *budget.Ledger, n uint64) error {
	err := l.Try("threads and their stacks", n)
	if err != nil {
		g.full.Store(&err)
	}
	return err
}

// Err is the error that ended the work; it looks at the clock.
func (g *gate) Err() error {
	if err := g.full.Load(); err != nil {
		return *err
	}
	return g.budget.Load().Err()
}

// readUnit is how many bytes of memory are a unit of work.
const readUnit = 4 << 10

// Direct is a target that this module reads by itself, with its registers, modules and mappings.
type Direct interface {
	callbacks.Target
	callbacks.RegisterReader
	callbacks.ModuleLister
	callbacks.MappingLister
}

// lending is one that shows what it has read.
type lending interface {
	Direct
	callbacks.Lender
}

// scheduled is a running process, of which the kernel tells more.
type scheduled interface {
	lending
	callbacks.Scheduler
	callbacks.VectorReader
}

// local reports whether t is a target that this module reads by itself. What a debugger
// lends has powers of its own choice.
func local(t callbacks.Target) (Direct, bool) {
	_, types := t.(callbacks.Types)
	a, ok := t.(Direct)
	return a, ok && !types
}

// guarded is t with memory that is read only as long as g lets it. What a debugger lends
// sees the context of its look itself, and stays as it is.
func guarded(t callbacks.Target, g *gate) callbacks.Target {
	a, ok := local(t)
	if !ok {
		return t
	}
	l, ok := t.(lending)
	if !ok {
		return guardedTarget{a, g}
	}
	lends := guardedLender{guardedTarget{a, g}, l}
	if s, ok := t.(scheduled); ok {
		return guardedProcess{lends, s, s}
	}
	return lends
}

// guardedTarget is a target behind a gate.
type guardedTarget struct {
	Direct
	gate *gate
}

// ReadMemory reads as long as the gate lets it.
func (t guardedTarget) ReadMemory(a callbacks.Address, p []byte) error {
	if err := t.gate.Spend(1 + len(p)/readUnit); err != nil && len(p) > 0 {
		return &callbacks.FaultError{Address: a, Err: err}
	}
	return t.Direct.ReadMemory(a, p)
}

// guardedLender is a target that lends memory, behind a gate.
type guardedLender struct {
	guardedTarget
	lender callbacks.Lender
}

// Lend shows memory as long as the gate lets it: it is nil then, and ReadMemory says why.
func (t guardedLender) Lend(a callbacks.Address, n uint64) []byte {
	if t.gate.Spend(1) != nil {
		return nil
	}
	return t.lender.Lend(a, n)
}

// guardedProcess is a running process behind a gate.
type guardedProcess struct {
	guardedLender
	callbacks.Scheduler
	callbacks.VectorReader
}
