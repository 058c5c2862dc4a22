package gocode

import (
	"debug/gosym"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// file is a file mapped at its own addresses.
type file struct{ *elfx.File }

func (f file) ReadMemory(a callbacks.Address, p []byte) error {
	b, err := f.DataAt(a.Offset, len(p))
	copy(p, b)
	return err
}

func (f file) memory(vaddr uint64, n int) ([]byte, error) { return f.DataAt(vaddr, n) }

func openFile(t testing.TB, flags ...string) file {
	t.Helper()
	f, closer, err := elfx.OpenPath(omptest.CompileGo(t, omptest.GCC, flags...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	return file{f}
}

func table(t testing.TB, f file) *Table {
	t.Helper()
	tab, err := Open(f.File, 0, f.memory)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestGosym compares all functions, and lines throughout them, with debug/gosym.
func TestGosym(t *testing.T) {
	f := openFile(t)
	tab := table(t, f)
	data, _, err := f.Section(".gopclntab")
	if err != nil {
		t.Fatal(err)
	}
	want, err := gosym.NewTable(nil, gosym.NewLineTable(data, tab.text))
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Funcs) < 1000 || len(want.Funcs) != tab.n {
		t.Fatalf("%d functions, debug/gosym has %d", tab.n, len(want.Funcs))
	}
	lines := 0
	for i := range want.Funcs {
		w := &want.Funcs[i]
		got, ok := tab.Func(w.Entry)
		if !ok || got.Name != w.Name || got.Low != w.Entry || got.High != w.End {
			t.Fatalf("%+v, want %s %#x %#x", got, w.Name, w.Entry, w.End)
		}
		for pc := w.Entry; pc < w.End; pc += 7 {
			file, line, ok := got.Line(pc)
			wantFile, wantLine, fn := want.PCToLine(pc)
			if fn == nil || !ok {
				continue
			}
			if lines++; file != wantFile || line != wantLine {
				t.Fatalf("%#x in %s: %s:%d, want %s:%d", pc, w.Name, file, line, wantFile, wantLine)
			}
		}
	}
	if lines < 10000 {
		t.Errorf("only %d lines compared", lines)
	}
}

// TestRuntime finds the offsets of goroutines in a program with symbols and in one without.
func TestRuntime(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
		f := openFile(t, flags...)
		r, err := table(t, f).Runtime(callbacks.ArchX86_64, f, 0)
		if err != nil || !r.HasID || r.M == 0 || r.SchedPC != r.SchedSP+8 || int64(r.TLS) >= 0 {
			t.Errorf("%v: %+v, %v", flags, r, err)
		}
	}
}

// TestRuntimeOfAArch64 finds the same offsets in programs for aarch64, by both families of C compilers. Goroutines have
// the same structure there, and the executable's thread-local data is above the thread pointer.
func TestRuntimeOfAArch64(t *testing.T) {
	omptest.NeedsCross(t)
	f := openFile(t)
	want, err := table(t, f).Runtime(callbacks.ArchX86_64, f, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
		for _, flags := range [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}} {
			f, closer, err := elfx.OpenPath(omptest.CompileGoForMachine(t, compiler, flags...))
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			got, err := table(t, file{f}).Runtime(f.Arch(), file{f}, 0)
			if tls := got.TLS; err != nil || tls < 16 || tls > 1<<12 {
				t.Errorf("%q %v: thread-local word at %#x, %v", compiler, flags, tls, err)
			}
			if got.TLS = want.TLS; got != want {
				t.Errorf("%q %v: %+v, want %+v", compiler, flags, got, want)
			}
		}
	}
}

// TestNoGo opens a program without Go code.
func TestNoGo(t *testing.T) {
	f, closer, err := elfx.OpenPath(omptest.Compile(t, omptest.Build{Program: "nested"}))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if _, err := Open(f, 0, file{f}.memory); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestDamaged changes bytes of a table: reading it must not panic.
func TestDamaged(t *testing.T) {
	f := openFile(t)
	good := table(t, f)
	data, _, err := f.Section(".gopclntab")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		bad := append([]byte(nil), data[:1<<16]...)
		for range 8 {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		bad[rng.IntN(headerSize)] ^= byte(1 << rng.IntN(8))
		tab, err := parse(bad)
		if err != nil {
			continue
		}
		tab.text = good.text
		for range 20 {
			if fn, ok := tab.Func(tab.text + rng.Uint64N(1<<20)); ok {
				pc := fn.Low + rng.Uint64N(256)
				fn.Depth(pc)
				fn.Line(pc)
			}
		}
	}
}
