package ompd

import (
	"debug/elf"
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// exports tells which symbols a library exports.
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

// TestRecognize tells runtimes by the names that they export, and by their paths.
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
	// GNU's runtime is recognised by other names than LLVM's, which has some of
	// them too.
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

// TestProgress reads the counters of four threads in their first region, of which
// three have arrived at a barrier, and of threads in a region with queued tasks.
func TestProgress(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		t.Run(rt.Name, func(t *testing.T) {
			p, _ := openCore(t, "barrier", rt)
			// the primary thread counts when all have come
			if got := countersOf(t, p, "barriers"); fmt.Sprint(got) != "map[0:2 1:2]" {
				t.Errorf("threads by barriers: %v", got)
			}
			p, _ = openCore(t, "tasks_queued", rt)
			if got := countersOf(t, p, "tasks"); len(got) < 1 || got[0] == 4 {
				t.Errorf("threads by the state of their queues: %v", got)
			}
		})
	}
}

// countersOf counts threads by the value of a counter.
func countersOf(t *testing.T, p *Process, name string) map[uint64]int {
	t.Helper()
	n := map[uint64]int{}
	for h, err := range p.Threads() {
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.Progress(h)
		if err != nil {
			t.Fatalf("%v: %v", h, err)
		}
		for _, c := range list {
			if c.Name == name {
				n[c.Value]++
			}
		}
	}
	return n
}
