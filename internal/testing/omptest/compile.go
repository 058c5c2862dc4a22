package omptest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Build describes how a program of testdata/programs is built.
type Build struct {
	Program  string   // name without suffix: barrier
	Compiler Compiler // its family; empty: LLVM
	Release  int      // of the compiler; 0: the usual one
	Flags    []string // for the compiler; empty: -O1 -g
	Strip    bool     // remove symbols and debug information afterwards
}

// Compile builds a program and returns the path of the executable; its base name is the program's. The compiler
// is $OMPD_CLANG or clang-16; for C++ $OMPD_CLANGXX or clang++-16; for Fortran $OMPD_FLANG or flang-new-19, which
// takes fewer flags. Debian ships no static libomp, so a static executable (also static-pie) is not possible; PIE
// (the default) and -no-pie are. With [GCC], the compiler is gcc, g++ or gfortran, and -static and -static-pie
// are possible too.
func Compile(tb testing.TB, b Build) string {
	tb.Helper()
	if b.Flags == nil {
		b.Flags = []string{"-O1", "-g"}
	}
	if b.Strip {
		b.Strip = false
		return stripped(tb, Compile(tb, b))
	}
	programs := Programs(tb)
	source := findSource(tb, programs, b.Program)
	compiler := b.compiler(tb, source)
	// The path of the source is in the debug information: a checkout does not use the programs of another, which
	// may have been deleted.
	inputs := []any{source, b.Flags, compiler, versionOf(tb, compiler), hashFile(tb, source)}
	for _, shared := range []string{"truth.h", "handover.h", "truth_fortran.c", "truth.fi"} {
		inputs = append(inputs, hashFile(tb, filepath.Join(programs, shared)))
	}
	dir := cached(tb, "executables", keyOf(inputs...), func(dir string) {
		exe, flags := filepath.Join(dir, b.Program), b.Flags
		if b.Compiler == GCC {
			buildGCC(tb, programs, compiler, filepath.Base(source), exe, flags)
		} else {
			if b.Release != 0 {
				flags = append(releaseFlags(tb, b.Release, dir), flags...)
			}
			build(tb, programs, compiler, filepath.Base(source), exe, flags)
		}
	})
	return filepath.Join(dir, b.Program)
}

// compiler returns the compiler for a source file.
func (b Build) compiler(tb testing.TB, source string) string {
	tb.Helper()
	if b.Release != 0 {
		return b.Compiler.released(tb, source, b.Release)
	}
	return b.Compiler.forSource(tb, source)
}

// stripped returns a stripped copy of exe: both have the same build ID.
func stripped(tb testing.TB, exe string) string {
	tb.Helper()
	name := filepath.Base(exe)
	dir := cached(tb, "executables", keyOf("stripped", name, hashFile(tb, exe)), func(dir string) {
		command(tb, dir, "strip", "-o", filepath.Join(dir, name), exe)
	})
	return filepath.Join(dir, name)
}

// Programs returns the directory testdata/programs of this module.
func Programs(tb testing.TB) string {
	tb.Helper()
	root, err := moduleRoot()
	must(tb, err)
	return filepath.Join(root, "testdata", "programs")
}

// moduleRoot returns the directory of the module in which the test runs.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", cmp.Or(err, errors.New("the test runs outside of its module: no go.mod above the working directory"))
}

// findSource returns the single source of a program, in any language.
func findSource(tb testing.TB, programs, name string) string {
	tb.Helper()
	for _, suffix := range []string{".c", ".cc", ".f90"} {
		path := filepath.Join(programs, name+suffix)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Fatalf("no program %s in %s", name, programs)
	return ""
}

// compilerFor returns the compiler for a source file.
func compilerFor(tb testing.TB, source string) string {
	tb.Helper()
	Needs(tb, "compilers")
	name, variable, need := "clang-16", "OMPD_CLANG", "clang-16 libomp-16-dev"
	switch filepath.Ext(source) {
	case ".cc":
		name, variable = "clang++-16", "OMPD_CLANGXX"
	case ".f90":
		NeedsMore(tb, "a compiler of Fortran")
		name, variable, need = "flang-new-19", "OMPD_FLANG", "flang-19"
	}
	if set := os.Getenv(variable); set != "" {
		name = set
	}
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("no compiler: %v: apt-get install %s, or set %s", err, need, variable)
	}
	return path
}

// versionOf distinguishes two compilers that had the same path, by size and time of the file.
func versionOf(tb testing.TB, compiler string) string {
	tb.Helper()
	info, err := os.Stat(compiler)
	must(tb, err)
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// sourceName returns the flag that gives truth_fortran.c the name of its program.
func sourceName(source string) string { return fmt.Sprintf("-DSOURCE=%q", source) }

// build compiles in the directory of the sources, so that debug information has their plain names. Fortran is
// linked with the part of truth.h that it calls, and with a downloaded runtime: flang comes without one.
func build(tb testing.TB, programs, compiler, source, exe string, flags []string) {
	tb.Helper()
	args := append([]string{"-fopenmp"}, flags...)
	if filepath.Ext(source) == ".f90" {
		dir := filepath.Dir(exe)
		object := filepath.Join(dir, "truth.o")
		clang := compilerFor(tb, "truth_fortran.c")
		command(tb, programs, clang, append(slices.Clone(args), sourceName(source), "-c", "truth_fortran.c", "-o",
			object)...)
		must(tb, os.Symlink(RuntimeOf(tb, 16).Lib, filepath.Join(dir, "libomp.so")))
		args = append(args, "-J", dir, "-L", dir, object)
	} else {
		args = append(args, "-pthread")
	}
	command(tb, programs, compiler, append(args, source, "-o", exe)...)
}
