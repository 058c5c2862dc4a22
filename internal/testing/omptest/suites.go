package omptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// suites are the releases of Debian, other than 12, with tested GNU runtimes. With that of 12, they cover every
// layout of libgomp since GCC 7 except that of GCC 11, which is tested as a static library.
var suites = [...]string{"bullseye", "trixie", "sid"}

// Libgomps returns the GNU runtimes of several Debian releases; in a quick run that of Debian 12 and another one,
// which the date chooses. Those that need a newer C library than the system's come with their own and its loader.
func Libgomps(tb testing.TB) []Runtime {
	tb.Helper()
	all := []Runtime{LibgompOf(tb, "bookworm")}
	list := suites[:]
	if Quick() {
		list = Today(tb, list)
	}
	for _, suite := range list {
		all = append(all, LibgompOf(tb, suite))
	}
	return all
}

// LibgompOf returns the GNU runtime of one release of Debian: bullseye, bookworm, trixie or sid.
func LibgompOf(tb testing.TB, suite string) Runtime {
	tb.Helper()
	if suite == "bookworm" {
		return Libgomp(tb)
	}
	dir := suitePackage(tb, suite, "libgomp1")
	r := Runtime{Dir: filepath.Join(dir, "usr/lib/x86_64-linux-gnu")}
	r.Lib = filepath.Join(r.Dir, "libgomp.so.1")
	r.Major = majorOf(tb, filepath.Join(dir, "version"))
	r.Name = fmt.Sprintf("libgomp-%d", r.Major)
	return r.withLibc(tb, suite)
}

// suiteLibomp returns LLVM's runtime from one release.
func suiteLibomp(tb testing.TB, suite string, major int) Runtime {
	tb.Helper()
	name := fmt.Sprintf("libomp5-%d", major)
	if major == 17 {
		name += "t64" // packages that were rebuilt for 64-bit times on 32-bit machines have the suffix
	}
	lib := llvmLib(major)
	if suite == "sid" {
		name, lib = "libomp5", "usr/lib/x86_64-linux-gnu" // there is one for all versions of LLVM
	}
	dir := filepath.Join(suitePackage(tb, suite, name), lib)
	r := Runtime{Name: fmt.Sprintf("libomp-%d", major), Major: major, Lib: filepath.Join(dir, "libomp.so.5"), Dir: dir}
	return r.withLibc(tb, suite)
}

// withLibc returns a runtime of a release with the release's C library and its loader, if that is newer than the
// system's.
func (r Runtime) withLibc(tb testing.TB, suite string) Runtime {
	tb.Helper()
	if suite == "bullseye" {
		return r
	}
	libc := suitePackage(tb, suite, "libc6")
	r.Loader = filepath.Join(libc, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
	r.Dir += ":" + filepath.Join(libc, "usr/lib/x86_64-linux-gnu")
	for _, file := range []string{r.Lib, r.Loader} {
		if _, err := os.Stat(file); err != nil {
			tb.Fatalf("packages of Debian's %s have changed: %v", suite, err)
		}
	}
	return r
}

// majorOf reads the release of GCC from a file with a package's version.
func majorOf(tb testing.TB, path string) int {
	tb.Helper()
	text, err := os.ReadFile(path)
	must(tb, err)
	n, err := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(string(text)))
	must(tb, err)
	return n
}

// suitePackage returns a directory with the unpacked content of a package of another release of Debian, and its
// version in the file version. The system's own package lists do not change.
func suitePackage(tb testing.TB, suite, name string) string {
	tb.Helper()
	return archPackage(tb, suite, "", name)
}

// archPackage is suitePackage for an architecture of Debian's, "" for the system's own.
func archPackage(tb testing.TB, suite, arch, name string) string {
	tb.Helper()
	key := strings.TrimSuffix(suite+"-"+arch, "-")
	return cached(tb, "packages", key+"-"+name, func(dir string) {
		apt := aptLists(tb, suite, arch)
		if out, err := apt(dir, "apt-get", "-q", "download", name); err != nil {
			tb.Fatalf("apt-get download %s of Debian's %s: %v\n%s", name, suite, err, out)
		}
		debs, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
		if len(debs) != 1 {
			tb.Fatalf("apt-get download %s left %d packages, want 1", name, len(debs))
		}
		version := command(tb, dir, "dpkg-deb", "-f", debs[0], "Version")
		command(tb, dir, "dpkg-deb", "-x", debs[0], dir)
		must(tb, os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o644))
		must(tb, os.Remove(debs[0]))
	})
}

// mirror returns the server of the system's own packages, which also has those of other releases of Debian.
func mirror(tb testing.TB) string {
	tb.Helper()
	for _, uri := range strings.Fields(command(tb, "", "apt-get", "indextargets", "--format", "$(REPO_URI)")) {
		if !strings.Contains(uri, "security") {
			return uri
		}
	}
	tb.Fatal("apt has no source of packages: see /etc/apt/sources.list")
	return ""
}

// sourcePackages takes the place of an architecture in aptLists, for lists of source packages.
const sourcePackages = "source"

// aptLists returns a function that runs apt with package lists of one release of Debian, and one architecture (""
// is the system's own), which it downloads first.
func aptLists(tb testing.TB, suite, arch string) func(dir string, args ...string) ([]byte, error) {
	tb.Helper()
	var state string
	run := func(dir string, args ...string) ([]byte, error) {
		all := append(args[:1:1], "-o", "Dir::State="+state, "-o", "Dir::Cache="+state, "-o",
			"Dir::State::status=/dev/null", "-o", "Dir::Etc::sourcelist="+filepath.Join(state, "sources.list"),
			"-o", "Dir::Etc::sourceparts=/nonexistent", "-o", "Acquire::Languages=none", "-o",
			"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false")
		if arch != "" && arch != sourcePackages {
			all = append(all, "-o", "APT::Architecture="+arch, "-o", "APT::Architectures="+arch)
		}
		cmd := exec.Command(all[0], append(all[1:], args[1:]...)...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	state = cached(tb, "apt", strings.TrimSuffix(suite+"-"+arch, "-"), func(dir string) {
		state = dir
		for _, sub := range []string{"lists/partial", "archives/partial"} {
			must(tb, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		}
		kind := "deb"
		if arch == sourcePackages {
			kind = "deb-src"
		}
		line := fmt.Sprintf("%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", kind,
			mirror(tb), suite)
		must(tb, os.WriteFile(filepath.Join(dir, "sources.list"), []byte(line), 0o644))
		if out, err := run(dir, "apt-get", "-q", "update"); err != nil {
			tb.Fatalf("package lists of Debian's %s: %v\n%s\nthis needs network and the package debian-archive-keyring",
				suite, err, out)
		}
	})
	return run
}

// StaticLibgomp returns the directory of a static GNU runtime of GCC 11, which Debian 12 has in addition to its
// own.
func StaticLibgomp(tb testing.TB) string {
	tb.Helper()
	NeedsMore(tb, "static runtimes of other releases")
	dir := filepath.Join(debianPackage(tb, "libgcc-11-dev"), "usr/lib/gcc/x86_64-linux-gnu/11")
	if _, err := os.Stat(filepath.Join(dir, "libgomp.a")); err != nil {
		tb.Fatalf("package libgcc-11-dev has no runtime: %v", err)
	}
	return dir
}

// staticSuites are the releases of Debian that have static GNU runtimes of further releases of
// GCC than 11 and 12.
var staticSuites = map[int]string{9: "bullseye", 10: "bullseye", 13: "trixie", 14: "trixie", 15: "sid", 16: "sid"}

// StaticLibgomps returns the directories of static GNU runtimes by the release of GCC. Those
// that were built with a newer C library than the system's need [NewerLibc] when they are
// linked.
func StaticLibgomps(tb testing.TB) map[int]string {
	tb.Helper()
	all := map[int]string{11: StaticLibgomp(tb)}
	for release, suite := range staticSuites {
		dir := suitePackage(tb, suite, fmt.Sprintf("libgcc-%d-dev", release))
		all[release] = filepath.Join(dir, fmt.Sprintf("usr/lib/gcc/x86_64-linux-gnu/%d", release))
		if _, err := os.Stat(filepath.Join(all[release], "libgomp.a")); err != nil {
			tb.Fatalf("package libgcc-%d-dev of Debian's %s has no runtime: %v", release, suite, err)
		}
	}
	return all
}

// NewerLibc returns flags that define functions of newer C libraries by their older names in a static program.
func NewerLibc() []string {
	var flags []string
	for _, name := range []string{"strtol", "strtoul", "strtoull", "strtoll", "sscanf"} {
		flags = append(flags, fmt.Sprintf("-Wl,--defsym=__isoc23_%s=%s", name, name))
	}
	return flags
}

// CrossLibgomps returns the paths of Debian's GNU runtimes for aarch64, by the release of GCC. They can be read
// here, not run.
func CrossLibgomps(tb testing.TB) map[int]string {
	tb.Helper()
	NeedsMore(tb, "runtimes for aarch64")
	const name = "libgomp1-arm64-cross"
	dirs := []string{suitePackage(tb, "bookworm", name)}
	for _, suite := range suites {
		dirs = append(dirs, suitePackage(tb, suite, name))
	}
	all := map[int]string{}
	for _, dir := range dirs {
		path := filepath.Join(dir, "usr/aarch64-linux-gnu/lib/libgomp.so.1")
		if _, err := os.Stat(path); err != nil {
			tb.Fatalf("package %s has no runtime: %v", name, err)
		}
		all[majorOf(tb, filepath.Join(dir, "version"))] = path
	}
	return all
}

// CrossLibomps returns the paths of the releases of LLVM's runtime that Debian has for aarch64. They can be read here,
// and run in an emulator.
func CrossLibomps(tb testing.TB) map[int]string {
	tb.Helper()
	NeedsMore(tb, "runtimes for aarch64")
	all := map[int]string{}
	for _, p := range []struct {
		suite, name string
		major       int
	}{{"bookworm", "libomp5-14", 14}, {"bookworm", "libomp5-15", 15}, {"bookworm", "libomp5-16", 16},
		{"trixie", "libomp5-17t64", 17}, {"trixie", "libomp5-18", 18}, {"bookworm", "libomp5-19", 19},
		{"sid", "libomp5", 23}} {
		lib := llvmLib(p.major)
		if p.suite == "sid" {
			lib = "usr/lib/aarch64-linux-gnu"
		}
		all[p.major] = filepath.Join(archPackage(tb, p.suite, "arm64", p.name), lib, "libomp.so.5")
		if _, err := os.Stat(all[p.major]); err != nil {
			tb.Fatalf("package %s has no runtime: %v", p.name, err)
		}
	}
	return all
}
