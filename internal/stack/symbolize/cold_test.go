package symbolize

import "testing"

// TestColdPart asks about code that gcc moved away from its function: the frame
// is that of the function, entered where that is entered.
func TestColdPart(t *testing.T) {
	for _, flag := range []string{"-g", "-g0"} {
		file := compile(t, "shapes.cc", "g++", flag, "-O2")
		cold := address(t, file, "main.cold")
		f, err := open(t, file).Function(cold + 2)
		if err != nil || f.Function != "main" || f.Linkage != "main.cold" || f.Offset != 2 ||
			f.Low != address(t, file, "main") {
			t.Errorf("%s: Function in main.cold: %+v, %v", flag, f, err)
		}
		frames, err := open(t, file).Code(cold + 2)
		if err != nil || len(frames) == 0 {
			t.Fatal(frames, err)
		}
		last := frames[len(frames)-1]
		if last.Function != "main" || last.Low != address(t, file, "main") || (last.Line != 0) != (flag == "-g") {
			t.Errorf("%s: Code in main.cold: %+v", flag, last)
		}
	}
}

// TestNamesFromDWARF has debug information, but no symbol table at all.
func TestNamesFromDWARF(t *testing.T) {
	full := compile(t, "small.cc", "clang++-16", "-g", "-O1")
	file := full + ".nosyms"
	run(t, "objcopy", "--strip-all", "--keep-section=.debug_*", full, file)
	want, s := open(t, full), open(t, file)
	for _, name := range []string{"main", "c_name", "_ZL4failPKc", "_Z4walkPKii"} {
		pc := address(t, full, name) + 3
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
