package elfx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// memImage is a file in memory; plain hides its bytes, so that the reader must copy.
type memImage struct{ *bytes.Reader }

func (m memImage) Size() int64 { return m.Reader.Size() }

type bytesImage struct {
	memImage
	b []byte
}

func (m bytesImage) Bytes() []byte { return m.b }

func images(b []byte) map[string]callbacks.Image {
	plain := memImage{bytes.NewReader(b)}
	return map[string]callbacks.Image{"mapped": bytesImage{plain, b}, "read": plain}
}

// build compiles a small program or library with the C compiler.
func build(t testing.TB, flags ...string) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	dir := t.TempDir()
	src := filepath.Join(dir, "p.c")
	code := `#include <stdio.h>
int counter = 3; __thread int mine = 4; static int hidden(int x) { return x + counter; }
int shared_function(int x) { puts("x"); return hidden(x) + mine; }
#ifndef LIB
int main(int argc, char **argv) { return shared_function(argc); }
#endif
`
	if err := os.WriteFile(src, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "p")
	cmd := exec.Command("gcc", append(append([]string{}, flags...), "-o", out, src)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, b)
	}
	return out
}

func open(t testing.TB, path string) *File {
	t.Helper()
	f, c, err := OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return f
}

func TestSymbolsAgreeWithDebugELF(t *testing.T) {
	for name, flags := range map[string][]string{
		"pie": {"-O1"}, "non-pie": {"-no-pie"}, "static": {"-static"},
		"library": {"-shared", "-fPIC", "-DLIB", "-Wl,-soname,libp.so.1"}, "sysv hash": {"-Wl,--hash-style=sysv"},
	} {
		t.Run(name, func(t *testing.T) {
			path := build(t, flags...)
			f := open(t, path)
			want, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			all, err := want.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			compareSymbols(t, got, all)
			if dyn, err := want.DynamicSymbols(); err == nil {
				got, err := f.DynamicSymbols()
				if err != nil {
					t.Fatal(err)
				}
				compareSymbols(t, got, dyn)
			}
			for _, s := range all {
				if s.Name != "shared_function" && s.Name != "hidden" && s.Name != "mine" {
					continue
				}
				if l, ok := f.Lookup(s.Name); !ok || l.Value != s.Value || l.Size != s.Size {
					t.Errorf("Lookup(%s) = %+v, %v; want value %#x", s.Name, l, ok, s.Value)
				}
			}
			if l, ok := f.Lookup("no_such_thing"); ok {
				t.Errorf("Lookup of an unknown name: %+v", l)
			}
		})
	}
}

func compareSymbols(t *testing.T, got []Symbol, want []elf.Symbol) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d symbols, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.Value != w.Value || g.Size != w.Size || g.Section != w.Section ||
			g.Type != elf.ST_TYPE(w.Info) {
			t.Fatalf("symbol %d = %+v, want %+v", i, g, w)
		}
		if w.Version != "" && g.Version != w.Version {
			t.Errorf("symbol %s has version %q, want %q", g.Name, g.Version, w.Version)
		}
	}
}

// TestWithoutSectionHeaders checks that the loader's data suffices.
func TestWithoutSectionHeaders(t *testing.T) {
	path := build(t, "-shared", "-fPIC", "-DLIB", "-Wl,-soname,libp.so.1", "-Wl,--build-id=sha1")
	full := open(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(b[40:], 0) // e_shoff
	for name, img := range images(b) {
		f, err := Open(img)
		if err != nil {
			t.Fatal(name, err)
		}
		want, _ := full.DynamicSymbols()
		got, err := f.DynamicSymbols()
		// The hash table covers defined symbols; undefined ones come first.
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d dynamic symbols, want %d (%v)", name, len(got), len(want), err)
		}
		r1, _ := full.Relocations()
		r2, err := f.Relocations()
		if err != nil || len(r1) != len(r2) || len(r1) == 0 {
			t.Errorf("%s: %d relocations, want %d (%v)", name, len(r2), len(r1), err)
		}
		if f.Soname() != "libp.so.1" || len(f.BuildID()) != 20 || len(f.Needed()) == 0 || f.Needed()[0] != "libc.so.6" {
			t.Errorf("%s: soname %q, build ID %x, needed %v", name, f.Soname(), f.BuildID(), f.Needed())
		}
		if _, err := f.Symbols(); !errors.Is(err, ErrNoSection) {
			t.Errorf("%s: Symbols: %v, want ErrNoSection", name, err)
		}
		s, _ := f.Lookup("counter")
		if v, err := f.DataAt(s.Value, 4); err != nil || v[0] != 3 {
			t.Errorf("%s: counter at %#x = %v, %v", name, s.Value, v, err)
		}
	}
}

func TestCompressedDebugSections(t *testing.T) {
	want := open(t, build(t, "-g"))
	plain, _, err := want.Section(".debug_info")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-gz=zlib", "-gz=zlib-gnu"} {
		f := open(t, build(t, "-g", flag))
		b, h, err := f.Section(".debug_info")
		if err != nil || len(b) != len(plain) || h.Size != uint64(len(b)) {
			t.Errorf("%s: .debug_info has %d bytes, want %d (%v)", flag, len(b), len(plain), err)
		}
		d, err := f.DWARF()
		if err != nil {
			t.Fatal(flag, err)
		}
		e, err := d.Reader().Next()
		if err != nil || e.Tag.String() != "CompileUnit" {
			t.Errorf("%s: first entry %v, %v", flag, e, err)
		}
	}
}

func TestDebugLinkAndInterp(t *testing.T) {
	path := build(t, "-g")
	debug := path + ".debug"
	for _, args := range [][]string{{"--only-keep-debug", path, debug}, {"--strip-all", "--add-gnu-debuglink=" + debug,
		path}} {
		if b, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy %v: %v\n%s", args, err, b)
		}
	}
	f := open(t, path)
	name, crc, ok := f.DebugLink()
	if !ok || name != "p.debug" || crc == 0 {
		t.Errorf("DebugLink = %q, %#x, %v", name, crc, ok)
	}
	if !strings.Contains(f.Interp(), "ld-linux") {
		t.Errorf("Interp = %q", f.Interp())
	}
	if _, _, err := open(t, debug).Section(".text"); !errors.Is(err, ErrNoSection) {
		t.Errorf("a section without bytes: %v, want ErrNoSection", err)
	}
	if _, err := f.DWARF(); !errors.Is(err, ErrNoSection) {
		t.Errorf("DWARF of a stripped file: %v, want ErrNoSection", err)
	}
}
