package symbolize

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// bias is the load address of modules in tests.
const bias = 0x7f0000000000

// runTool runs a tool and returns its output.
func runTool(t testing.TB, name string, args ...string) string {
	t.Helper()
	omptest.Needs(t, "compilers")
	out, err := exec.Command(omptest.Program(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// compile builds a program of testdata with the given compiler and flags.
func compile(t testing.TB, source, compiler string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	runTool(t, compiler, append(flags, "-o", out, filepath.Join("testdata", source))...)
	return out
}

// loadModule makes a module of a file, mapped at address base.
func loadModule(t testing.TB, file string, base uint64) *callbacks.Module {
	t.Helper()
	img, closer, err := elfx.OpenFile(nil).Map(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	f, err := elfx.Open(img)
	if err != nil {
		t.Fatal(err)
	}
	m := &callbacks.Module{Path: file, File: file, Image: img, Bias: base, BuildID: f.BuildID()}
	low, high := ^uint64(0), uint64(0)
	for _, p := range f.Progs() {
		if p.Type == elf.PT_LOAD {
			low, high = min(low, p.Vaddr), max(high, p.Vaddr+p.Memsz)
		}
	}
	m.Low, m.High = callbacks.Addr(base+low), callbacks.Addr(base+high)
	return m
}

// openSymbolizer returns a symbolizer for one file at bias; it uses no debug files of this machine.
func openSymbolizer(t testing.TB, file string) *Symbolizer {
	t.Helper()
	return openWith(t, Options{DebugDirs: []string{t.TempDir()}}, loadModule(t, file, bias))
}

func openWith(t testing.TB, o Options, mods ...*callbacks.Module) *Symbolizer {
	t.Helper()
	s := New(mods, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// symbolsOf returns the symbols of a file.
func symbolsOf(t testing.TB, file string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// addressOf returns the address of a symbol in the loaded file, from nm.
func addressOf(t testing.TB, file, name string) uint64 {
	t.Helper()
	for _, s := range symbolsOf(t, file) {
		if s.Name == name {
			return s.Value + bias
		}
	}
	t.Fatalf("%s has no symbol %s", file, name)
	return 0
}

// codeAddresses returns n code addresses of a file at equal distances.
func codeAddresses(t testing.TB, file string, n int) []uint64 {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".text")
	var list []uint64
	step := max(s.Size/uint64(n), 1)
	for a := s.Addr; a < s.Addr+s.Size; a += step {
		list = append(list, a)
	}
	return list
}

func copyFile(t testing.TB, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// stripProgram strips a copy of file and returns it and the file with its debug information.
func stripProgram(t testing.TB, file string) (stripped, debug string) {
	t.Helper()
	dir := t.TempDir()
	stripped, debug = filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, filepath.Base(file)+".debug")
	runTool(t, "objcopy", "--only-keep-debug", file, debug)
	runTool(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, file, stripped)
	return stripped, debug
}

// buildID returns the build ID of a file in hexadecimal.
func buildID(t testing.TB, file string) string {
	t.Helper()
	return hex.EncodeToString(loadModule(t, file, 0).BuildID)
}

// sameFrames checks that two symbolizers, for a program and for another form of it, return the same
// frames.
func sameFrames(t *testing.T, file string, got, want *Symbolizer) {
	t.Helper()
	for _, pc := range codeAddresses(t, file, 200) {
		g, err1 := got.Code(pc + bias)
		w, err2 := want.Code(pc + bias)
		if err1 != nil || err2 != nil || !slices.Equal(g, w) {
			t.Fatalf("%#x: %+v, %v; want %+v, %v", pc, g, err1, w, err2)
		}
	}
}

// noWarnings checks that there are no warnings.
func noWarnings(t *testing.T, s *Symbolizer) {
	t.Helper()
	if w := s.Warnings(nil); len(w) > 0 {
		t.Errorf("warnings %q, want none", w)
	}
}
