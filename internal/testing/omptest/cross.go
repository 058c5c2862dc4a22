package omptest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Debian's compiler for aarch64, an emulator, and the directory of its C library.
const (
	CrossCC   = "aarch64-linux-gnu-gcc"
	emulator  = "qemu-aarch64"
	crossRoot = "/usr/aarch64-linux-gnu"

	clangHeaders = "/usr/lib/llvm-16/lib/clang/16/include" // which have omp.h
)

// NeedsCross skips a test on machines that cannot build and run programs for aarch64.
func NeedsCross(tb testing.TB) {
	tb.Helper()
	NeedsMore(tb, "a compiler for aarch64 and an emulator")
	for _, program := range []string{CrossCC, emulator} {
		Program(tb, program)
	}
}

// Emulated returns a command line that runs a program for aarch64, with variables of its environment that the
// emulator itself does not get.
func Emulated(exe string, env ...string) []string {
	argv := []string{emulator, "-L", crossRoot}
	for _, e := range env {
		argv = append(argv, "-E", e)
	}
	return append(argv, exe)
}

// CrossRecorder builds the recorder for aarch64, with all warnings as errors, and returns its path.
func CrossRecorder(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "libompd-recorder.so")
	module := filepath.Dir(filepath.Dir(Programs(tb)))
	if text := command(tb, module, "make", "-s", "libompd-recorder.so", "CC="+CrossCC, "RECORDER="+path); text != "" {
		tb.Errorf("the recorder for aarch64: %s", text)
	}
	return path
}

// CompileCross builds a source for aarch64: for LLVM's runtime of a release, or GNU's if major is 0. It returns
// the program and the environment in which it finds the runtime.
func CompileCross(tb testing.TB, source string, major int, flags ...string) (exe, env string) {
	tb.Helper()
	exe = filepath.Join(tb.TempDir(), fmt.Sprintf("cross-%d", major))
	flags = append([]string{"-g", "-O1", "-fopenmp"}, flags...)
	if major == 0 {
		command(tb, "", CrossCC, append(flags, "-o", exe, source)...)
		return exe, "GNU=1"
	}
	lib := crossLibomp(tb, major)
	command(tb, "", "clang-16", append(flags, "--target=aarch64-linux-gnu", "-isystem", clangHeaders, "-isystem",
		filepath.Join(crossRoot, "include"), "-c", "-o", exe+".o", source)...)
	command(tb, "", CrossCC, "-o", exe, exe+".o", lib, "-pthread")
	return exe, "LD_LIBRARY_PATH=" + filepath.Dir(lib)
}

// crossLibomp returns the path of LLVM's runtime of a release that Debian 12 has for aarch64. It can be read
// here, and run in an emulator.
func crossLibomp(tb testing.TB, major int) string {
	tb.Helper()
	dir := archPackage(tb, "bookworm", "arm64", fmt.Sprintf("libomp5-%d", major))
	path := filepath.Join(dir, llvmLib(major), "libomp.so.5")
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("the package of libomp %d for aarch64 has no runtime: %v", major, err)
	}
	return path
}

// CrossLibraries returns the paths of libraries for aarch64: the C library, libm and libgomp of the cross compiler, and
// LLVM's runtime.
func CrossLibraries(tb testing.TB) []string {
	tb.Helper()
	NeedsCross(tb)
	paths := []string{crossLibomp(tb, 16)}
	for _, name := range []string{"libc.so.6", "libm.so.6", "libgomp.so.1"} {
		paths = append(paths, filepath.Join(crossRoot, "lib", name))
	}
	return paths
}
