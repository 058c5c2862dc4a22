package omptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gccSuites are the releases of Debian, other than 12, with tested compilers, by the release of GCC.
var gccSuites = map[int]string{13: "trixie", 14: "trixie", 15: "sid", 16: "sid"}

// gccLanguages are the package and the program of GCC that compiles a language other than C, by the suffix of its
// files.
var gccLanguages = map[string]struct{ pkg, program string }{
	".cc": {"g++", "cc1plus"}, ".f90": {"gfortran", "f951"},
}

// gccLibraries are the packages that GCC's programs need besides their C library.
var gccLibraries = []string{"libisl23", "libmpc3", "libmpfr6", "libgmp10", "libzstd1", "zlib1g"}

// released returns the compiler of one release for a file: LLVM's of Debian 12, or GCC's of another release of Debian.
func (c Compiler) released(tb testing.TB, source string, release int) string {
	tb.Helper()
	NeedsMore(tb, "compilers of other releases")
	ext := filepath.Ext(source)
	if c == GCC {
		return ReleasedGCC(tb, release, ext)
	}
	name := fmt.Sprintf("%s-%d", map[string]string{".c": "clang", ".cc": "clang++"}[ext], release)
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("no compiler: %v: apt-get install clang-%d", err, release)
	}
	return path
}

// releaseFlags returns the flags with which a compiler of LLVM finds the header and the library of its release,
// which gets a link in made: Debian can install only one release.
func releaseFlags(tb testing.TB, release int, made string) []string {
	tb.Helper()
	dir := filepath.Join(debianPackage(tb, fmt.Sprintf("libomp-%d-dev", release)), llvmLib(release))
	headers, _ := filepath.Glob(filepath.Join(dir, "clang/*/include/omp.h"))
	if len(headers) != 1 {
		tb.Fatalf("package libomp-%d-dev has %d omp.h, want 1", release, len(headers))
	}
	must(tb, os.Symlink(RuntimeOf(tb, pairedRuntime(release)).Lib, filepath.Join(made, "libomp.so")))
	return []string{"-isystem", filepath.Dir(headers[0]), "-L", made}
}

// ReleasedGCC returns GCC's compiler of one release for files with a suffix: .c, .cc or .f90. It was built with a newer
// C library than the system's, so scripts start each of its programs by the loader of that library. Its output is
// linked with the headers and the start files of the system, and with the runtime of its own release.
func ReleasedGCC(tb testing.TB, release int, ext string) string {
	tb.Helper()
	suite, version := gccSuites[release], fmt.Sprint(release)
	dir := func(name string) string { return suitePackage(tb, suite, name) }
	const lib, target = "usr/lib/x86_64-linux-gnu", "x86_64-linux-gnu"
	libraries := []string{filepath.Join(dir("libc6"), lib)}
	for _, name := range gccLibraries {
		libraries = append(libraries, filepath.Join(dir(name), lib))
	}
	driver := filepath.Join(dir("gcc-"+version+"-x86-64-linux-gnu"), "usr/bin", target+"-gcc-"+version)
	start := fmt.Sprintf("#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s ", libraries[0],
		strings.Join(libraries, ":"))
	programs := filepath.Join("usr/libexec/gcc", target, version)
	key := []any{"gcc", start, driver}
	language, other := gccLanguages[ext]
	if other {
		key = append(key, ext)
	}
	made := cached(tb, "tools", keyOf(key...), func(made string) {
		script := func(name, program, args string) {
			must(tb, os.WriteFile(filepath.Join(made, name), []byte(start+program+args+" \"$@\"\n"), 0o755))
		}
		script("cc1", filepath.Join(dir("cpp-"+version+"-x86-64-linux-gnu"), programs, "cc1"), "")
		headers := ""
		if ext == ".cc" { // omp.h includes some
			cxx := filepath.Join(dir("libstdc++-"+version+"-dev"), "usr/include")
			headers = fmt.Sprintf(" -isystem %s/c++/%s -isystem %s/%s/c++/%s", cxx, version, cxx, target, version)
		}
		if other {
			pkg := dir(language.pkg + "-" + version + "-x86-64-linux-gnu")
			script(language.program, filepath.Join(pkg, programs, language.program), "")
		}
		script("collect2", filepath.Join(dir("gcc-"+version+"-x86-64-linux-gnu"), programs, "collect2"), "")
		must(tb, os.Symlink(filepath.Join(dir("libgomp1"), lib, "libgomp.so.1"), filepath.Join(made, "libgomp.so")))
		files := filepath.Join(dir("libgcc-"+version+"-dev"), "usr/lib/gcc", target, version)
		script("gcc", driver, fmt.Sprintf(" -B$(dirname \"$0\")/ -B%s/ -L$(dirname \"$0\") "+
			"-Wl,--allow-shlib-undefined "+
			"-fno-use-linker-plugin%s", files, headers))
	})
	return filepath.Join(made, "gcc")
}
