package flow

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// library is the file of a shared library, read at the addresses in the file.
type library struct {
	file  *elfx.File
	slots map[uint64]symbolic.Target
}

// systemLibgomp is the path of the distribution's runtime.
const systemLibgomp = "/usr/lib/x86_64-linux-gnu/libgomp.so.1"

func openLibrary(tb testing.TB, path string) *library {
	tb.Helper()
	f, c, err := elfx.OpenPath(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	l := &library{file: f, slots: map[uint64]symbolic.Target{}}
	relocs, err := f.Relocations()
	if err != nil && !errors.Is(err, elfx.ErrNoSection) {
		tb.Fatal(err)
	}
	for _, r := range relocs {
		if r.Symbol != "" {
			l.slots[r.Offset] = symbolic.Target{Name: r.Symbol}
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
