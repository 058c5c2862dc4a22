package gdb_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestChildEnds kills gdb, between reports and during them, and quits it: the ompd-inspect that it had started
// ends.
func TestChildEnds(t *testing.T) {
	c := omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Kernel,
	})
	for name, last := range map[string]string{
		"idle":   "import signal; tell(); signal.pause()",
		"asking": "tell()\nwhile True: session.changed(); gdb.execute('omp report', to_string=True)",
		"quit":   "tell(); sys.stdin.readline(); gdb.execute('quit')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, child, input := gdbWithChild(t, c, last)
			if name == "quit" {
				input.Close()
			} else if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			n, err := 0, error(unix.EINTR)
			for errors.Is(err, unix.EINTR) { // the kernel restarts other system calls
				n, err = unix.Poll([]unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}},
					int(gdbTime/time.Millisecond))
			}
			if n != 1 {
				t.Errorf("ompd-inspect goes on without gdb: %v", err)
			}
			_ = cmd.Wait() // it was killed
		})
	}
}

// gdbWithChild starts gdb on a core, makes it start ompd-inspect and run the command last, and returns a handle
// of the child.
func gdbWithChild(t *testing.T, c *omptest.Result, last string) (cmd *exec.Cmd, child int, input *os.File) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.py")
	text := strings.Join([]string{
		"import gdb, sys", "gdb.execute('omp threads', to_string=True)", "from ompd_gdb import session",
		"def tell(): print('\\nCHILD %d' % session._child.process.pid); sys.stdout.flush()", last,
	}, "\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), "gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", c.Exe,
		c.Core, "-x", "ompd_inspect.py", "-x", file)
	cmd.Env = append(os.Environ(), "OMPD_INSPECT="+tool)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close() })
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for s := bufio.NewScanner(out); s.Scan(); {
		if pid, ok := strings.CutPrefix(s.Text(), "CHILD "); ok {
			n, _ := strconv.Atoi(pid)
			if child, err = unix.PidfdOpen(n, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(child) })
			return cmd, child, input
		}
	}
	t.Fatal("gdb ended early")
	return nil, 0, nil
}
