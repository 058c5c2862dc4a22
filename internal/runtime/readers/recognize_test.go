package readers

import (
	"debug/elf"
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// exports returns a function that reports whether a library exports a symbol.
func exports(t *testing.T, path string) func(string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range syms {
		names[s.Name] = names[s.Name] || s.Section != elf.SHN_UNDEF
	}
	return func(name string) bool { return names[name] }
}

// TestRecognize recognizes runtimes by the names that they export, and by their paths.
func TestRecognize(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		defines := exports(t, rt.Lib)
		k, ok := Recognize(defines, rt.Lib)
		if !ok || k.Family != "libomp" || k.Version != fmt.Sprint(rt.Major) || k.Name == "" {
			t.Errorf("%s: %+v", rt.Lib, k)
		}
		if k, ok := Recognize(defines, "/opt/somewhere/libiomp5.so"); !ok || k.Family != "libomp" || k.Version == "" {
			t.Errorf("%s by its symbols: %+v", rt.Lib, k)
		}
	}
	// GNU's runtime is recognized by other names than LLVM's, which defines some of them too.
	gnu := map[string]bool{"GOMP_parallel": true, "GOMP_barrier": true, "omp_get_level": true,
		"omp_get_ancestor_thread_num": true}
	if k, ok := Recognize(func(s string) bool { return gnu[s] }, "/usr/lib/libgomp.so.1"); !ok ||
		k.Family != "libgomp" {
		t.Errorf("GNU: %+v", k)
	}
	if k, ok := Recognize(func(s string) bool { return s == "main" || s == "omp_get_level" }, "/bin/x"); ok {
		t.Errorf("no runtime: %+v", k)
	}
}
