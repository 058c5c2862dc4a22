package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// recording returns the command line of record without an output file.
func recording(t *testing.T, more ...string) *exec.Cmd {
	t.Helper()
	return e2e.Process(append([]string{"record", "--library", omptest.Recorder(t), "--"}, more...)...)
}

// TestRecordUntraced attaches debuggers to a recorded program without an output file: the program has the
// command's PID, no process traces it, and its memory contains the record.
func TestRecordUntraced(t *testing.T) {
	for _, b := range []struct {
		build   omptest.Build
		runtime omptest.Runtime
	}{
		{omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC}, omptest.Libgomp(t)},
		{omptest.Build{Program: "lock_cycle"}, omptest.RuntimeOf(t, 19)},
	} {
		t.Run(b.runtime.Name, func(t *testing.T) {
			tool := recording(t)
			pid := e2e.StartHeld(t, tool, omptest.Run{Exe: omptest.Compile(t, b.build), Runtime: b.runtime})
			omptest.Equal(t, "the process of the program", pid, tool.Process.Pid)
			omptest.Equal(t, "its tracer", e2e.TracerOf(t, pid), 0)
			d := e2e.HoldByGDB(t, pid)
			fmt.Fprintln(d.Input, "thread apply all backtrace\necho ALL\\n")
			if text := d.Await(t, "ALL\n"); !strings.Contains(text, "deposit") {
				t.Errorf("gdb shows\n%s", text)
			}
			omptest.Equal(t, "gdb holds it", e2e.TracerOf(t, pid), d.Process.Pid)
			fmt.Fprintln(d.Input, "detach\nquit")
			_ = d.Wait()
			core := filepath.Join(t.TempDir(), "core")
			if status, text := e2e.RunCommand(t, exec.Command("gcore", "-o", core, strconv.Itoa(pid))); status != 0 {
				t.Errorf("gcore: exit status %d\n%s", status, text)
			}
			status, text := e2e.RunCommand(t, e2e.Process("trace", fmt.Sprintf("%s.%d", core, pid)))
			if status != cli.ExitOK || !strings.Contains(text, "asks for lock") {
				t.Errorf("trace of gcore's core: exit status %d\n%s", status, text)
			}
			if status, text := e2e.RunCommand(t, exec.Command("timeout", "--signal=INT", "1", "strace", "-f", "-p",
				strconv.Itoa(pid))); status != 124 || !strings.Contains(text, "attached") {
				t.Errorf("strace: exit status %d\n%s", status, text)
			}
			status, text = e2e.RunCommand(t, e2e.Process("diagnose", strconv.Itoa(pid)))
			if status != cli.ExitFound || !strings.Contains(text, "recorded: it acquired lock") ||
				strings.Contains(text, "no thread was stopped") {
				t.Errorf("diagnose: exit status %d\n%s", status, text)
			}
		})
	}
}

// TestRecordStatusOfEnd compares the ends of programs with and without record: a normal end, a signal of their
// own, a signal to the command, and a missing program.
func TestRecordStatusOfEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, script string
		status       int            // argument of exit
		signal       syscall.Signal // signal that ends it
	}{
		{"exit", "exit 7", 7, 0},
		{"segv", "kill -SEGV $$", 0, unix.SIGSEGV},
		{"abort", "kill -ABRT $$", 0, unix.SIGABRT},
		{"kill", "kill -KILL $$", 0, unix.SIGKILL},
		{"term", "kill -TERM $$; exit 3", 0, unix.SIGTERM},
		{"trap", "trap 'exit 9' INT; kill -INT $$; exit 3", 9, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := recording(t, "sh", "-c", c.script)
			out, _ := cmd.CombinedOutput()
			s := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if len(out) != 0 || s.Signaled() != (c.signal != 0) || s.Signaled() && s.Signal() != c.signal ||
				s.Exited() && s.ExitStatus() != c.status {
				t.Errorf("%v, printed %q", cmd.ProcessState, out)
			}
		})
	}
	for program, want := range map[string]int{
		filepath.Join(t.TempDir(), "none"): cli.ExitNotFound, "no-such-program": cli.ExitNotFound, file: cli.ExitNoExec,
	} {
		status, text := e2e.RunCommand(t, recording(t, program))
		if status != want || !strings.HasPrefix(text, "ompd-inspect: ") || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit status %d, want %d: %q", program, status, want, text)
		}
	}
}

// TestRecordForwardsSignals sends signals to the command: the program handles one, stops, continues, and ends by
// them.
func TestRecordForwardsSignals(t *testing.T) {
	// A read that the signal interrupts fails. So does one at the end of the input, and then the next one too.
	const script = `trap 'echo GOT; got=1' USR1; echo READY; while :; do read x || [ "$got" ] || exit 5; got=; done`
	tool := recording(t, "sh", "-c", script)
	in, err1 := tool.StdinPipe()
	out, err2 := tool.StdoutPipe()
	if err := errors.Join(err1, err2, tool.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tool.Process.Kill() }()
	said := make([]byte, len("READY\n"))
	read := func(want string) {
		t.Helper()
		n, err := out.Read(said)
		if string(said[:n]) != want+"\n" {
			t.Errorf("the program said %q, %v, want %q", said[:n], err, want)
		}
	}
	read("READY")
	_ = tool.Process.Signal(unix.SIGUSR1)
	_, _ = in.Write([]byte("\n")) // sh handles the signal when read returns
	read("GOT")
	_ = tool.Process.Signal(unix.SIGSTOP) // SIGTSTP stops no process of an orphaned group
	e2e.AwaitStopped(t, tool.Process.Pid, 0)
	_ = tool.Process.Signal(unix.SIGCONT)
	in.Close()
	_ = tool.Wait()
	omptest.Equal(t, "exit status", tool.ProcessState.ExitCode(), 5)
}

// TestRecordTracesForFiles requires that record traces a program if a file needs facts that only a tracer sees.
func TestRecordTracesForFiles(t *testing.T) {
	dir := t.TempDir()
	for _, flag := range []string{"--save=" + filepath.Join(dir, "saved"), "--core=" + filepath.Join(dir, "core"),
		"--report=" + filepath.Join(dir, "report"), "--hang-after=1h"} {
		tool := recording(t)
		tool.Args = slices.Insert(tool.Args, 2, flag)
		pid := e2e.StartHeld(t, tool, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
			Runtime: omptest.RuntimeOf(t, 19)})
		omptest.Equal(t, flag+": the process of the program", pid != tool.Process.Pid, true)
		omptest.Equal(t, flag+": it is held", e2e.TracerOf(t, pid) != 0, true)
	}
}
