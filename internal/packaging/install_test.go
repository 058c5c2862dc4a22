// Package packaging tests that the files of `make install` work in their installed places.
package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// root is the directory of the module.
const root = "../.."

// command runs a program in a directory, and returns its output.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// install installs all files below usr of a new directory, and returns the path of usr.
func install(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	built := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(built, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, root, "make", "-s", "install", "DESTDIR="+dir, "PREFIX=/usr",
		"BIN="+filepath.Join(built, "ompd-inspect"),
		"LIBOMPD="+filepath.Join(built, "libompd.so"), "RECORDER="+filepath.Join(built, "libompd-recorder.so"),
		"COMPARE="+filepath.Join(built, "ompd-compare"))
	return filepath.Join(dir, "usr")
}

// TestInstall installs all files into a directory and uses them there.
func TestInstall(t *testing.T) {
	omptest.Needs(t, "make and gcc")
	usr := install(t)
	tool := filepath.Join(usr, "bin", "ompd-inspect")
	t.Run("files", func(t *testing.T) { checkFiles(t, usr) })
	t.Run("record", func(t *testing.T) {
		exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: omptest.GCC})
		file := filepath.Join(t.TempDir(), "recording")
		command(t, ".", tool, "record", "--save", file, "--", exe, "0")
		out := command(t, ".", tool, "trace", "--events", "0", file)
		if !strings.Contains(out, "acquires lock debit ") {
			t.Errorf("trace shows no lock: %.2000s", out)
		}
	})
	t.Run("bill", func(t *testing.T) {
		t.Setenv("SOURCE_DATE_EPOCH", epoch)
		bill := filepath.Join(t.TempDir(), "bill.json")
		command(t, filepath.Join(root, "tools"), "go", "run", "./thirdparty", "-sbom", bill, "-version", "v1.2.3", tool)
		checkBill(t, bill, tool)
	})
	t.Run("gdb", func(t *testing.T) { checkGDB(t, usr) })
	t.Run("shells", func(t *testing.T) {
		for shell, file := range map[string]string{
			"bash": "bash-completion/completions/ompd-inspect", "zsh": "zsh/site-functions/_ompd-inspect",
			"fish": "fish/vendor_completions.d/ompd-inspect.fish",
		} {
			t.Run(shell, func(t *testing.T) {
				if shell != "bash" {
					omptest.NeedsMore(t, shell)
				}
				omptest.Program(t, shell)
				command(t, ".", shell, "-n", filepath.Join(usr, "share", file))
			})
		}
	})
}

// checkFiles checks that the installed files exist and contain the parts that they are for.
func checkFiles(t *testing.T, usr string) {
	t.Helper()
	for file, part := range map[string]string{
		"lib/ompd-inspect/libompd.so":               "ompd_initialize",
		"lib/ompd-inspect/libompd-recorder.so":      "ompt_start_tool",
		"lib/ompd-inspect/ompd-compare":             "ompd_get_icv_from_scope",
		"share/ompd-inspect/omp.star":               "def command_omp",
		"share/doc/ompd-inspect/LICENSE":            "Apache License",
		"share/doc/ompd-inspect/THIRD-PARTY":        "google.golang.org/grpc v",
		"share/man/man1/ompd-inspect.1":             ".SH EXIT STATUS",
		"share/man/man1/ompd-inspect-diagnose.1":    ".SH EXAMPLE",
		"share/man/man1/ompd-inspect-job-watch.1":   ".SH OPTIONS",
		"share/man/man1/ompd-inspect-trace-stats.1": ".SH SYNOPSIS",
	} {
		b, err := os.ReadFile(filepath.Join(usr, file))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(b), part) {
			t.Errorf("%s has no %q", file, part)
		}
	}
	links, err := filepath.Glob(filepath.Join(usr, "share/gdb/auto-load/usr/*/*/*.py"))
	if err != nil || len(links) == 0 {
		t.Fatalf("%d links of gdb: %v", len(links), err)
	}
	for _, link := range links {
		if _, err := os.Stat(link); err != nil {
			t.Error(err)
		}
	}
}

// checkGDB makes gdb load the commands with a runtime, as it does for a runtime of the system.
func checkGDB(t *testing.T, usr string) {
	t.Helper()
	gdb := omptest.Program(t, "gdb")
	exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: omptest.GCC})
	load := filepath.Join(usr, "share/gdb/auto-load")
	out := command(t, ".", gdb, "-nx", "-batch", "-iex", "set auto-load scripts-directory "+load,
		"-iex", "set auto-load safe-path "+load, "-iex", "set debuginfod enabled off",
		"-ex", "break transfer", "-ex", "run 0", "-ex", "omp threads", "-ex", "show omp", exe)
	for _, part := range []string{"THREADS ", "omp follow is off.", "omp thread-names is off."} {
		if !strings.Contains(out, part) {
			t.Errorf("gdb prints no %q:\n%s", part, out)
		}
	}
}
