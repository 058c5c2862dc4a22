package verdicts

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// bugLines is the number of the report's first lines that must name the bug.
	bugLines = 12
	// bugTime is the limit for a program with a bug to hang or crash.
	bugTime = 3 * time.Minute
)

// TestInjectedBugs runs existing programs with a bug, which the campaign bugs has built, until they hang or crash.
// The verdict must be of the kind that the bug's patch names, and the first lines of the report must have a line that
// the patch marks (HERE).
func TestInjectedBugs(t *testing.T) {
	dir := omptest.Option("dir")
	if dir == "" {
		t.Skip("go run ./internal/testing/campaign bugs builds and tests the programs")
	}
	list, err := os.ReadFile(filepath.Join(dir, "bugs", "list"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		b := injectedBug{name: f[0], build: f[1], source: f[2], command: f[3:]}
		t.Run(b.name+"/"+b.build, b.test)
	}
}

// injectedBug is one build of a program with a bug.
type injectedBug struct {
	name, build, source string
	command             []string
}

func (b injectedBug) test(t *testing.T) {
	target := b.await(t, b.kinds(t))
	status, text, _ := e2e.Output(t, "report", target)
	head := strings.Split(text, "\n")
	head = head[:min(len(head), bugLines)]
	t.Logf("exit status %d\n%s", status, strings.Join(head, "\n"))
	marks := b.marks(t)
	named := slices.ContainsFunc(marks, func(mark string) bool {
		at := regexp.MustCompile(regexp.QuoteMeta(mark) + `\b`)
		return slices.ContainsFunc(head, at.MatchString)
	})
	if len(marks) > 0 && !named {
		t.Errorf("none of %q is in the first %d lines", marks, bugLines)
	}
}

// await runs the program until it has crashed, or until a verdict is of the given kinds, and returns its core or
// its number.
func (b injectedBug) await(t *testing.T, kinds []string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", append([]string{"-c", b.limits() + `exec "$@"`, "sh"}, b.command...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OMP_NUM_THREADS=4", "OMP_STACKSIZE="+b.stackSize())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // the signal
		}
	})
	pid := strconv.Itoa(cmd.Process.Pid)
	var found []string
	for deadline := time.Now().Add(bugTime); time.Now().Before(deadline); time.Sleep(time.Second) {
		if hasEnded(t, cmd.Process.Pid) {
			core := b.core(t, dir, cmd.Wait())
			if _, pic := e2e.Diagnose(t, core); !hasKind(pic, kinds) {
				t.Errorf("no verdict of kind %q on the core", kinds)
			}
			return core
		}
		status, out, _ := e2e.Output(t, "diagnose", "--json", pid)
		if status != cli.ExitOK && status != cli.ExitFound && status != cli.ExitCrash && out == "" {
			continue // it is ending
		}
		if pic := e2e.Decode(t, out); hasKind(pic, kinds) {
			return pid
		} else if len(pic.Verdicts) > 0 {
			found = append(found[:0], string(pic.Verdicts[0].Kind))
		}
	}
	t.Errorf("no verdict of kind %q in %v; at last %q", kinds, bugTime, found)
	return pid
}

// hasEnded reports whether a child has ended, and leaves it to be waited for. A look stops the child from this
// process, and an ordinary wait would also return for these stops.
func hasEnded(t *testing.T, pid int) bool {
	t.Helper()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return info.Signo != 0
}

// hasKind reports whether a program has a verdict of one of some kinds.
func hasKind(pic *picture.Picture, kinds []string) bool {
	return slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool {
		return slices.Contains(kinds, string(v.Kind))
	})
}

// core returns the core of a program that a signal has ended.
func (b injectedBug) core(t *testing.T, dir string, ended error) string {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(ended, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("it came to no harm: %v", ended)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("%d cores of it, want 1: /proc/sys/kernel/core_pattern must be core", len(cores))
	}
	return cores[0]
}

// limits returns the program's limits: small stacks overflow soon.
func (b injectedBug) limits() string {
	if strings.HasPrefix(b.name, "fib-") {
		return "ulimit -c unlimited; ulimit -s 1024; "
	}
	return "ulimit -c unlimited; "
}

func (b injectedBug) stackSize() string {
	if strings.HasSuffix(b.name, "-stack") {
		return "64k"
	}
	return "1024k"
}

// kinds returns the kinds of verdicts that the bug's patch names; one of them must be there.
func (b injectedBug) kinds(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(e2e.Root, "testdata", "applications", "bugs", b.name+".patch"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^Kind: ([\w ]+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the patch %s names no kind of verdict", b.name)
	}
	return strings.Fields(string(m[1]))
}

// marks returns the marked lines of the source, as FILE:LINE.
func (b injectedBug) marks(t *testing.T) []string {
	t.Helper()
	f, err := os.Open(b.source)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.Contains(lines.Text(), "HERE") {
			out = append(out, fmt.Sprintf("%s:%d", filepath.Base(b.source), n))
		}
	}
	return out
}
