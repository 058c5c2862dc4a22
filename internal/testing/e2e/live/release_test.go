package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRelease releases a program of run and of record: gdb can hold it then, looks stop it again, and run passes a
// signal on and ends with the program's status.
func TestRelease(t *testing.T) {
	omptest.Needs(t, "gdb")
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	saved := filepath.Join(t.TempDir(), "recording")
	for name, tool := range map[string]*exec.Cmd{
		"run":      e2e.Process("run", "--"),
		"hangs":    e2e.Process("run", "--hang-after", "1h", "--"),
		"recorded": e2e.Process("record", "--library", omptest.Recorder(t), "--save", saved, "--"),
	} {
		t.Run(name, func(t *testing.T) {
			var errs strings.Builder
			tool.Stderr = &errs
			pid := e2e.StartHeld(t, tool, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)})
			number := strconv.Itoa(pid)
			check := func(want string, args ...string) {
				t.Helper()
				if status, text := e2e.RunCommand(t, e2e.Process(args...)); status != cli.ExitOK ||
					!strings.Contains(text, want) {
					t.Errorf("%v: exit status %d, want %q in\n%s", args, status, want, text)
				}
			}
			check("`ompd-inspect release "+number+"` makes it detach", number)
			e2e.CheckRefused(t, e2e.Process("release", strconv.Itoa(tool.Process.Pid)),
				"it holds a program and is not held", "ompd-inspect release "+number)
			check(fmt.Sprintf("ompd-inspect %s, process %d, has detached from process %d\n", tool.Args[1],
				tool.Process.Pid, pid), "release", number)
			omptest.Equal(t, "tracer", e2e.TracerOf(t, pid), 0)
			gdb := e2e.HoldByGDB(t, pid)
			omptest.Equal(t, "tracer", e2e.TracerOf(t, pid), gdb.Process.Pid)
			e2e.CheckRefused(t, e2e.Process("release", number), "another debugger holds it: gdb, process",
				"detach gdb from it")
			fmt.Fprintln(gdb.Input, "detach\necho DETACHED\\n")
			gdb.Await(t, "DETACHED")
			check("no debugger holds process "+number, "release", number)
			status, text := e2e.RunCommand(t, e2e.Process("diagnose", number))
			if status != cli.ExitFound || !strings.Contains(text, "DEADLOCK") ||
				strings.Contains(text, "no thread was stopped") {
				t.Errorf("diagnose: exit status %d\n%s", status, text)
			}
			if err := tool.Process.Signal(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = tool.Wait()
			omptest.Equal(t, "exit status", tool.ProcessState.ExitCode(), cli.ExitSignal+int(unix.SIGTERM))
			if n := strings.Count(errs.String(), "released: a debugger can attach"); n != 1 ||
				strings.Contains(errs.String(), "no events are written") != (name == "recorded") ||
				strings.Contains(errs.String(), "was not written") {
				t.Errorf("%d notes in\n%s", n, errs.String())
			}
		})
	}
}

// TestReleasedHang releases a program before it hangs. strace holds it for a time, in which it is not judged. Then run
// reports the hang and ends the program.
func TestReleasedHang(t *testing.T) {
	strace := omptest.Program(t, "strace")
	r := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC}),
		Runtime: omptest.Libgomp(t)}
	tool := e2e.Process("run", "--hang-after", "400ms", "--", "sh", "-c", `echo $$; read x; exec env OMPD_READY_FD=1 `+
		`OMPD_TRUTH=/dev/null LD_LIBRARY_PATH=`+r.Runtime.Dir+" "+r.Exe+" wait")
	in, err1 := tool.StdinPipe()
	out, err2 := tool.StdoutPipe()
	says, err3 := tool.StderrPipe()
	if err := errors.Join(err1, err2, err3, tool.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tool.Process.Kill() })
	lines := bufio.NewReader(out)
	number, err := lines.ReadString('\n')
	number = strings.TrimSpace(number)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := e2e.RunCommand(t, e2e.Process("release", number)); status != cli.ExitOK {
		t.Fatalf("release: exit status %d: %s", status, text)
	}
	holder := exec.Command(strace, "-f", "-o", "/dev/null", "-e", "trace=none", "-p", number)
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	e2e.AwaitHeld(t, pid, holder)
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); line != "READY\n" {
		t.Fatalf("%q, %v", line, err)
	}
	errs := bufio.NewReader(says)
	held := fmt.Sprintf("strace, process %d, holds process %d: it is not judged", holder.Process.Pid, pid)
	for {
		line, err := errs.ReadString('\n')
		if err != nil || strings.Contains(line, "DEADLOCK") {
			t.Fatalf("no note that strace holds the program: %q, %v", line, err)
		}
		if strings.Contains(line, held) {
			break
		}
	}
	if err := holder.Process.Signal(unix.SIGINT); err != nil { // it detaches
		t.Fatal(err)
	}
	rest, err := io.ReadAll(errs)
	if err != nil || strings.Count(string(rest), "DEADLOCK  2 threads") != 1 || strings.Contains(string(rest), held) {
		t.Errorf("%v, the rest of the output:\n%s", err, rest)
	}
	_ = tool.Wait()
	omptest.Equal(t, "exit status", tool.ProcessState.ExitCode(), cli.ExitHang)
}

// TestReleasedAtTerminal releases a program at a terminal: Ctrl-Z stops it with run, fg continues both, and each
// Ctrl-C reaches it once. Its end by a signal is the exit status, without a report.
func TestReleasedAtTerminal(t *testing.T) {
	over := filepath.Join(t.TempDir(), "over")
	s := startShell(t, `set -m; "$@"; echo status $?; fg %1; echo ended=$?`, "ompd-inspect", "run", "--", "sh", "-c",
		`ulimit -c 0; n=0; trap 'echo again' CONT; trap 'n=$((n+1)); echo "count $n."' INT; echo "READY $$"; until [ -e "$0" ]; do :; done
kill -SEGV $$`, over)
	number := strings.TrimPrefix(s.expect("READY"), "READY ")
	if status, text := e2e.RunCommand(t, e2e.Process("release", number)); status != cli.ExitOK {
		t.Fatalf("release: exit status %d: %s", status, text)
	}
	s.expect("released")
	s.key("\x1a")
	s.expect("status 147")
	s.expect("again") // in the foreground
	for n := range 10 {
		s.key("\x03")
		s.expect(fmt.Sprintf("count %d.", n+1))
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	omptest.Equal(t, "end", s.expect("ended="), fmt.Sprint("ended=", cli.ExitSignal+int(unix.SIGSEGV)))
	if strings.Contains(s.seen.String(), "SIGSEGV in LWP") {
		t.Errorf("a report:\n%s", s.seen.String())
	}
}
