package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestGoInstall installs only the tool, by go install: record builds the recorder once, in the user's cache,
// and reports a missing compiler.
func TestGoInstall(t *testing.T) {
	omptest.Needs(t, "gcc")
	exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: omptest.GCC})
	goCache := strings.TrimSpace(command(t, ".", "go", "env", "GOCACHE"))
	bin, cache := t.TempDir(), t.TempDir()
	t.Setenv("GOBIN", bin)
	t.Setenv("GOCACHE", goCache)
	command(t, root, "go", "install", "./cmd/ompd-inspect")
	tool := filepath.Join(bin, "ompd-inspect")
	t.Setenv("XDG_CACHE_HOME", cache)
	pattern := filepath.Join(cache, "ompd-inspect/recorder/*/*")

	record := exec.Command(tool, "record", "--", exe, "0")
	record.Env = append(os.Environ(), "PATH=/nowhere")
	out, err := record.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no C compiler is there to build it (cc, gcc, clang)") {
		t.Errorf("without a compiler: %v, %s", err, out)
	}
	var before os.FileInfo
	for range 2 {
		file := filepath.Join(t.TempDir(), "recording")
		command(t, ".", tool, "record", "--save", file, "--", exe, "0")
		shown := command(t, ".", tool, "trace", "--events", "0", file)
		if !strings.Contains(shown, "acquires lock debit ") {
			t.Errorf("trace shows no lock: %.2000s", shown)
		}
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) != 1 {
			t.Fatalf("the cache has %v: %v", files, err)
		}
		st, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !os.SameFile(before, st) {
			t.Error("the recorder was built again")
		}
		before = st
	}
	// A library that others can write to is not loaded.
	if err := os.Chmod(filepath.Join(cache, "ompd-inspect/recorder"), 0o777); err != nil {
		t.Fatal(err)
	}
	out, err = exec.Command(tool, "record", "--", exe, "0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "others can write to it") {
		t.Errorf("with a cache that others can write to: %v, %s", err, out)
	}
}

// TestRecorderFlags compares the flags of the embedded recorder with those of the Makefile.
func TestRecorderFlags(t *testing.T) {
	omptest.Needs(t, "make")
	made := command(t, root, "make", "-n", "libompd-recorder.so", "RECORDER=/nowhere/recorder.so")
	source, err := os.ReadFile(filepath.Join(root, "internal/cli/record_build.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range strings.Fields(made[strings.Index(made, " -std="):]) {
		usual := strings.HasPrefix(flag, "-W") && !strings.HasPrefix(flag, "-Wl,") || flag == "-g" ||
			strings.HasPrefix(flag, "-ffile-prefix-map=") || strings.HasPrefix(flag, "-DVERSION=") ||
			strings.HasPrefix(flag, "-Wl,-soname") || flag == "-o"
		if strings.HasPrefix(flag, "-") && !usual && !strings.Contains(string(source), flag) {
			t.Errorf("the Makefile builds the recorder with %s, record_build.go does not", flag)
		}
	}
}
