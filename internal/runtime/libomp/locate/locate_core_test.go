package locate

import (
	"maps"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// coreOf opens a core of a program on a distribution's runtime, and returns it with the runtime's module.
func coreOf(tb testing.TB, program string, rt omptest.Runtime) (*corefile.Core, *callbacks.Module) {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: program})
	r := omptest.Dump(tb, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	mods, err := Find(c, nil)
	if err != nil || len(mods) != 1 {
		tb.Fatalf("%d modules with a runtime, %v", len(mods), err)
	}
	return c, mods[0]
}

// altered is a core with changed memory and symbols.
type altered struct {
	*corefile.Core
	bytes   map[uint64]byte              // memory in place of the core's
	symbols map[string]callbacks.Address // in addition to the core's; nil address: missing
	mute    bool                         // hide the core's symbols
}

func (a *altered) ReadMemory(at callbacks.Address, p []byte) error {
	if err := a.Core.ReadMemory(at, p); err != nil {
		return err
	}
	for where, b := range a.bytes {
		if i := where - at.Offset; i < uint64(len(p)) {
			p[i] = b
		}
	}
	return nil
}

// Lend returns nil, so that every read uses ReadMemory.
func (*altered) Lend(callbacks.Address, uint64) []byte { return nil }

func (a *altered) Symbol(name, file string) (callbacks.Address, error) {
	if at, ok := a.symbols[name]; ok && !at.IsNull() {
		return at, nil
	} else if ok || a.mute {
		return at, callbacks.ErrNoSymbol
	}
	return a.Core.Symbol(name, file)
}

// poke writes a little-endian word into the altered memory.
func (a *altered) poke(at callbacks.Address, v uint64, size int) {
	if a.bytes == nil {
		a.bytes = map[uint64]byte{}
	}
	for i := range size {
		a.bytes[at.Offset+uint64(i)] = byte(v >> (8 * i))
	}
}

// described returns the addresses of the description's variables by name.
func described(tb testing.TB, c callbacks.Target, mod *callbacks.Module) map[string]callbacks.Address {
	tb.Helper()
	m := newMemorySource(c, mod)
	state, err := m.Global("ompd_state")
	if err != nil {
		tb.Fatal(err)
	}
	words := ompdWords()
	low := callbacks.Addr(state - 8 - uint64(len(words))*8)
	all := map[string]callbacks.Address{}
	for i, w := range words {
		all[w.symbol()] = low.Add(uint64(i) * 8)
	}
	maps.Copy(all, m.globals)
	return all
}

// row is the row of a release in the table.
type row struct {
	t       *table
	release int
}

// rowOf returns the row of a release on x86-64.
func rowOf(tb testing.TB, major int) row {
	tb.Helper()
	return rowIn(tb, callbacks.ArchX86_64, major)
}

func rowIn(tb testing.TB, arch callbacks.Arch, major int) row {
	tb.Helper()
	rows, err := rowsOf(arch)
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{rows}
	for i := range t.Releases {
		if t.number(i) == major {
			return row{t, i}
		}
	}
	tb.Fatalf("the table has no release %d", major)
	return row{}
}

func (r row) field(typ, field string) layout.Field {
	p := r.t.Places[fieldOf(typ, field)]
	if p == nil {
		return layout.Field{}
	}
	return p.FieldOf(r.release)
}
