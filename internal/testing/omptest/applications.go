package omptest

import (
	"os"
	"path/filepath"
	"testing"
)

// CompileApplication builds a program of testdata/applications, as graph.cc, and returns the path of the executable.
// The flags of the language and of its OpenMP runtime are added.
func CompileApplication(tb testing.TB, name string, by Compiler, flags ...string) string {
	tb.Helper()
	root, err := moduleRoot()
	must(tb, err)
	source := filepath.Join(root, "testdata", "applications", name)
	compiler := by.forSource(tb, source)
	key := keyOf(source, flags, compiler, versionOf(tb, compiler), hashFile(tb, source))
	dir := cached(tb, "executables", key, func(dir string) {
		args := append([]string{"-fopenmp"}, flags...)
		if filepath.Ext(name) == ".f90" {
			args = append(args, "-cpp", "-J", dir)
			if by == LLVM { // flang comes without a runtime
				must(tb, os.Symlink(RuntimeOf(tb, 16).Lib, filepath.Join(dir, "libomp.so")))
				args = append(args, "-L", dir)
			} else { // flang has no doacross loops
				args = append(args, "-DDOACROSS")
			}
		}
		args = append(args, filepath.Base(source), "-o", filepath.Join(dir, "app"))
		command(tb, filepath.Dir(source), compiler, args...)
	})
	return filepath.Join(dir, "app")
}
