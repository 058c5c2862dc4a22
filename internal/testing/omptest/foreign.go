package omptest

import (
	"path/filepath"
	"slices"
	"testing"
)

// Foreign builds testdata/programs/foreign.c with its own library in place of an OpenMP runtime, which is
// stripped, and returns the path of the executable. flags are for both; linkedIn puts the runtime into the
// executable instead.
func Foreign(tb testing.TB, linkedIn bool, flags ...string) string {
	tb.Helper()
	programs := Programs(tb)
	source, library := filepath.Join(programs, "foreign.c"), filepath.Join(programs, "foreign_runtime.c")
	gcc := GCC.forSource(tb, source)
	key := keyOf(source, flags, linkedIn, versionOf(tb, gcc), hashFile(tb, source), hashFile(tb, library),
		hashFile(tb, filepath.Join(programs, "truth.h")))
	dir := cached(tb, "executables", key, func(dir string) {
		args := slices.Concat([]string{"-g", "-pthread"}, flags, gccMacros,
			[]string{"-o", filepath.Join(dir, "foreign"), "foreign.c"})
		if linkedIn {
			command(tb, programs, gcc, append(args, "foreign_runtime.c")...)
			return
		}
		so := filepath.Join(dir, "libcrew.so")
		command(tb, programs, gcc, slices.Concat([]string{"-shared", "-fPIC", "-s", "-pthread",
			"-Wl,-soname,libcrew.so"}, flags, []string{"-o", so, "foreign_runtime.c"})...)
		command(tb, programs, gcc, append(args, "-L", dir, "-l:libcrew.so", "-Wl,-rpath,$ORIGIN")...)
	})
	return filepath.Join(dir, "foreign")
}

// Library builds a library of testdata/programs, and returns its path.
func Library(tb testing.TB, program string) string {
	tb.Helper()
	programs := Programs(tb)
	source := filepath.Join(programs, program+".c")
	gcc := GCC.forSource(tb, source)
	key := keyOf(source, versionOf(tb, gcc), hashFile(tb, source))
	dir := cached(tb, "executables", key, func(dir string) {
		so := filepath.Join(dir, program+".so")
		command(tb, programs, gcc, "-O2", "-shared", "-fPIC", "-pthread", "-o", so, source)
	})
	return filepath.Join(dir, program+".so")
}
