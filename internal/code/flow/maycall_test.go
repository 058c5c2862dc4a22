package flow

import (
	"debug/elf"
	"iter"
	"testing"
)

// TestMayCall compares MayCall with the calls found by following values, for functions of libgomp. MayCall
// misses no call, and for most functions it knows all callees.
func TestMayCall(t *testing.T) {
	functions, named, open := 0, 0, 0
	for name, f := range libgompFunctions(t) {
		functions++
		if f.MayCall(func(string) bool { return false }) {
			open++
		}
		for _, site := range f.Sites() {
			if !f.MayCall(func(called string) bool { return called == site.Name }) {
				t.Errorf("%s calls %q at %#x, and may not", name, site.Name, site.PC)
			}
			if site.Name != "" {
				named++
			}
		}
	}
	if functions < 200 || open > functions/4 || named < 100 {
		t.Errorf("%d functions, %d with calls to what is not known, %d calls of functions with a name", functions, open,
			named)
	}
}

// libgompFunctions yields the functions that the system's libgomp exports, by name.
func libgompFunctions(t *testing.T) iter.Seq2[string, *Function] {
	t.Helper()
	return functionsOf(t, systemLibgomp)
}

// functionsOf yields the functions that a library exports, by name.
func functionsOf(t *testing.T, path string) iter.Seq2[string, *Function] {
	t.Helper()
	lib := openLibrary(t, path)
	syms, err := lib.file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, *Function) bool) {
		for _, s := range syms {
			if !s.Defined() || s.Type != elf.STT_FUNC || s.Size == 0 {
				continue
			}
			cfg := Config{Arch: lib.file.Arch(), Mem: lib, Resolve: lib.resolve}
			f, err := New(cfg, Range{s.Value, s.Value + s.Size})
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			} else if !yield(s.Name, f) {
				return
			}
		}
	}
}
