package report

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestMergedCalls looks at two threads in a call that a compiler merged from two, in two branches: the code has
// no line, and the report gives the line before it as such. Without optimization, each has the line of its own
// call.
func TestMergedCalls(t *testing.T) {
	for flags, near := range map[string]bool{"-O0": false, "-O2": true} {
		t.Run(flags, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "merged")
			source := filepath.Join("testdata", "merged.c")
			e2e.RunCompiler(t, exec.Command("clang-16", "-fopenmp", "-g", flags, "-o", exe, source))
			cmd := exec.Command(exe)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			status, pic, text := untilDeadlock(t, cmd.Process.Pid)
			if status != cli.ExitFound {
				t.Fatalf("exit status %d, no deadlock:\n%s", status, text)
			}
			var lines []int
			for _, th := range pic.Threads {
				i := picture.InnermostUser(th.UserStack)
				if i < 0 || th.UserStack[i].Near != near {
					t.Fatalf("LWP %d is at %+v, near a line: want %v", th.LWP, th.UserStack, near)
				}
				lines = append(lines, th.UserStack[i].Line)
			}
			slices.Sort(lines)
			if want := []int{21, 30}; !near && !slices.Equal(lines, want) {
				t.Errorf("they wait at lines %v, want %v", lines, want)
			}
			if strings.Contains(text, "near merged.c:") != near {
				t.Errorf("near a line: want %v:\n%s", near, text)
			}
		})
	}
}

// untilDeadlock looks at a process until it has a deadlock, and returns the exit status, the picture, and the
// report.
func untilDeadlock(t *testing.T, pid int) (status int, pic *picture.Picture, text string) {
	t.Helper()
	const looks = 1000
	for range looks {
		status, text, _ = e2e.Output(t, "diagnose", strconv.Itoa(pid))
		if status == cli.ExitFound {
			break
		}
	}
	_, out, _ := e2e.Output(t, "--json", strconv.Itoa(pid))
	return status, e2e.Decode(t, out), text
}
