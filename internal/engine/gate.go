package engine

import (
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// gate counts the reads of a target and its memory, and refuses them at the limit.
type gate struct {
	budget atomic.Pointer[budget.Budget]
	kept   *budget.Ledger        // of the snapshot
	held   *budget.Ledger        // of the current result, a part of kept
	full   atomic.Pointer[error] // set when memory is refused
}

// newGate returns the gate of a snapshot. Its memory is a part of l.
func newGate(l *budget.Ledger) *gate {
	kept := l.Part()
	return &gate{kept: kept, held: kept.Part()}
}

// set starts another budget. The memory of earlier results is given back.
func (g *gate) set(b *budget.Budget) {
	g.held.Close()
	g.full.Store(nil)
	g.budget.Store(b)
}

// restart gives back all memory: the data of the previous pass is not used any more.
func (g *gate) restart() {
	g.held.Close()
	g.kept.Close()
}

// Spend counts work before it is done (budget.Budget).
func (g *gate) Spend(work int) error {
	if err := g.full.Load(); err != nil {
		return *err
	}
	return g.budget.Load().Spend(work)
}

// Keep counts memory that is used until the snapshot is closed (budget.Ledger).
func (g *gate) Keep(n uint64) error { return g.take(g.kept, n) }

// Hold counts memory that is used until the current result is closed.
func (g *gate) Hold(n uint64) error { return g.take(g.held, n) }

// take counts memory. After the first refusal, Spend refuses all work too.
func (g *gate) take(l *budget.Ledger, n uint64) error {
	err := l.Try("threads and their stacks", n)
	if err != nil {
		g.full.Store(&err)
	}
	return err
}

// Err returns the error that ended the work. It compares the clock with the budget.
func (g *gate) Err() error {
	if err := g.full.Load(); err != nil {
		return *err
	}
	return g.budget.Load().Err()
}

// readUnit is the number of bytes that count as one unit of work.
const readUnit = 4 << 10

// lending is a Direct that can show its memory without a copy.
type lending interface {
	Direct
	callbacks.Lender
}

// scheduled is a running process, with data of the kernel's scheduler.
type scheduled interface {
	lending
	callbacks.Scheduler
	callbacks.VectorReader
}

// numeric is a core, with the floating-point and vector registers of its threads.
type numeric interface {
	lending
	callbacks.VectorReader
}

// directTarget returns t as a Direct. It returns false for a target that a debugger lends, which has callbacks for
// types: its other powers depend on the debugger.
func directTarget(t callbacks.Target) (Direct, bool) {
	_, types := t.(callbacks.Types)
	a, ok := t.(Direct)
	return a, ok && !types
}

// guarded returns t with reads that g counts. A target that a debugger lends stays as it is, because it checks the
// context of the look itself.
func guarded(t callbacks.Target, g *gate) callbacks.Target {
	a, ok := directTarget(t)
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
	if v, ok := t.(numeric); ok {
		return guardedCore{lends, v}
	}
	return lends
}

// guardedTarget is a target with a gate.
type guardedTarget struct {
	Direct
	gate *gate
}

// ReadMemory reads memory unless the gate refuses it.
func (t guardedTarget) ReadMemory(a callbacks.Address, p []byte) error {
	if err := t.gate.Spend(1 + len(p)/readUnit); err != nil && len(p) > 0 {
		return &callbacks.FaultError{Address: a, Err: err}
	}
	return t.Direct.ReadMemory(a, p)
}

// guardedLender is a target with a gate that can show its memory.
type guardedLender struct {
	guardedTarget
	lender callbacks.Lender
}

// Lend shows memory. It returns nil if the gate refuses it; ReadMemory then returns the reason.
func (t guardedLender) Lend(a callbacks.Address, n uint64) []byte {
	if t.gate.Spend(1) != nil {
		return nil
	}
	return t.lender.Lend(a, n)
}

// guardedCore is a core with a gate.
type guardedCore struct {
	guardedLender
	callbacks.VectorReader
}

// guardedProcess is a running process with a gate.
type guardedProcess struct {
	guardedLender
	callbacks.Scheduler
	callbacks.VectorReader
}
