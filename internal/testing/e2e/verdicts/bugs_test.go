package verdicts

import (
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

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// bugLines is the number of the report's first lines that must name the bug: those of a small terminal.
	bugLines = 24
	// bugTime guards against a bug that never shows.
	bugTime = time.Hour
	// bugRounds is the number of rounds of an application with a bug, or one that is looked at: no end in sight.
	bugRounds = "1000000000"
	// healthyLooks is the number of looks at an application without a bug.
	healthyLooks = 4
)

// applicationBuild is a way to build the applications.
type applicationBuild struct {
	by    omptest.Compiler
	level string
}

var applicationBuilds = []applicationBuild{
	{omptest.GCC, "-O0"}, {omptest.GCC, "-O2"}, {omptest.LLVM, "-O0"}, {omptest.LLVM, "-O2"},
}

func (b applicationBuild) String() string {
	if b.by == omptest.GCC {
		return "gcc" + b.level
	}
	return "clang" + b.level
}

// run returns a run of an application, which may have a bug.
func (b applicationBuild) run(t *testing.T, source string, bug int) omptest.Run {
	t.Helper()
	exe := omptest.CompileApplication(t, source, b.by, b.level, "-g", fmt.Sprintf("-DBUG=%d", bug))
	run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16)}
	if b.by == omptest.GCC {
		run.Runtime = omptest.Libgomp(t)
	}
	run.Env = []string{"OMP_NUM_THREADS=4", "OMP_STACKSIZE=1024k"}
	return run
}

// injectedBug is a mistake that an application can have.
type injectedBug struct {
	source string // in testdata/applications
	number int
	kinds  []string // of the verdict: one of these
	about  string
	marks  []string // the lines of the mistake, as FILE:LINE
}

// injectedBugs reads the list of mistakes at the start of an application's source, and the lines that it marks.
func injectedBugs(t *testing.T, source string) []injectedBug {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(e2e.Root, "testdata", "applications", source))
	if err != nil {
		t.Fatal(err)
	}
	var all []injectedBug
	for _, m := range regexp.MustCompile(`(?m)^\W+BUG (\d+) ([\w|]+): (.*)$`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		all = append(all, injectedBug{source: source, number: n, kinds: strings.Split(m[2], "|"), about: m[3]})
	}
	if len(all) == 0 {
		t.Fatalf("%s lists no mistakes", source)
	}
	here := regexp.MustCompile(`\bHERE((?: \d+)+)`)
	for i, line := range strings.Split(string(text), "\n") {
		m := here.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, number := range strings.Fields(m[1]) {
			for k := range all {
				if strconv.Itoa(all[k].number) == number {
					all[k].marks = append(all[k].marks, fmt.Sprintf("%s:%d", source, i+1))
				}
			}
		}
	}
	return all
}

// applicationSources are the applications of testdata/applications.
var applicationSources = []string{"graph.cc", "tasktree.cc", "stencil.f90"}

// TestInjectedBugs runs applications with one mistake until they hang or crash. The verdict must be of the kind that
// the source lists for it, and the first lines of the report must have a line that the source marks. The date selects
// the builds; the campaign bugs tests all.
func TestInjectedBugs(t *testing.T) {
	whole := omptest.Number(t, "builds", 0)
	for _, source := range applicationSources {
		for _, bug := range injectedBugs(t, source) {
			for i, build := range applicationBuilds {
				name := fmt.Sprintf("%s-%d", strings.TrimSuffix(source, filepath.Ext(source)), bug.number)
				if i >= whole && (whole > 0 || !omptest.Turn(len(applicationBuilds), name, build.String())) {
					continue
				}
				t.Run(name+"/"+build.String(), func(t *testing.T) { bug.test(t, build) })
			}
		}
	}
}

func (b injectedBug) test(t *testing.T, build applicationBuild) {
	if build.by == omptest.LLVM && slices.Contains(b.kinds, "doacross_stuck") {
		t.Skip("flang has no doacross loops")
	}
	target := b.await(t, build.run(t, b.source, b.number))
	status, text, _ := e2e.Output(t, "report", target)
	head := strings.Split(text, "\n")
	head = head[:min(len(head), bugLines)]
	t.Logf("%s: exit status %d\n%s", b.about, status, strings.Join(head, "\n"))
	named := slices.ContainsFunc(b.marks, func(mark string) bool {
		at := regexp.MustCompile(regexp.QuoteMeta(mark) + `\b`)
		return slices.ContainsFunc(head, at.MatchString)
	})
	if len(b.marks) > 0 && !named {
		t.Errorf("none of %q is in the first %d lines", b.marks, bugLines)
	}
}

// await runs the program until it has crashed, or until a verdict is of the bug's kinds, and returns its core or its
// number.
func (b injectedBug) await(t *testing.T, run omptest.Run) string {
	t.Helper()
	dir := t.TempDir()
	defer omptest.CoresInPlace(t)()
	cmd := run.Command(dir, bugRounds)
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
	for deadline := time.Now().Add(bugTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if hasEnded(t, cmd.Process.Pid) {
			core := b.core(t, dir, cmd.Wait())
			if _, pic := e2e.Diagnose(t, core); !hasKind(pic, b.kinds) {
				t.Errorf("no verdict of kind %q on the core", b.kinds)
			}
			return core
		}
		status, out, _ := e2e.Output(t, "diagnose", "--json", pid)
		if status != cli.ExitOK && status != cli.ExitFound && status != cli.ExitCrash && out == "" {
			continue // it is ending
		}
		if pic := e2e.Decode(t, out); hasKind(pic, b.kinds) {
			return pid
		} else if len(pic.Verdicts) > 0 {
			found = append(found[:0], string(pic.Verdicts[0].Kind))
		}
	}
	t.Errorf("no verdict of kind %q in %v; at last %q", b.kinds, bugTime, found)
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
		t.Fatalf("%d cores of it, want 1", len(cores))
	}
	return cores[0]
}

// TestApplicationsWithoutBugs runs the applications without a mistake: they compute the right result, and no look at
// them finds a hang.
func TestApplicationsWithoutBugs(t *testing.T) {
	for i, source := range applicationSources {
		for k, build := range applicationBuilds {
			if omptest.Number(t, "builds", 0) == 0 && !omptest.Full() &&
				(i+k+omptest.Day())%len(applicationBuilds) != 0 {
				continue
			}
			t.Run(source+"/"+build.String(), func(t *testing.T) {
				run := build.run(t, source, 0)
				if out, err := run.Command(t.TempDir(), "2").CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				cmd := run.Command(t.TempDir(), bugRounds)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait() // the signal
				}()
				for looks := 0; looks < healthyLooks && !hasEnded(t, cmd.Process.Pid); {
					_, out, _ := e2e.Output(t, "diagnose", "--json", strconv.Itoa(cmd.Process.Pid))
					if out == "" {
						continue // it is the shell before its exec
					}
					pic := e2e.Decode(t, out)
					for _, v := range pic.Verdicts {
						if diagnose.Hangs(v) || v.Severity == picture.SeverityCrash {
							t.Errorf("%s (%s): %s\n%s", v.Kind, v.Certainty, v.Summary, v.Explanation)
						}
					}
					if len(pic.Threads) > 1 {
						looks++
					}
				}
				if hasEnded(t, cmd.Process.Pid) {
					t.Error("it ended")
				}
			})
		}
	}
}
