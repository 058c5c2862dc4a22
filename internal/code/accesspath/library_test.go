package accesspath

import (
	"debug/elf"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// library is the file of a shared library, read at the addresses in the file.
type library struct {
	tb    testing.TB
	file  *elfx.File
	slots map[uint64]symbolic.Target
}

func openLibrary(tb testing.TB, path string) *library {
	tb.Helper()
	f, c, err := elfx.OpenPath(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	l := &library{tb: tb, file: f, slots: map[uint64]symbolic.Target{}}
	relocs, err := f.Relocations()
	if err != nil && !errors.Is(err, elfx.ErrNoSection) { // a static program has no such section
		tb.Fatal(err)
	}
	syms, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elfx.ErrNoSection) {
		tb.Fatal(err)
	}
	entries := map[string]uint64{}
	for _, s := range syms {
		if s.Defined() && s.Type == elf.STT_FUNC {
			entries[s.Name] = s.Value
		}
	}
	for _, r := range relocs {
		if r.Symbol != "" {
			l.slots[r.Offset] = symbolic.Target{Name: r.Symbol, Entry: entries[r.Symbol]}
		}
	}
	return l
}

func (l *library) ReadMemory(a callbacks.Address, p []byte) error {
	for len(p) > 0 {
		b, err := l.file.DataAt(a.Offset, len(p))
		if err != nil {
			return &callbacks.FaultError{Address: a, Err: err}
		}
		p = p[copy(p, b):]
		a = a.Add(uint64(len(b)))
	}
	return nil
}

func (l *library) resolve(addr uint64) (symbolic.Target, bool) {
	t, ok := l.slots[addr]
	return t, ok
}

// entry returns the address of an exported function, in its default version.
func (l *library) entry(name string) uint64 {
	l.tb.Helper()
	s, ok := l.file.LookupDynamic(name)
	if !ok {
		l.tb.Fatalf("the library exports no %s", name)
	}
	return s.Value
}

func (l *library) config() Config {
	return Config{Arch: l.file.Arch(), Mem: l, Resolve: l.resolve}
}

// run returns the paths of an exported function.
func (l *library) run(cfg Config, name string) []symbolic.Path {
	l.tb.Helper()
	paths, err := Run(cfg, l.entry(name))
	if err != nil {
		l.tb.Fatalf("%s: %v", name, err)
	}
	return paths
}
