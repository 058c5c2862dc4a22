package report

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestAarch64Refused looks at cores of programs for aarch64, written by an emulator: without thread pointers. The
// report shows no states of OpenMP, calls no thread foreign to OpenMP, and explains why. The locks of a static program
// are those that its code acquires.
func TestAarch64Refused(t *testing.T) {
	omptest.NeedsCross(t)
	for name, c := range map[string]struct {
		major  int
		flags  []string
		reason string
	}{
		"libomp": {16, nil, "its pthread_t, by which the runtime knows its threads, is unknown"},
		"static": {0, []string{"-static"}, "the target does not provide thread pointers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exe, env := omptest.CompileCross(t, filepath.Join("testdata", "crossed_locks.c"), c.major, c.flags...)
			dir := t.TempDir()
			// The emulator writes a core of the program into the working directory.
			cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$@"`, "sh"},
				omptest.Emulated(exe, env)...)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("the program did not abort: %s", out)
			}
			cores, err := filepath.Glob(filepath.Join(dir, "qemu_*.core"))
			if err != nil || len(cores) != 1 {
				t.Fatalf("cores %q, %v", cores, err)
			}
			status, out, errs := e2e.Output(t, "report", "--no-debuginfod", "--exe", exe,
				"--sysroot", "/usr/aarch64-linux-gnu", cores[0])
			if status != cli.ExitOK || !strings.Contains(out, c.reason) {
				t.Errorf("exit status %d, no %q:\n%s%s", status, c.reason, out, errs)
			}
			if !strings.Contains(out, "SIGABRT in LWP ") || strings.Contains(out, "does not grow") ||
				c.major > 0 && strings.Contains(out, "DEADLOCK") || strings.Contains(out, "not OpenMP") ||
				strings.Contains(out, "not an OpenMP thread") ||
				c.major > 0 && strings.Contains(out, "waits for lock") {
				t.Errorf("the crash or a stack is missing, or there is a verdict on locks:\n%s", out)
			}
		})
	}
}
