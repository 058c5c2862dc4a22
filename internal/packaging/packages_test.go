package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// lowestGlibc is the lowest version of the GNU C library for the libraries, as README promises.
const lowestGlibc = "2.34"

// golden is a golden core that the tests inspect; its report contains goldenVerdict.
const golden, goldenVerdict = "llvm-deadlock", "DEADLOCK  2 threads wait for each other"

// goldenReport contains the arguments for the report of [golden] in the directory of its files.
var goldenReport = strings.Fields("report --no-debuginfod --debug-dir sysroot --sysroot sysroot --exe exe core.zst")

// TestPackages installs the packages and the tarball into small systems of Debian 12 and 13, uses them there, and
// removes them.
func TestPackages(t *testing.T) {
	suites := []string{"bookworm", "trixie"}
	systems := make([]omptest.Chroot, len(suites))
	for i, suite := range suites { // skips the test if there is no suite
		systems[i] = omptest.NewChroot(t, suite, "libgomp1", "man-db", "bash-completion", "xz-utils")
	}
	omptest.Program(t, "xz")
	source := filepath.Join(t.TempDir(), "source")
	copySource(t, source)
	dist := makeDist(t, source, "packages", "xz -0 -T1", "VERSION=v1.2.3")
	deb := filepath.Join(dist, "ompd-inspect_1.2.3-1_amd64.deb")
	rpm := filepath.Join(dist, "ompd-inspect-1.2.3-1.x86_64.rpm")
	command(t, dist, "sha256sum", "--check", "--strict", "SHA256SUMS")
	tree := onlyFile(t, filepath.Join(dist, "tree/*"))
	libraries, err := filepath.Glob(filepath.Join(tree, "lib/ompd-inspect/*.so"))
	if err != nil || len(libraries) != 2 {
		t.Fatalf("libraries %q, %v", libraries, err)
	}
	omptest.Equal(t, "the lowest C library", command(t, ".", "./glibc", libraries...), lowestGlibc+"\n")
	t.Run("lintian", func(t *testing.T) {
		lintian := omptest.Program(t, "lintian")
		out := command(t, ".", lintian, "--allow-root", "--pedantic", "--fail-on", "pedantic", deb)
		omptest.Equal(t, "complaints", out, "")
	})
	t.Run("rpm", func(t *testing.T) { checkRPM(t, rpm) })
	for i, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			s := systems[i]
			copyFiles(t, s, deb, onlyFile(t, filepath.Join(dist, "*.tar.xz")), filepath.Join(dist, "SHA256SUMS"))
			before := listFiles(t, s)
			s.Run(t, "dpkg --install /golden/*.deb")
			checkContents(t, tree, strings.Fields(s.Run(t, "dpkg --listfiles ompd-inspect")))
			checkUse(t, s, "/usr")
			s.Run(t, "dpkg --purge ompd-inspect")
			omptest.Equal(t, "files that are left", listFiles(t, s), before)

			// the file contains the checksums of the packages, too
			s.Run(t, "cd /golden; sha256sum --check --strict --ignore-missing SHA256SUMS; tar -C /opt -xf *.tar.xz")
			checkUse(t, s, "/opt/"+filepath.Base(tree))
		})
	}
}

// copyFiles copies a golden core with its files, a program to record and other files into /golden of a system.
func copyFiles(t *testing.T, s omptest.Chroot, files ...string) {
	t.Helper()
	dir := filepath.Join(s.Dir, "golden")
	g, err := omptest.UnpackGolden(filepath.Join(root, "testdata/golden"), golden, dir)
	if err != nil {
		t.Fatal(err)
	}
	exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: omptest.GCC})
	command(t, ".", "cp", append([]string{g.Core, "-t", dir}, files...)...)
	command(t, ".", "cp", exe, filepath.Join(dir, "history"))
}

// listFiles lists the files and directories of a system, without those of this test and of Debian's tools.
func listFiles(t *testing.T, s omptest.Chroot) []string {
	t.Helper()
	return strings.Fields(s.Run(t, `find / -xdev \( -path /proc -o -path /golden -o -path /var/lib/dpkg -o `+
		`-path /var/cache -o -path /var/log \) -prune -o -print | sort`))
}

// checkContents checks that a list of installed files contains each file of a tree, except for those of other
// distributions. Debian has another directory for zsh, and compresses manual pages and changelogs.
func checkContents(t *testing.T, tree string, installed []string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(command(t, tree, "find", ".", "!", "-type", "d")) {
		path := "/usr" + strings.TrimPrefix(strings.TrimSpace(line), ".")
		switch {
		case strings.Contains(path, "/man1/"):
			path += ".gz"
		case strings.Contains(path, "/zsh/site-functions/"):
			path = strings.Replace(path, "site-functions", "vendor-completions", 1)
		case strings.Contains(path, "/auto-load/usr/lib64/"), strings.HasSuffix(path, "/LICENSE"):
			continue // of other distributions; the copyright file names the licence
		case strings.HasSuffix(path, "/CHANGELOG.md"):
			path = strings.Replace(path, "CHANGELOG.md", "changelog.gz", 1)
		}
		if n++; !slices.Contains(installed, path) {
			t.Errorf("the package has no %s", path)
		}
	}
	for _, path := range []string{"copyright", "changelog.Debian.gz"} {
		if !slices.Contains(installed, "/usr/share/doc/ompd-inspect/"+path) {
			t.Errorf("the package has no %s", path)
		}
	}
	if n < 40 {
		t.Errorf("%d files in the tree", n)
	}
}

// checkUse uses an installation below a directory of a system.
func checkUse(t *testing.T, s omptest.Chroot, prefix string) {
	t.Helper()
	tool := prefix + "/bin/ompd-inspect"
	cmd := exec.Command(filepath.Join(s.Dir, tool), goldenReport...)
	cmd.Dir = filepath.Join(s.Dir, "golden")
	here, err := cmd.Output()
	if err != nil || !strings.Contains(string(here), goldenVerdict) {
		t.Fatalf("the report here: %v\n%s", err, here)
	}
	there := s.Run(t, "cd /golden; "+tool+" "+strings.Join(goldenReport, " "))
	omptest.Equal(t, "the report", e2e.WithoutMade(there), e2e.WithoutMade(string(here)))

	shown := s.Run(t, "cd /golden; "+tool+" record --save recording -- ./history 0 >/dev/null; "+
		tool+" trace --events 0 recording; rm recording; ls -A /root/.cache || true")
	if !strings.Contains(shown, "acquires lock debit ") || strings.Contains(shown, "ompd-inspect") {
		t.Errorf("the recorder that is installed: %.2000s", shown)
	}
	for page, part := range map[string]string{"ompd-inspect": "EXIT STATUS", "ompd-inspect-diagnose": "EXAMPLE"} {
		text := s.Run(t, "MANPAGER=cat MANPATH="+prefix+"/share/man man "+page+" | col -b")
		if !strings.Contains(text, part) {
			t.Errorf("man %s has no %s:\n%.500s", page, part, text)
		}
	}
	// bash loads completions when they are needed.
	load := "_completion_loader ompd-inspect || true"
	if prefix != "/usr" {
		load = ". " + prefix + "/share/bash-completion/completions/ompd-inspect"
	}
	reply := s.Run(t, "PATH=$PATH:"+prefix+`/bin; . /usr/share/bash-completion/bash_completion; `+load+`
complete -p ompd-inspect | grep -q __start_ompd-inspect
COMP_WORDS=(ompd-inspect diag) COMP_CWORD=1 COMP_LINE="ompd-inspect diag" COMP_POINT=17 COMP_TYPE=9 COMP_KEY=9
compopt() { :; }; __start_ompd-inspect; echo "${COMPREPLY[@]}"`)
	if !strings.HasPrefix(strings.TrimSpace(reply), "diagnose") {
		t.Errorf("bash completes diag as %q", reply)
	}
}

// checkRPM installs the .rpm into an empty directory, and removes it.
func checkRPM(t *testing.T, path string) {
	t.Helper()
	rpm := omptest.Program(t, "rpm")
	listed := strings.Fields(command(t, ".", rpm, "-qpl", path))
	for _, file := range []string{
		"/usr/bin/ompd-inspect", "/usr/lib/ompd-inspect/libompd-recorder.so", "/usr/share/man/man1/ompd-inspect.1.gz",
		"/usr/share/zsh/site-functions/_ompd-inspect", "/usr/share/licenses/ompd-inspect/LICENSE",
		"/usr/share/gdb/auto-load/usr/lib64/libgomp.so.1.0.0-gdb.py",
	} {
		if !slices.Contains(listed, file) {
			t.Errorf("the .rpm has no %s", file)
		}
	}
	omptest.Equal(t, "what the .rpm needs", command(t, ".", rpm, "-qp", "--requires", path),
		"libc.so.6(GLIBC_"+lowestGlibc+")(64bit)\n")
	dir := t.TempDir()
	with := []string{"--root", dir, "--dbpath", "/var/lib/rpm", "--nodeps", "--force-debian"}
	command(t, ".", rpm, append(with, "--install", path)...)
	out := command(t, ".", filepath.Join(dir, "usr/bin/ompd-inspect"), "version")
	if !strings.Contains(out, "reads LLVM libomp") {
		t.Errorf("version: %s", out)
	}
	for _, file := range listed {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	command(t, ".", rpm, append(with, "--erase", "ompd-inspect")...)
	left := command(t, dir, "find", ".", "-path", "./var", "-prune", "-o", "(", "!", "-type", "d", "-o", "-name",
		"*ompd*", ")", "-print")
	omptest.Equal(t, "files that are left", left, "")
}

// TestGoInstallBare installs the tool by `go install` in a system with Go and a C compiler, but without git.
// Modules come from the cache of this machine.
func TestGoInstallBare(t *testing.T) {
	s := omptest.NewChroot(t, "trixie", "gcc", "libc6-dev", "libgomp1")
	s.Mounts = strings.Fields(command(t, root, "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE"))
	copyFiles(t, s)
	copySource(t, filepath.Join(s.Dir, "src"))
	shown := s.Run(t, `cd /src
export GOPROXY=off GOTOOLCHAIN=local GOROOT=`+s.Mounts[0]+` GOMODCACHE=`+s.Mounts[1]+` GOCACHE=`+s.Mounts[2]+`
$GOROOT/bin/go install ./cmd/ompd-inspect
cd /golden; tool=/root/go/bin/ompd-inspect
$tool `+strings.Join(goldenReport, " ")+`
$tool record --save recording -- ./history 0; $tool trace --events 0 recording
ls /root/.cache/ompd-inspect/recorder/*/`)
	for _, part := range []string{goldenVerdict, "acquires lock debit ", "libompd-recorder.so"} {
		if !strings.Contains(shown, part) {
			t.Errorf("no %q:\n%.4000s", part, shown)
		}
	}
}
