package symbolize

import "testing"

// TestColdPart checks code that gcc moved away from its function: the frame is that of the
// function, with the function's entry.
func TestColdPart(t *testing.T) {
	for _, flag := range []string{"-g", "-g0"} {
		file := compile(t, "shapes.cc", "g++", flag, "-O2")
		cold := addressOf(t, file, "main.cold")
		f, err := openSymbolizer(t, file).Function(cold + 2)
		if err != nil || f.Function != "main" || f.Linkage != "main.cold" || f.Offset != 2 ||
			f.Low != addressOf(t, file, "main") {
			t.Errorf("%s: Function in main.cold: %+v, %v", flag, f, err)
		}
		frames, err := openSymbolizer(t, file).Code(cold + 2)
		if err != nil || len(frames) == 0 {
			t.Fatal(frames, err)
		}
		last := frames[len(frames)-1]
		if last.Function != "main" || last.Low != addressOf(t, file, "main") || (last.Line != 0) != (flag == "-g") {
			t.Errorf("%s: Code in main.cold: %+v", flag, last)
		}
	}
}

// TestColdPartNames checks the symbols that compilers, and LLVM's BOLT, give to parts of functions.
func TestColdPartNames(t *testing.T) {
	for _, c := range []struct {
		symbol, function string
		cold             bool
	}{
		{"main.cold", "main", true},
		{"main.cold.0", "main", true},
		{"main._omp_fn.0.cold", "main._omp_fn.0", true},
		{"main._omp_fn.0.cold.12", "main._omp_fn.0", true},
		{"main", "main", false},
		{".cold", ".cold", false},
		{"main.colder", "main.colder", false},
		{"main.cold.", "main.cold.", false},
		{"main.cold.x", "main.cold.x", false},
	} {
		if function, cold := ColdPart(c.symbol); function != c.function || cold != c.cold {
			t.Errorf("ColdPart(%q) = %q, %v, want %q, %v", c.symbol, function, cold, c.function, c.cold)
		}
	}
}

// TestNamesFromDWARF uses debug information without a symbol table.
func TestNamesFromDWARF(t *testing.T) {
	full := compile(t, "small.cc", "clang++-16", "-g", "-O1")
	file := full + ".nosyms"
	runTool(t, "objcopy", "--strip-all", "--keep-section=.debug_*", full, file)
	want, s := openSymbolizer(t, full), openSymbolizer(t, file)
	for _, name := range []string{"main", "c_name", "_ZL4failPKc", "_Z4walkPKii"} {
		pc := addressOf(t, full, name) + 3
		w, _ := want.Code(pc)
		got, err := s.Code(pc)
		if err != nil || len(got) != len(w) {
			t.Fatalf("%s: %+v, %v; want %+v", name, got, err, w)
		}
		for i := range got {
			if w[i].Source == SourceSymtab {
				w[i].Source = SourceDWARF
			}
			if got[i] != w[i] {
				t.Errorf("%s: %+v, want %+v", name, got[i], w[i])
			}
		}
		if f, err := s.Function(pc); err != nil || f.Linkage != name || f.Source != SourceDWARF || f.Offset != 3 {
			t.Errorf("Function(%s): %+v, %v", name, f, err)
		}
	}
}
