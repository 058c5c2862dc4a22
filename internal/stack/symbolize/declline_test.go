package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// directiveLines returns the lines of testdata/constructs.c with a directive from which compilers
// outline a function.
func directiveLines(t *testing.T) map[int]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "constructs.c"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]string{}
	for i, s := range strings.Split(string(b), "\n") {
		if _, kind, ok := strings.Cut(s, "#pragma omp "); ok && !strings.HasPrefix(kind, "for") {
			lines[i+1] = strings.Fields(kind)[0]
		}
	}
	if len(lines) != 4 {
		t.Fatalf("directives %v, want 4", lines)
	}
	return lines
}

// TestDeclLine checks for each compiler that each outlined function has the line of a directive,
// and each directive a function.
func TestDeclLine(t *testing.T) {
	lines := directiveLines(t)
	for _, compiler := range []string{"clang-14", "clang-16", "clang-19", "gcc"} {
		for _, flags := range []string{"-g -O0", "-g -O2", "-g -O2 -fPIC -gdwarf-4", "-g -O1 -fno-inline",
			"-g -O0 -no-pie"} {
			t.Run(compiler+flags, func(t *testing.T) {
				checkDecls(t, compileOpenMP(t, compiler, strings.Fields(flags)...), lines)
			})
		}
	}
}

// TestDeclLineAArch64 checks the declaration lines in code for aarch64.
func TestDeclLineAArch64(t *testing.T) {
	for _, flags := range []string{"-g -O0", "-g -O2", "-g -O1 -fno-inline"} {
		object := compile(t, "constructs.c", "clang-16", append(strings.Fields(flags), "--target=aarch64-linux-gnu",
			"-fPIC", "-fopenmp", "-c")...)
		file := filepath.Join(t.TempDir(), "constructs")
		runTool(t, "ld.lld-16", "-shared", "-o", file, object)
		checkDecls(t, file, directiveLines(t))
	}
}

func checkDecls(t *testing.T, file string, lines map[int]string) {
	t.Helper()
	s := openSymbolizer(t, file)
	found := map[int]int{}
	for name, entry := range outlinedFunctions(t, file) {
		path, line, err := s.DeclLine(entry)
		want := lines[line]
		kind, parent := Construct(name)
		if err != nil || want == "" || filepath.Base(path) != "constructs.c" || kind != want && kind != "outlined" {
			t.Errorf("%s is a %s of %s, declared at %s:%d (%s), %v", name, kind, parent, path, line, want, err)
		}
		found[line]++
	}
	if len(found) != len(lines) {
		t.Errorf("functions found for lines %v, want for each of %v", found, lines)
	}
}

// compileOpenMP compiles testdata/constructs.c. A compiler without an OpenMP library uses that of another.
func compileOpenMP(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	object := compile(t, "constructs.c", compiler, append(flags, "-fopenmp", "-c")...)
	out := filepath.Join(t.TempDir(), "constructs")
	link := []string{"-fopenmp", "-o", out, object}
	for _, f := range flags {
		if f == "-no-pie" {
			link = append(link, f)
		}
	}
	linker := "clang-16"
	if compiler == "gcc" {
		linker = "gcc"
	}
	runTool(t, linker, link...)
	return out
}

// outlinedFunctions returns the outlined functions of a file by name.
func outlinedFunctions(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	found := map[string]uint64{}
	for _, s := range symbolsOf(t, file) {
		if kind, _ := Construct(s.Name); kind != "" && elf.ST_TYPE(s.Info) == elf.STT_FUNC &&
			!strings.Contains(s.Name, "privates_map") {
			found[s.Name] = s.Value + bias
		}
	}
	return found
}

func TestDeclLineOfPlainFunction(t *testing.T) {
	for _, compiler := range []string{"clang-16", "gcc"} {
		file := compileOpenMP(t, compiler, "-g", "-O1")
		if path, line, err := openSymbolizer(t, file).DeclLine(addressOf(t, file, "main")); err != nil || line != 6 ||
			filepath.Base(path) != "constructs.c" {
			t.Errorf("%s: main is declared at %s:%d, %v; want constructs.c:6", compiler, path, line, err)
		}
	}
}
