package symbolize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
)

// compileProgram compiles the program of most tests of debug files.
func compileProgram(t testing.TB, flags ...string) string {
	return compile(t, "small.cc", "clang++-16", append([]string{"-g", "-O1", "-Wl,--build-id=sha1"}, flags...)...)
}

func TestSeparateDebugFile(t *testing.T) {
	full := compileProgram(t)
	id := buildID(t, full)
	want := openSymbolizer(t, full)
	for name, place := range map[string]func(stripped, dirs string) string{
		"build ID": func(_, dirs string) string {
			return filepath.Join(dirs, ".build-id", id[:2],
				id[2:]+".debug")
		},
		"same directory":  func(s, _ string) string { return filepath.Join(filepath.Dir(s), "small.debug") },
		".debug":          func(s, _ string) string { return filepath.Join(filepath.Dir(s), ".debug", "small.debug") },
		"debug directory": func(s, dirs string) string { return filepath.Join(dirs, filepath.Dir(s), "small.debug") },
		"sysroot build ID": func(_, dirs string) string {
			return filepath.Join(dirs, "root/dbg/.build-id", id[:2],
				id[2:]+".debug")
		},
	} {
		t.Run(name, func(t *testing.T) {
			made, debug := stripProgram(t, full)
			stripped := copyFile(t, made, filepath.Join(t.TempDir(), "small"))
			dirs := t.TempDir()
			copyFile(t, debug, place(stripped, dirs))
			o := Options{DebugDirs: []string{dirs}}
			if strings.HasPrefix(name, "sysroot") {
				o = Options{DebugDirs: []string{"/dbg"}, Sysroot: filepath.Join(dirs, "root")}
			}
			s := openWith(t, o, loadModule(t, stripped, bias))
			sameFrames(t, full, s, want)
			noWarnings(t, s)
			if a, ok := s.Lookup("c_name", ""); !ok || a != addressOf(t, full, "c_name") {
				t.Errorf("Lookup(c_name) = %#x, %v", a, ok)
			}
			if a, ok := s.Lookup("_ZL4failPKc", "small"); !ok || a != addressOf(t, full, "_ZL4failPKc") {
				t.Errorf("Lookup of a local function = %#x, %v", a, ok)
			}
			if d, ok := s.Data(addressOf(t, full, "_ZL4sink") + 1); !ok || d.Name != "_ZL4sink" || d.Offset != 1 {
				t.Errorf("Data(sink+1) = %+v, %v", d, ok)
			}
		})
	}
}

// TestDebugLinkChecksum uses files without build IDs: the checksum decides.
func TestDebugLinkChecksum(t *testing.T) {
	full := compileProgram(t, "-Wl,--build-id=none")
	stripped, debug := stripProgram(t, full)
	s := openSymbolizer(t, stripped)
	sameFrames(t, full, s, openSymbolizer(t, full))
	noWarnings(t, s)

	b, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(debug, append(b, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	s = openSymbolizer(t, stripped)
	wantNothing(t, s, full)
	wantWarning(t, s, "belongs to another build (checksum")
}

func TestWrongBuildID(t *testing.T) {
	full := compileProgram(t)
	stripped, debug := stripProgram(t, full)
	other := compileProgram(t, "-DOTHER", "-O2")
	copyFile(t, other, debug)
	s := openSymbolizer(t, stripped)
	wantNothing(t, s, full)
	wantWarning(t, s, "belongs to another build (build ID "+buildID(t, other)+", not "+buildID(t, full))
	wantWarning(t, s, "install the debug package of the same build")
}

func TestDamagedDebugFile(t *testing.T) {
	full := compileProgram(t)
	stripped, debug := stripProgram(t, full)
	if err := os.WriteFile(debug, []byte("no ELF file"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openSymbolizer(t, stripped)
	wantNothing(t, s, full)
	wantWarning(t, s, "not an ELF file")
}

// TestModuleWithoutFile has only a build ID, like a core without its programs.
func TestModuleWithoutFile(t *testing.T) {
	full := compileProgram(t)
	_, debug := stripProgram(t, full)
	id := buildID(t, full)
	dirs := t.TempDir()
	copyFile(t, debug, filepath.Join(dirs, ".build-id", id[:2], id[2:]+".debug"))
	m := loadModule(t, full, bias)
	m.Image, m.File = nil, ""
	s := openWith(t, Options{DebugDirs: []string{dirs}}, m)
	sameFrames(t, full, s, openSymbolizer(t, full))

	s = openWith(t, Options{DebugDirs: []string{t.TempDir()}}, m)
	if f, err := s.Code(addressOf(t, full, "main")); err == nil || len(f) != 1 || f[0].Function != "" {
		t.Errorf("without any file: %+v, %v; want an unknown frame and an error", f, err)
	}
	wantWarning(t, s, "the file is not at hand")
}

func TestMiniDebugInfo(t *testing.T) {
	full := compileProgram(t)
	dir := t.TempDir()
	mini, stripped := filepath.Join(dir, "mini"), filepath.Join(dir, "small")
	runTool(t, "objcopy", "--strip-debug", "--remove-section=.comment", full, mini)
	runTool(t, "xz", mini)
	runTool(t, "objcopy", "--strip-all", "--add-section=.gnu_debugdata="+mini+".xz", full, stripped)
	s := openSymbolizer(t, stripped)
	f, err := s.Function(addressOf(t, full, "_ZL4failPKc") + 3)
	if err != nil || f.Function != "fail(char const*)" || f.Offset != 3 || f.Source != SourceMiniDebug {
		t.Errorf("fail: %+v, %v; want it from minidebug", f, err)
	}
	if _, err := s.Code(addressOf(t, full, "main")); err != nil {
		t.Error(err)
	}
	wantWarning(t, s, "no source lines")

	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("\xfd7zXZ\x00 and then nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	runTool(t, "objcopy", "--strip-all", "--add-section=.gnu_debugdata="+garbage, full, stripped)
	s = openSymbolizer(t, stripped)
	wantNothing(t, s, full)
	wantWarning(t, s, ".gnu_debugdata")
}

// TestDwz moves common debug information of two programs to a common file, as distributions do, and
// looks up names with and without that file.
func TestDwz(t *testing.T) {
	dir := t.TempDir()
	var full, small [2]string
	for i, flag := range []string{"-O1", "-O2"} {
		full[i] = compile(t, "shapes.cc", "g++", "-gdwarf-4", flag)
		small[i] = copyFile(t, full[i], filepath.Join(dir, "shapes"+flag))
	}
	runTool(t, "dwz", "-m", filepath.Join(dir, "common.debug"), "-M", "common.debug", small[0], small[1])
	s := openSymbolizer(t, small[0])
	sameFrames(t, full[0], s, openSymbolizer(t, full[0]))
	noWarnings(t, s)

	if err := os.Remove(filepath.Join(dir, "common.debug")); err != nil {
		t.Fatal(err)
	}
	s, want := openSymbolizer(t, small[0]), openSymbolizer(t, full[0])
	missing := 0
	for _, pc := range codeAddresses(t, full[0], 200) {
		got, _ := s.Code(pc + bias)
		frames, _ := want.Code(pc + bias)
		if len(got) != len(frames) {
			t.Fatalf("%#x: %d frames, want %d", pc, len(got), len(frames))
		}
		for i := range got {
			if got[i].Function == "" {
				missing++
			} else if got[i].Function != frames[i].Function {
				t.Fatalf("%#x: function %q, want %q or none", pc, got[i].Function, frames[i].Function)
			}
		}
	}
	if missing == 0 {
		t.Error("no name was missing without the common file; the test tests nothing")
	}
	wantWarning(t, s, "refers to common.debug")
}

// TestSplitDWARF has the debug information in another file that is not read: functions come from
// the symbol table, lines from the line table.
func TestSplitDWARF(t *testing.T) {
	for _, flag := range []string{"-gdwarf-4", "-gdwarf-5"} {
		for _, compiler := range []string{"g++", "clang++-16"} {
			full := compile(t, "small.cc", compiler, flag, "-O0")
			object := compile(t, "small.cc", compiler, flag, "-O0", "-gsplit-dwarf", "-c")
			skeleton := object + ".linked"
			runTool(t, compiler, "-o", skeleton, object)
			a, b := openSymbolizer(t, skeleton), openSymbolizer(t, full)
			for _, name := range []string{"main", "c_name", "_ZL4failPKc", "_Z4walkPKii"} {
				got, err1 := a.Code(addressOf(t, skeleton, name) + 4)
				want, err2 := b.Code(addressOf(t, full, name) + 4)
				if err1 != nil || err2 != nil || len(got) != 1 || len(want) != 1 ||
					got[0].Function != want[0].Function || got[0].Line != want[0].Line || got[0].File != want[0].File {
					t.Errorf("%s %s %s: %+v, %v; want %+v, %v", compiler, flag, name, got, err1, want, err2)
				}
			}
		}
	}
}

// wantNothing checks that no debug file was used: main has no line.
func wantNothing(t *testing.T, s *Symbolizer, full string) {
	t.Helper()
	f, err := s.Code(addressOf(t, full, "_ZL4failPKc"))
	if err != nil || len(f) != 1 || f[0].Line != 0 || f[0].Function != "" {
		t.Errorf("%+v, %v; want one unknown frame", f, err)
	}
}

func wantWarning(t *testing.T, s *Symbolizer, part string) {
	t.Helper()
	list := s.Warnings(nil)
	for _, w := range list {
		if strings.Contains(w, part) {
			return
		}
	}
	t.Errorf("warnings %q, want one with %q", list, part)
}

// TestConfined has a debug link that leads to a file which must not be opened. The file is not
// opened or mentioned, whether it exists or not.
func TestConfined(t *testing.T) {
	full := compileProgram(t)
	made, debug := stripProgram(t, full)
	stripped := copyFile(t, made, filepath.Join(t.TempDir(), "small"))
	place := filepath.Join(filepath.Dir(stripped), ".debug", "small.debug")
	copyFile(t, debug, place)
	for name, o := range map[string]*files.Opener{"nothing": {}, "elsewhere": {Dirs: []string{t.TempDir()}},
		"another build": {}} {
		if name == "another build" {
			copyFile(t, compileProgram(t, "-DOTHER"), place)
		}
		s := openWith(t, Options{Open: o.Open}, loadModule(t, stripped, bias))
		if f, err := s.Code(addressOf(t, full, "c_name")); len(f) > 0 && f[0].Source == SourceDWARF {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		for _, w := range s.Warnings(nil) {
			if strings.Contains(w, "left out") || strings.Contains(w, place) {
				t.Errorf("%s: %s", name, w)
			}
		}
	}
	copyFile(t, debug, place)
	s := openWith(t, Options{Open: (&files.Opener{Dirs: []string{filepath.Dir(stripped)}}).Open},
		loadModule(t, stripped, bias))
	sameFrames(t, full, s, openSymbolizer(t, full))
}
