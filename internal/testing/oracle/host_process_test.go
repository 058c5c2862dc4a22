package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// someProgram starts a program of four threads and returns the facts about it.
func someProgram(t testing.TB) string {
	t.Helper()
	env := []string{"OMP_MAX_TASK_PRIORITY=3", debugOn}
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live, Env: env})
	return facts(t, p, env)
}

// mustHold runs ompd-conform on our library, which must meet all assertions.
func mustHold(t *testing.T, dir string, args ...string) {
	t.Helper()
	total := map[string]tally{}
	failures := conform(t, dir, filepath.Join(dir, "libompd.so"), "", total, args...)
	held := 0
	for _, r := range total {
		held += r.held
	}
	if strings.Contains(failures, "FAIL") || held == 0 {
		t.Errorf("%d assertions held, and:\n%s", held, failures)
	}
}

// TestLibraryInAProcess requires that our library does not change a debugger's signals, threads, children and
// files, survives the end of its helper, and can be unloaded.
func TestLibraryInAProcess(t *testing.T) {
	dir := makeLibraries(t, "")
	pid, wrapper := filepath.Join(dir, "pid"), filepath.Join(dir, "wrapper")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s\nexec %s \"$@\"\n", pid, filepath.Join(dir, "ompd-inspect"))
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OMPD_INSPECT", wrapper)
	mustHold(t, dir, someProgram(t), "host", pid)
}

// TestLibraryIsClean runs all assertions under the address sanitizer, which fails the run at a fault or a leak.
func TestLibraryIsClean(t *testing.T) {
	t.Setenv("ASAN_OPTIONS", "detect_leaks=1:handle_segv=0:handle_sigbus=0:handle_abort=0")
	mustHold(t, makeLibraries(t, "-fsanitize=address,undefined -fno-sanitize-recover=undefined "+
		"-fno-omit-frame-pointer"), someProgram(t), "201811")
}
