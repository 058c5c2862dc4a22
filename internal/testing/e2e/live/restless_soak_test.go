package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// restlessRuns returns the ways to run a program that forks, executes itself, queues signals and starts storms of
// threads, on runtimes of both families.
func restlessRuns(t *testing.T) []omptest.Run {
	t.Helper()
	llvm := omptest.Compile(t, omptest.Build{Program: "restless"})
	gnu := omptest.Compile(t, omptest.Build{Program: "restless", Compiler: omptest.GCC, Flags: []string{"-O2", "-g"}})
	return []omptest.Run{
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16)},
		{Exe: gnu, Runtime: omptest.Libgomp(t)},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 19), Env: []string{"KMP_BLOCKTIME=0"}},
	}
}

// meanwhile are the acceptable reasons for a look at such a program to end without an answer: it had executed
// itself and not yet initialized its runtime.
var meanwhile = []string{
	"it became another program during the look", "ended during the look", "no such process", "has ended",
	"no OpenMP runtime", "not a process that uses OpenMP", "has not initialized", "has no OpenMP runtime",
	e2e.NoProcessor,
}

func isMeanwhile(errs string) bool {
	return slices.ContainsFunc(meanwhile, func(w string) bool { return strings.Contains(errs, w) })
}

// restlessLook looks once and reports whether there was an answer.
func restlessLook(t *testing.T, pid int, args ...string) bool {
	t.Helper()
	status, out, errs := e2e.Output(t, append([]string{"report", "--json"}, append(args, strconv.Itoa(pid))...)...)
	switch {
	case status == cli.ExitOK:
		e2e.Decode(t, out)
		return true
	case !isMeanwhile(errs):
		t.Fatalf("exit status %d: %s\n%.2000s", status, errs, out)
	}
	return false
}

// TestRestlessProgramsUnderLooks looks at programs that are hard to hold. Every signal must come once, every
// child end as it should, and every sum be right.
func TestRestlessProgramsUnderLooks(t *testing.T) {
	n := omptest.Number(t, "looks", 45)
	for i, run := range restlessRuns(t) {
		t.Run(run.Runtime.Name, func(t *testing.T) {
			l := e2e.StartLoop(t, run)
			pid := l.Process.Pid
			share, answered := (n+i)/3, 0
			for n := 0; n < share || answered == 0; n++ {
				if restlessLook(t, pid) {
					answered++
				}
			}
			checkRuns(t, pid)
			iterations := l.End(t)
			t.Logf("%d looks, %d answered, %d iterations", share, answered, iterations)
		})
	}
}

// TestRestlessProgramsUnderKilledLooks kills the tool at various moments while it looks at such a program.
func TestRestlessProgramsUnderKilledLooks(t *testing.T) {
	n := omptest.Number(t, "kills", 30)
	for i, run := range restlessRuns(t)[:2] {
		t.Run(run.Runtime.Name, func(t *testing.T) {
			l := e2e.StartLoop(t, run)
			pid := l.Process.Pid
			share := (n + i) / 2
			killed := killLooks(t, pid, share, func() { checkRuns(t, pid) })
			t.Logf("%d of %d killed, %d iterations", killed, share, l.End(t))
			if killed == 0 {
				t.Errorf("none of %d was killed before it was done", share)
			}
		})
	}
}

// killLooks looks n times, kills the tool at various moments, and calls check after each. It returns the number
// of looks that were killed before their end.
func killLooks(t *testing.T, pid, n int, check func(), args ...string) (killed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, uint64(pid)))
	whole := 500 * time.Millisecond
	for range n {
		cmd, start := e2e.Process(append(args, "--json", strconv.Itoa(pid))...), time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err == nil {
			whole = min(whole, time.Since(start))
		} else if cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			killed++
		}
		timer.Stop()
		check()
	}
	return killed
}

// startInside starts a restless program under another command, such as strace or unshare, and finds its process.
func startInside(t *testing.T, run omptest.Run, by ...string) (*e2e.Loop, int) {
	t.Helper()
	if len(by) > 0 {
		exe, err := exec.LookPath(by[0])
		if err != nil {
			t.Skipf("%s is not installed", by[0])
		}
		if out, err := exec.Command(exe, append(by[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("%q does not work on this machine: %v: %s", by, err, out)
		}
	}
	l := e2e.StartLoopBy(t, run, by...)
	for _, pid := range omptest.Descendants(l.Process.Pid) {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == run.Exe {
			return l, pid
		}
	}
	t.Fatalf("%q did not start %s", by, run.Exe)
	return nil, 0
}

// TestRestlessProgramsInContainers looks at such a program in containers and under another tracer, which the
// looks must not disturb: the flag --no-stop looks at it without a stop.
func TestRestlessProgramsInContainers(t *testing.T) {
	run := restlessRuns(t)[1]
	n := omptest.Number(t, "inside", 6)
	for name, by := range map[string][]string{
		"strace":         {"strace", "-f", "-o", "/dev/null"},
		"user namespace": {"unshare", "--user", "--map-root-user"},
		"container": {
			"unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",
			"--net", "--ipc", "--uts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, pid := startInside(t, run, by...)
			var args []string
			check := func() { checkRuns(t, pid) }
			if name == "strace" {
				e2e.CheckRefused(t, e2e.Process(strconv.Itoa(pid)), "another debugger holds it: strace", "--no-stop")
				args, check = append(args, "--no-stop"), func() {} // strace holds it at times
			}
			answered := 0
			for looks := 0; looks < n || answered == 0; looks++ {
				if restlessLook(t, pid, args...) {
					answered++
				}
			}
			killed := killLooks(t, pid, n, check, args...)
			t.Logf("%d looks, %d answered; %d of %d more killed; %d iterations", n, answered, killed, n, l.End(t))
		})
	}
	t.Run("another user", func(t *testing.T) { restlessOfAnother(t, run, n) })
}

// restlessOfAnother looks at such a program of another user, as root and as that user.
func restlessOfAnother(t *testing.T, run omptest.Run, n int) {
	t.Helper()
	cmd := asNobody(t, e2e.Process())
	mine := run
	mine.Exe = filepath.Join(cmd.Dir, "restless")
	b, err := os.ReadFile(run.Exe)
	if err := errors.Join(err, os.WriteFile(mine.Exe, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	l, pid := startInside(t, mine, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
	answered := 0
	for looks := 0; looks < n || answered == 0; looks++ {
		if restlessLook(t, pid) { // as root, which has permission
			answered++
		}
		look := &exec.Cmd{Path: cmd.Path, SysProcAttr: cmd.SysProcAttr, Dir: cmd.Dir}
		look.Args = append(slices.Clone(cmd.Args), "--json", strconv.Itoa(pid))
		if out, err := look.Output(); err == nil {
			e2e.Decode(t, string(out))
			answered++
		} else if exit := new(exec.ExitError); !errors.As(err, &exit) || !isMeanwhile(string(exit.Stderr)) {
			t.Fatalf("as the same user: %v: %s", err, out)
		}
	}
	t.Logf("%d looks, %d answered, %d iterations", 2*n, answered, l.End(t))
}
