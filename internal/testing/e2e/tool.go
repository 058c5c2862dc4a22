package e2e

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Root is the directory of the module, as a relative path from a package of tests.
const Root = "../../../.."

// GoldenDir has a directory for each golden core, and the libraries of all.
var GoldenDir = filepath.Join(Root, "testdata", "golden")

// Main runs the tests of a package. In a process that was started under the name of the tool, or of
// one of programs, it runs that instead.
func Main(m *testing.M, programs map[string]func()) {
	all := map[string]func(){"ompd-inspect": Tool}
	maps.Copy(all, programs)
	testscript.Main(m, all)
}

// Tool runs the tool as its main function does.
func Tool() {
	c := cli.Command{Version: "0.0.0-test", Commit: "unknown", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Now: func() time.Time { return time.Unix(1_795_000_000, 0) }} // scripts compare reports
	c.Alone = slices.Contains(os.Args, "record") // the program may replace it
	interrupts, ctx := cli.CatchInterrupts()
	c.Interrupts = interrupts
	os.Exit(c.Run(ctx, os.Args[1:]))
}

// RunTool runs the tool in this process and returns the exit status.
func RunTool(args []string, stdout, stderr *os.File) int {
	c := cli.Command{
		Version: "0.0.0-test", Commit: "unknown", Stdin: os.Stdin, Stdout: stdout, Stderr: stderr,
	}
	return c.Run(context.Background(), args)
}

// Output runs the tool in this process and returns what it printed. On an overloaded machine, threads may get no
// processor before a look's time to stop them is over: then it looks again, as the message advises.
func Output(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	for {
		status, stdout, stderr = outputOnce(t, args)
		if status != cli.ExitError || !strings.Contains(stderr, NoProcessor) {
			return status, stdout, stderr
		}
	}
}

// NoProcessor is a part of the message that threads did not stop in time because they did not run.
const NoProcessor = "did not get a processor"

func outputOnce(t testing.TB, args []string) (status int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	var files []*os.File
	for _, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	status = RunTool(args, files[0], files[1])
	var text [2]string
	for i, f := range files {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(b)
	}
	return status, WithoutMade(text[0]), text[1]
}

// WithoutMade removes the line on the time, the host and the version of the tool from a report.
func WithoutMade(report string) string { return made().ReplaceAllString(report, "") }

var made = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\x1b\[1m)?report(\x1b\[0m)? made \d{4}-.*\n`)
})

// CommandPackage is the package of the tool's main function.
const CommandPackage = "github.com/ompd-inspect/ompd-inspect/cmd/ompd-inspect"

// BuildTool builds the tool as a release does and returns its path.
func BuildTool(tb testing.TB) string {
	tb.Helper()
	omptest.Needs(tb, "a build of the tool")
	bin := filepath.Join(tb.TempDir(), "ompd-inspect")
	cmd := exec.Command("make", "-C", Root, "build", "BIN="+bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// Answer is the result of one run of the tool. Errs lacks the lines of progress, which appear only on a slow
// machine.
type Answer struct {
	Status       int
	Stdout, Errs string
	used         time.Duration // CPU time
}

// signOfLife matches a line of progress of a long step.
var signOfLife = regexp.MustCompile(`(?m)^ompd-inspect: .*: (\d+ \w+|\d+s( of .*)?)\n`)

// mostReportTime bounds the CPU time of a report of a damaged core. A report of an undamaged core takes less than
// 0.1 s.
const mostReportTime = 10 * time.Second

// reportDeadline is the time after which a report counts as one that never ends.
const reportDeadline = 20 * time.Minute

// OutputInTime runs the tool in this process. It fails the test if the tool does not end or uses more
// than mostReportTime.
func OutputInTime(tb testing.TB, args ...string) Answer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), reportDeadline)
	defer cancel()
	done := make(chan Answer, 1)
	go func() {
		var a Answer
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := threadTime()
		a.Status, a.Stdout, a.Errs = Output(tb, args...)
		a.used = threadTime() - before
		a.Errs = signOfLife.ReplaceAllString(a.Errs, "")
		done <- a
	}()
	select {
	case a := <-done:
		if a.used > mostReportTime {
			tb.Errorf("%v took %v of CPU time", args, a.used)
		}
		return a
	case <-ctx.Done():
		tb.Fatalf("%v did not end in %v", args, reportDeadline)
	}
	return Answer{}
}

// threadTime returns the CPU time that this thread has used.
func threadTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Process returns a command that runs the tool as a process of its own.
func Process(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	cmd := exec.Command(exe)
	cmd.Args, cmd.Err = append([]string{"ompd-inspect"}, args...), err
	return cmd
}

// RunCommand runs a command and returns its exit status and its output, standard error included.
func RunCommand(t *testing.T, cmd *exec.Cmd) (status int, text string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return 0, string(out)
}

// CheckRefused runs the tool on a target that cannot be read. It requires the exit status ExitError and
// a message of at most three lines that contains each of words.
func CheckRefused(t *testing.T, cmd *exec.Cmd, words ...string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitError {
		t.Errorf("%v: %v, want exit status %d\n%s", cmd.Args, err, cli.ExitError, out)
	}
	text := string(out)
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%v: no %q in\n%s", cmd.Args, w, text)
		}
	}
	if n := strings.Count(strings.TrimSpace(text), "\n"); n > 2 {
		t.Errorf("%v: %d lines\n%s", cmd.Args, n+1, text)
	}
}

// RunCompiler runs a compiler and fails the test if that fails.
func RunCompiler(t *testing.T, compile *exec.Cmd) {
	t.Helper()
	omptest.Needs(t, "a compiler")
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// CopyFile copies a file and makes the copy executable.
func CopyFile(tb testing.TB, from, to string) {
	tb.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o700)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
