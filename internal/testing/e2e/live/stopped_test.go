package live

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestStoppedProcess requires that the first line on a process that a signal has stopped reports that.
func TestStoppedProcess(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Live {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			target := l.Look(t, e2e.Program{Name: "barrier"})
			pid, err := strconv.Atoi(target)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			for state := ""; !strings.Contains(state, ") T "); {
				b, err := os.ReadFile("/proc/" + target + "/stat")
				if err != nil {
					t.Fatal(err)
				}
				state = string(b)
			}
			_, out, _ := e2e.Output(t, "diagnose", target)
			first, _, _ := strings.Cut(out, "\n")
			if !strings.HasSuffix(first, ": stopped by a signal") || !strings.Contains(out, "kill -CONT "+target) {
				t.Errorf("a stopped process is not reported as stopped:\n%s", out)
			}
			if strings.Contains(out, "at work") {
				t.Errorf("a stopped process is at work:\n%s", out)
			}
			status, out, _ := e2e.Output(t, "watch", target)
			first, _, _ = strings.Cut(out, "\n")
			if status != cli.ExitFound || !strings.HasSuffix(first, ": stopped by a signal") ||
				strings.Count(out, "no progress: the process is stopped by a signal") < 1 {
				t.Errorf("watch of a stopped process exits with %d:\n%s", status, out)
			}
		})
	}
}
