package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// goldenCore unpacks a core of testdata/golden; done removes it.
func goldenCore(name string) (core string, o engine.Options, done func()) {
	g, done, err := omptest.ExampleCore(name)
	if err != nil {
		log.Fatal(err)
	}
	return g.Core, engine.Options{Exe: g.Exe, Sysroot: g.Sysroot}, done
}

// open opens a golden core until the test ends.
func open(t *testing.T, name string) *engine.Target {
	t.Helper()
	core, o, done := goldenCore(name)
	t.Cleanup(done)
	target, err := engine.Open(t.Context(), core, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// look answers one query and returns the picture.
func look(t *testing.T, target *engine.Target, q engine.Query) *picture.Picture {
	t.Helper()
	a, err := target.Look(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a.Picture
}

// TestBudget looks with all budgets from 1 ns to more than enough. Each picture lists all threads and its missing
// parts. Verdicts are drawn from all facts, or not at all.
func TestBudget(t *testing.T) {
	target := open(t, "llvm-deadlock")
	q := engine.Report()
	q.Budget = 0
	whole := look(t, target, q)
	if len(whole.Verdicts) == 0 || len(whole.Incomplete) != 0 {
		t.Fatalf("without a budget: %d verdicts, unreached %q", len(whole.Verdicts), whole.Incomplete)
	}
	cut := 0
	for q.Budget = 1; q.Budget < time.Hour; q.Budget *= 4 {
		pic := look(t, target, q)
		spent := slices.Contains(pic.Incomplete, "verdicts")
		said := slices.ContainsFunc(pic.Warnings, func(w string) bool { return strings.Contains(w, "--budget") })
		if spent {
			cut++
		}
		if len(pic.Threads) != len(whole.Threads) || said != spent || spent != (len(pic.Verdicts) == 0) {
			t.Errorf("%v: %d threads, want %d; unreached %q, %d verdicts, warnings %q",
				q.Budget, len(pic.Threads), len(whole.Threads), pic.Incomplete, len(pic.Verdicts), pic.Warnings)
		}
	}
	if cut < 5 { // no look is possible in 256 ns
		t.Errorf("only %d budgets were spent", cut)
	}
}

// TestCancelled looks with a context that has ended.
func TestCancelled(t *testing.T) {
	target := open(t, "gnu-barrier")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := target.Look(ctx, engine.Report()); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", a, err)
	}
}

// endless is a core with a heap that reads as an endless chain: each word points to the next one, and the last word
// to the first.
type endless struct {
	*corefile.Core
	low, high uint64
}

// ReadMemory returns pointers for memory in the heap.
func (e endless) ReadMemory(a callbacks.Address, p []byte) error {
	if a.Offset < e.low || a.Offset >= e.high {
		return e.Core.ReadMemory(a, p)
	}
	for i := range p {
		const step = 64
		at := (a.Offset + uint64(i)) &^ 7
		next := e.low + (at+step-e.low)%(e.high-e.low)
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], next)
		p[i] = word[(a.Offset+uint64(i))%8]
	}
	return nil
}

// Lend returns nil, so that all memory is read by ReadMemory.
func (e endless) Lend(callbacks.Address, uint64) []byte { return nil }

// heapOf returns the bounds of a core's heap: the largest writable anonymous memory below the libraries.
func heapOf(t *testing.T, core *corefile.Core) (low, high uint64) {
	t.Helper()
	const libraries = 0x7000_0000_0000 // are above
	for _, m := range core.Mappings() {
		if m.File == "" && m.Perm&callbacks.PermWrite != 0 && m.High.Offset < libraries &&
			m.High.Offset-m.Low.Offset > high-low {
			low, high = m.Low.Offset, m.High.Offset
		}
	}
	if high-low < 1<<16 {
		t.Fatalf("a heap of %d bytes", high-low)
	}
	return low, high
}

// damaged is the source of such a core.
type damaged struct {
	engine.Source
	target callbacks.Target
}

// Look looks at the damaged target.
func (d damaged) Look(_ context.Context, _, f func(callbacks.Target) error) error { return f(d.target) }

// TestEndless looks at cores with an endless heap: the budget ends the look, and the result contains the parts that
// can be known.
func TestEndless(t *testing.T) {
	for _, name := range []string{"llvm-deadlock", "llvm-tasks-deps", "gnu-nested", "gnu-tasks-queued"} {
		t.Run(name, func(t *testing.T) {
			path, o, done := goldenCore(name)
			defer done()
			core, err := corefile.Open(path, corefile.Options{Exe: o.Exe, Sysroot: o.Sysroot})
			if err != nil {
				t.Fatal(err)
			}
			e := endless{Core: core}
			e.low, e.high = heapOf(t, core)
			target := engine.NewTarget(damaged{engine.NewCoreSource(core, path, o), e}, o)
			defer target.Close()
			q := engine.Report()
			q.Budget = 300 * time.Millisecond
			lwps, err := core.ThreadIDs(callbacks.ThreadIDLWP)
			if err != nil {
				t.Fatal(err)
			}
			if pic := look(t, target, q); len(pic.Threads) < len(lwps) {
				t.Errorf("%d threads, want %d", len(pic.Threads), len(lwps))
			}
		})
	}
}
