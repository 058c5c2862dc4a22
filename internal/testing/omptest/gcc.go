package omptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Compiler is a family of compilers, each with the OpenMP runtime of its own.
type Compiler string

// The compilers of the test programs.
const (
	LLVM Compiler = ""    // clang, clang++ and flang, with libomp
	GCC  Compiler = "gcc" // gcc, g++ and gfortran, with libgomp
)

// forSource finds the compiler for a source file.
func (c Compiler) forSource(tb testing.TB, source string) string {
	tb.Helper()
	Needs(tb, "compilers")
	if c != GCC {
		return compilerFor(tb, source)
	}
	if filepath.Ext(source) == ".f90" {
		NeedsMore(tb, "a compiler of Fortran")
	}
	name := map[string]string{".c": "gcc", ".cc": "g++", ".f90": "gfortran"}[filepath.Ext(source)]
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("no compiler: %v: apt-get install %s", err, name)
	}
	return path
}

// gccMacros replace functions of truth.h that only LLVM's runtime has.
var gccMacros = []string{"-Dkmp_get_stacksize_s()=0UL"}

// buildGCC is build for GCC's compilers.
func buildGCC(tb testing.TB, programs, compiler, source, exe string, flags []string) {
	tb.Helper()
	args := append([]string{"-fopenmp"}, flags...)
	if filepath.Ext(source) == ".f90" {
		object := filepath.Join(filepath.Dir(exe), "truth.o")
		c := append(append([]string{}, args...), gccMacros...)
		command(tb, programs, GCC.forSource(tb, "truth_fortran.c"),
			append(c, sourceName(source), "-c", "truth_fortran.c", "-o", object)...)
		args = append(args, "-J", filepath.Dir(exe), object)
	} else {
		args = append(append(args, gccMacros...), "-pthread")
	}
	command(tb, programs, compiler, append(args, source, "-o", exe)...)
}

// Libgomp returns Debian's GNU runtime: stripped.
func Libgomp(tb testing.TB) Runtime {
	tb.Helper()
	dir := filepath.Join(debianPackage(tb, "libgomp1"), "usr/lib/x86_64-linux-gnu")
	r := Runtime{Name: "libgomp-12", Major: 12, Lib: filepath.Join(dir, "libgomp.so.1"), Dir: dir}
	if _, err := os.Stat(r.Lib); err != nil {
		tb.Fatalf("package libgomp1 has no runtime: %v", err)
	}
	return r
}

// LibgompAlias returns LLVM's runtime under the name of GCC's, as LLVM's own packages install it for programs of
// GCC.
func LibgompAlias(tb testing.TB) Runtime {
	tb.Helper()
	r := RuntimeOf(tb, 16)
	dir := cached(tb, "packages", "libgomp-alias-16", func(dir string) {
		must(tb, os.Symlink(r.Lib, filepath.Join(dir, "libgomp.so.1")))
	})
	return Runtime{Name: "libomp-16 as libgomp", Major: 16, Lib: r.Lib, Dir: dir}
}

// Renamed returns a copy of a runtime under another file name.
func Renamed(tb testing.TB, r Runtime, name string) Runtime {
	tb.Helper()
	r.Dir = cached(tb, "packages", keyOf(r.Lib, hashFile(tb, r.Lib), name), func(dir string) {
		command(tb, dir, "cp", r.Lib, name)
	})
	r.Lib = filepath.Join(r.Dir, name)
	return r
}
