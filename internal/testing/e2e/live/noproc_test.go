package live

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

// hidingProc starts a command without /proc.
var hidingProc = []string{
	"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs none /proc && exec "$0" "$@"`,
}

// withoutProc returns a command that runs the tool bin without /proc.
func withoutProc(bin string, args ...string) *exec.Cmd {
	line := append(append(hidingProc[1:len(hidingProc):len(hidingProc)], bin), args...)
	return exec.Command(hidingProc[0], line...)
}

// TestMissingProcFilesystem runs the tool and the server without /proc: cores are read, and a request for a
// process gets the reason for the failure.
func TestMissingProcFilesystem(t *testing.T) {
	if out, err := withoutProc("true").CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody hide /proc: %v: %s", err, out)
	}
	bin, core := e2e.BuildTool(t), e2e.DumpProgram(t, "lock_cycle").Core
	if out, err := withoutProc(bin, core).CombinedOutput(); err != nil || !strings.Contains(string(out), "DEADLOCK") {
		t.Errorf("a core: %v\n%s", err, out)
	}
	const want = "/proc is not mounted"
	for _, args := range [][]string{{"1"}, {"ps"}, {"watch", "1"}} {
		var exit *exec.ExitError
		out, err := withoutProc(bin, args...).CombinedOutput()
		if !errors.As(err, &exit) || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v: %s, want %q", args, err, out, want)
		}
	}
	serve := withoutProc(bin, "serve", "--listen", "unix://"+filepath.Join(t.TempDir(), "s"))
	said, err := serve.StdoutPipe()
	if err := errors.Join(err, serve.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(serve.Process.Signal(syscall.SIGTERM), serve.Wait()); err != nil {
			t.Errorf("the server: %v", err)
		}
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("the server says %q, %v", line, err)
	}
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	target, err := c.OpenCore(t.Context(), core)
	if err != nil {
		t.Fatalf("a core at the server: %v", err)
	}
	if pic, err := target.Picture(t.Context()); err != nil || len(pic.Threads) < 2 {
		t.Errorf("its picture: %v", err)
	}
	if _, err := c.OpenProcess(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a process at the server: %v, want %q", err, want)
	}
}
