package omptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// majors are the versions of LLVM's OpenMP runtime in Debian 12.
var majors = [...]int{14, 15, 16, 19}

// usualMajor is the version of the default compilers.
const usualMajor = 16

// Runtime is one OpenMP runtime of the distribution: stripped.
type Runtime struct {
	Name  string // name in tests: libomp-16
	Major int    // LLVM's major version
	Lib   string // path of libomp.so.5
	Dir   string // the directory of Lib, for LD_LIBRARY_PATH
	// Loader is the dynamic loader that runs programs, with Dir as its search path; empty: the system's.
	Loader string
}

// Runtimes returns the runtimes of Debian's LLVM 14, 15, 16 and 19; in a quick run 16 and another one, which the
// date chooses. A failed download fails the test.
func Runtimes(tb testing.TB) []Runtime {
	tb.Helper()
	list := majors[:]
	if Quick() {
		list = append(Today(tb, []int{14, 15, 19}), usualMajor)
	}
	var all []Runtime
	for _, major := range list {
		all = append(all, RuntimeOf(tb, major))
	}
	return all
}

// otherSuites are the releases of Debian that ship the runtimes of further versions of
// LLVM.
var otherSuites = map[int]string{9: "bullseye", 11: "bullseye", 13: "bullseye", 17: "trixie", 18: "trixie", 23: "sid"}

// RuntimeOf returns Debian's runtime of one major version of LLVM.
func RuntimeOf(tb testing.TB, major int) Runtime {
	tb.Helper()
	if suite, ok := otherSuites[major]; ok {
		return suiteLibomp(tb, suite, major)
	}
	dir := filepath.Join(debianPackage(tb, fmt.Sprintf("libomp5-%d", major)), llvmLib(major))
	r := Runtime{Name: fmt.Sprintf("libomp-%d", major), Major: major, Lib: filepath.Join(dir, "libomp.so.5"), Dir: dir}
	if _, err := os.Stat(r.Lib); err != nil {
		tb.Fatalf("package libomp5-%d has no runtime: %v", major, err)
	}
	return r
}

// UnstrippedOMPD returns the path of LLVM's own OMPD library of a major version, from Debian's libomp-N-dev.
// Before 19, its loader must find the libomp.so.5 of [RuntimeOf].
func UnstrippedOMPD(tb testing.TB, major int) string {
	tb.Helper()
	path := filepath.Join(debianPackage(tb, fmt.Sprintf("libomp-%d-dev", major)), llvmLib(major), "libompd.so")
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("package libomp-%d-dev has no libompd.so: %v", major, err)
	}
	return path
}

// llvmLib returns the directory of libraries in Debian's packages of one version of LLVM.
func llvmLib(major int) string { return fmt.Sprintf("usr/lib/llvm-%d/lib", major) }

// Libcxx returns the flags with which clang uses LLVM's library of C++, linked statically. The linker is LLVM's: it
// finds symbols in archives that come before the objects.
func Libcxx(tb testing.TB) []string {
	tb.Helper()
	include := filepath.Join(debianPackage(tb, "libc++-16-dev"), "usr/lib/llvm-16/include/c++/v1")
	lib := filepath.Join(debianPackage(tb, "libc++-16-dev"), llvmLib(16), "libc++.a")
	abi := filepath.Join(debianPackage(tb, "libc++abi-16-dev"), llvmLib(16), "libc++abi.a")
	return []string{"-nostdinc++", "-isystem", include, "-fuse-ld=lld", "-nostdlib++", lib, abi}
}

// debianPackage returns a directory with the unpacked content of a package of the distribution. The package is
// not installed, so that all versions can coexist.
func debianPackage(tb testing.TB, name string) string {
	tb.Helper()
	return cached(tb, "packages", name, func(dir string) {
		if _, err := download(dir, name); err != nil {
			downloadWithNewLists(tb, dir, name)
		}
		debs, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
		if len(debs) != 1 {
			tb.Fatalf("apt-get download %s left %d packages, want 1", name, len(debs))
		}
		command(tb, dir, "dpkg-deb", "-x", debs[0], dir)
		must(tb, os.Remove(debs[0]))
	})
}

// download fetches packages of any version into dir; it needs no privileges, only current package
// lists.
func download(dir string, names ...string) ([]byte, error) {
	cmd := exec.Command("apt-get", append([]string{"-q", "download"}, names...)...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// downloadWithNewLists works like download, with new package lists. One process fetches them, as apt-get locks out
// all others meanwhile.
func downloadWithNewLists(tb testing.TB, dir string, names ...string) {
	tb.Helper()
	defer lock(tb, filepath.Join(filepath.Dir(dir), ".lists.lock"))()
	if _, err := download(dir, names...); err == nil {
		return // another process has fetched them
	}
	update, _ := exec.Command("apt-get", "-q", "update").CombinedOutput()
	if out, err := download(dir, names...); err != nil {
		tb.Fatalf("apt-get download %s: %v\n%s\n%s\nrun apt-get update as root, on Debian 12", names, err, out, update)
	}
}

// command runs a program in a directory and returns its output; an error fails the test.
func command(tb testing.TB, dir, name string, args ...string) string {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
