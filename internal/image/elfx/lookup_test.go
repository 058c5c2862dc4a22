package elfx

import "testing"

// TestSearchAgreesWithIndex looks up all names, in both ways, in a table where many names are local to several
// files, like that of a static program.
func TestSearchAgreesWithIndex(t *testing.T) {
	f := open(t, build(t, "-static"))
	table, err := f.symtab()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"", "no such name", "main"}
	for i := range table.len() {
		names = append(names, string(table.name(i)))
	}
	for _, name := range names {
		found, ok := Symbol{}, false
		if name != "" {
			found, ok = table.search(name)
		}
		if want, wanted := f.index().lookup(name); ok != wanted || found != want {
			t.Fatalf("%q: searched %v %v, by the index %v %v", name, found, ok, want, wanted)
		}
	}
	if len(names) < 1000 {
		t.Errorf("%d names", len(names))
	}
	for range 2 * fewSearches {
		if s, ok := f.LookupStatic("main"); !ok || s.Name != "main" {
			t.Fatalf("main: %v, %v", s, ok)
		}
		if s, ok := f.LookupStatic(""); ok {
			t.Fatalf("found %v without a name", s)
		}
	}
}

// TestSearchOnce looks up the entry points of runtimes repeatedly in a table without them, and a
// name that it has: each is searched once, and no index is built.
func TestSearchOnce(t *testing.T) {
	f := open(t, build(t))
	built := 0
	index := f.index
	f.index = func() *nameIndex { built++; return index() }
	names := []string{"__kmpc_fork_call", "GOMP_parallel", "omp_get_thread_num", "_rtld_global", "main"}
	for range 10 * fewSearches {
		for _, name := range names {
			if s, ok := f.LookupStatic(name); ok != (name == "main") || ok && s.Name != name {
				t.Fatalf("%s: %v, %v", name, s, ok)
			}
		}
	}
	if n := f.searches.Load(); int(n) != len(names) {
		t.Errorf("searched %d times, want %d", n, len(names))
	}
	if built > 0 {
		t.Errorf("asked the index %d times, want none", built)
	}
}
