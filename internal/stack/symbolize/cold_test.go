package symbolize

import (
	"path/filepath"
	"slices"
	"testing"
)

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

// TestPartNames checks the symbols that compilers, and LLVM's BOLT, give to parts of functions.
func TestPartNames(t *testing.T) {
	for _, c := range []struct {
		symbol, function string
		cold             bool
	}{
		{"main.cold", "main", true},
		{"main.cold.0", "main", true},
		{"main._omp_fn.0.cold", "main._omp_fn.0", true},
		{"main._omp_fn.0.cold.12", "main._omp_fn.0", true},
		{"main.__part.1", "main", true},
		{"main.eh", "main", true},
		{"main", "main", false},
		{"main.__part.", "main.__part.", false},
		{"main.part.0", "main.part.0", false}, // a function that GCC made of a part of main
		{".cold", ".cold", false},
		{"main.colder", "main.colder", false},
		{"main.cold.", "main.cold.", false},
		{"main.cold.x", "main.cold.x", false},
	} {
		if function, cold := PartName(c.symbol); function != c.function || cold != c.cold {
			t.Errorf("PartName(%q) = %q, %v, want %q, %v", c.symbol, function, cold, c.function, c.cold)
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

// TestPartsOfSameName requires that each of two functions with one name in two files has its own part, with and without
// debug information.
func TestPartsOfSameName(t *testing.T) {
	for _, flag := range []string{"-g", "-g0"} {
		file := compile(t, "parts_one.c", "gcc", flag, "-O2", filepath.Join("testdata", "parts_two.c"))
		var functions, parts []uint64 // by source file
		for _, s := range symbolsOf(t, file) {
			switch s.Name {
			case "check":
				functions = append(functions, s.Value+bias)
			case "check.cold":
				parts = append(parts, s.Value+bias)
			}
		}
		if len(functions) != 2 || len(parts) != 2 {
			t.Fatalf("%s: the functions are %#x, and the parts %#x", flag, functions, parts)
		}
		s := openSymbolizer(t, file)
		for i, entry := range functions {
			if got := s.Parts(entry); !slices.Equal(got, parts[i:i+1]) {
				t.Errorf("%s: the parts of %#x are %#x, want %#x", flag, entry, got, parts[i])
			}
			if name, low := s.Linkage(parts[i]); name != "check.cold" || low != entry {
				t.Errorf("%s: the part at %#x is %s of %#x, want %#x", flag, parts[i], name, low, entry)
			}
		}
	}
}
