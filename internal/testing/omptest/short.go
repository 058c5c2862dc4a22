package omptest

import (
	"cmp"
	"os/exec"
	"slices"
	"testing"
)

// Needs skips a test in a short run (go test -short), which is for machines with only Go: what names the program,
// the package or the right that the test needs.
func Needs(tb testing.TB, what string) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("not in a short run: it needs %s", what)
	}
}

// NeedsMore skips a test in a short run, and in a quick one too: it needs packages that are not among those of
// `make test`.
func NeedsMore(tb testing.TB, what string) {
	tb.Helper()
	Needs(tb, what)
	if Quick() {
		tb.Skipf("not in a quick run: it needs %s", what)
	}
}

// packages are the Debian packages of programs that tests run, if the names differ.
var packages = map[string]string{
	"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "cc": "gcc", "c++": "g++", "clang++-16": "clang-16",
	"flang-new-19": "flang-19", "gcore": "gdb", "ld.bfd": "binutils", "ld.gold": "binutils", "ld.lld-16": "lld-16",
	"ld.mold": "mold", "llvm-symbolizer-16": "llvm-16", "objcopy": "binutils", "perl": "perl-base",
	"qemu-aarch64": "qemu-user", "qemu-system-aarch64": "qemu-system-arm", "readelf": "binutils", "strip": "binutils",
	"unshare": "util-linux", "xz": "xz-utils",
}

// quickPackages are the packages of `make test` (PACKAGES of the Makefile, and their dependencies), and those of
// every Debian system.
var quickPackages = []string{
	"bash", "binutils", "clang-16", "g++", "gcc", "gdb", "lld-16", "perl-base", "sed", "util-linux",
}

// Program returns the path of a program that a test runs. If it is missing, the test fails and names the package
// of Debian to install; a short run skips the test. A quick run skips it if the program is in no package of `make
// test`, so that it runs the same tests everywhere.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	pkg := cmp.Or(packages[name], name)
	if Quick() && !slices.Contains(quickPackages, pkg) {
		NeedsMore(tb, name)
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if testing.Short() {
		tb.Skipf("it needs %s: %v: apt-get install %s", name, err, pkg)
	}
	tb.Fatalf("%v: apt-get install %s", err, pkg)
	return ""
}
