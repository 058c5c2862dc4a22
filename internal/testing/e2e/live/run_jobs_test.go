package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// shell is a shell script in a session of its own with a terminal.
type shell struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	out  *bufio.Reader
	seen bytes.Buffer
}

// startShell runs a script in bash at a terminal without echo; args become $1 and so on.
func startShell(t *testing.T, script string, args ...string) *shell {
	t.Helper()
	bash := omptest.Program(t, "bash")
	master, slave, err := omptest.OpenTerminal(80)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel sends the signal of a key before it echoes the key: the echo could appear in any later line.
	modes, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	modes.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, modes); err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, keys: master}
	s.cmd = exec.Command(bash, append([]string{"-c", script, "bash"}, args...)...)
	s.cmd.Env = append(os.Environ(), "OMPD_READY_FD=1", "OMPD_TRUTH="+filepath.Join(t.TempDir(), "truth.jsonl"))
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.out = bufio.NewReader(io.TeeReader(master, &s.seen))
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	late := time.AfterFunc(e2e.TooLate, func() { s.cmd.Process.Kill() }) // the terminal hangs up
	t.Cleanup(func() {
		late.Stop()
		master.Close() // ends the rest of the session
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
	return s
}

// key types into the terminal.
func (s *shell) key(text string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// expect reads lines from the terminal up to one that contains want, and returns it.
func (s *shell) expect(want string) string {
	s.t.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if strings.Contains(line, want) {
			return strings.TrimSpace(line)
		}
		if err != nil {
			s.t.Fatalf("%v, no %q in:\n%s", err, want, s.seen.String())
		}
	}
}

// TestRunStoppedByCtrlZ stops run, a program and the program's children by Ctrl-Z, and continues them by fg. The
// time between counts as no hang, and run ends with the program's status.
func TestRunStoppedByCtrlZ(t *testing.T) {
	const script = `set -m; "$@"; echo status $?; read x; { sleep 1; echo now; } & fg %1; echo ended=$?`
	for _, c := range []struct {
		name, program, end, says string
		with, args               []string
	}{
		// its input ends
		{"busy", "fork_loop", "\x04", "ended=0", nil, []string{"600"}},
		// the same for a shell's child
		{"child", "fork_loop", "\x04", "ended=0", []string{"sh", "-c", `"$@"; exit $?`, "sh"}, []string{"600"}},
		{"hangs", "idle", "\x03", "ended=130", nil, []string{"wait"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: c.program}),
				Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live}
			argv := append([]string{"ompd-inspect", "run", "--hang-after", "2s", "--"}, c.with...)
			argv = append(append(argv, "env", "LD_LIBRARY_PATH="+r.Runtime.Dir, r.Exe), c.args...)
			s := startShell(t, script, argv...)
			s.expect("READY")
			s.key("\x1a")
			s.expect("status 147")
			tool := e2e.ChildOf(t, s.cmd.Process.Pid)
			e2e.AwaitStopped(t, tool, 0)
			program := e2e.ChildOf(t, tool)
			if c.with != nil {
				e2e.AwaitStopped(t, program, 0)
				program = e2e.ChildOf(t, program)
			}
			e2e.AwaitStopped(t, program, 2500*time.Millisecond) // longer than --hang-after
			s.key("\n")
			s.expect("now") // after looks
			s.key(c.end)
			if got := s.expect("ended="); !strings.HasSuffix(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
			if strings.Contains(s.seen.String(), "progress") {
				t.Errorf("a report:\n%s", s.seen.String())
			}
		})
	}
}

// TestRunOfStoppedProgramIsNoHang stops only the program, for longer than --hang-after: that is no hang, and run
// does not stop with it.
func TestRunOfStoppedProgramIsNoHang(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	s := startShell(t, `"$@"; echo ended=$?`, "ompd-inspect", "run", "--hang-after", "1s", "--", "env",
		"LD_LIBRARY_PATH="+omptest.RuntimeOf(t, 16).Dir, exe, "wait")
	s.expect("READY")
	tool := e2e.ChildOf(t, s.cmd.Process.Pid)
	program := e2e.ChildOf(t, tool)
	unix.Kill(program, unix.SIGSTOP)
	e2e.AwaitStopped(t, program, 2500*time.Millisecond)
	if got := e2e.States(t, tool); strings.Contains(got, "T") {
		t.Errorf("states of the threads of run: %s", got)
	}
	unix.Kill(program, unix.SIGCONT)
	s.expect("made no progress for 1s")
	if got := s.expect("ended="); got != fmt.Sprint("ended=", cli.ExitHang) {
		t.Error(got)
	}
}

// TestRunForwardsStopAndContinue stops and continues only run, which forwards both signals. The program ends when
// it is continued; until then, bash takes run for stopped. The shell starts run in the background: bash keeps the
// exit status of such a job even if it ends before wait.
func TestRunForwardsStopAndContinue(t *testing.T) {
	s := startShell(t, `set -m; "$@" & p=$!; until jobs | grep -q Stopped; do :; done; echo stopped; kill -CONT $p
s=147; while [ $s = 147 ]; do wait $p; s=$?; done; echo ended=$s`,
		"ompd-inspect", "run", "--", "sh", "-c", `trap 'exit 9' CONT; kill -TSTP $PPID; while :; do sleep 0.01; done`)
	s.expect("stopped")
	if got := s.expect("ended="); got != "ended=9" {
		t.Error(got)
	}
}

// TestRunReadsTerminal checks that the program reads typed text, as it is in the foreground.
func TestRunReadsTerminal(t *testing.T) {
	s := startShell(t, `set -m; "$@"; echo ended=$?`, "ompd-inspect", "run", "--", "sh", "-c",
		`echo READY; read x; echo "got $x"; exit 4`)
	s.expect("READY")
	s.key("hello\n")
	s.expect("got hello")
	if got := s.expect("ended="); got != "ended=4" {
		t.Error(got)
	}
}

// TestRunBackground reads the terminal in the background: run and the program stop until fg.
func TestRunBackground(t *testing.T) {
	s := startShell(t, `set -m; "$@" & until jobs | grep -q Stopped; do :; done; echo stopped; fg %1; echo ended=$?`,
		"ompd-inspect", "run", "--", "sh", "-c", `read x; echo "got $x"; exit 4`)
	s.expect("stopped")
	s.key("hello\n")
	s.expect("got hello")
	if got := s.expect("ended="); got != "ended=4" {
		t.Error(got)
	}
}

// TestRunForwardsCtrlCOnce types Ctrl-C to a program that counts the signals: it gets each once. The program does
// not sleep: a shell that gets a signal just before it reads runs no trap until the read returns.
func TestRunForwardsCtrlCOnce(t *testing.T) {
	over := filepath.Join(t.TempDir(), "over")
	s := startShell(t, `set -m; "$@"; echo ended=$?`, "ompd-inspect", "run", "--", "sh", "-c",
		`n=0; trap 'n=$((n+1)); echo "count $n."' INT; echo READY; until [ -e "$0" ]; do :; done; exit $n`, over)
	s.expect("READY")
	const times = 20
	for n := range times {
		s.key("\x03")
		s.expect(fmt.Sprintf("count %d.", n+1))
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.expect("ended="); got != fmt.Sprint("ended=", times) {
		t.Errorf("%s after %d times Ctrl-C", got, times)
	}
}

// TestRunForwardsSignals sends signals only to run: the program gets them, handled or not.
func TestRunForwardsSignals(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1,
		unix.SIGUSR2} {
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, sig) // run would inherit the ignored signals of this process
		defer signal.Stop(heard)
		for script, want := range map[string]int{
			// A shell's child drops a signal that the shell has a trap for until it becomes another program. It
			// cannot drop SIGKILL.
			`trap 'kill -KILL $!; exit 3' %s; sleep 60 & echo READY; wait`:         3,
			`ulimit -c 0; trap '' PIPE; echo READY; exec sleep 60 # dies of SIG%s`: cli.ExitSignal + int(sig),
		} {
			name := strings.TrimPrefix(unix.SignalName(sig), "SIG")
			cmd := exec.Command("ompd-inspect", "run", "--", "sh", "-c", fmt.Sprintf(script, name))
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
				t.Errorf("%q, %v", line, err)
			}
			cmd.Process.Signal(sig)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("%v, %s: exit status %d, want %d: %s", sig, script, got, want, errs.String())
			}
			if report := strings.Contains(errs.String(), "SIGQUIT in LWP"); report != (sig == unix.SIGQUIT &&
				want > cli.ExitSignal) {
				t.Errorf("%v, %s: a report: %v\n%s", sig, script, report, errs.String())
			}
		}
	}
}

// TestRunKillsHungProgram hangs a program that ignores SIGTERM: run prints one report and then sends SIGKILL.
func TestRunKillsHungProgram(t *testing.T) {
	t.Parallel()
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := `trap '' TERM; echo $$ > ` + pidFile +
		`; exec env OMPD_READY_FD=1 OMPD_TRUTH=/dev/null LD_LIBRARY_PATH=` + omptest.RuntimeOf(t, 16).Dir + " " + exe +
		" wait >/dev/null"
	status, _, errs := e2e.Output(t, "run", "--hang-after", "1s", "--", "sh", "-c", script)
	if status != cli.ExitHang || strings.Count(errs, "made no progress") != 1 ||
		strings.Count(errs, "DEADLOCK  2 threads wait for each other") != 1 {
		t.Errorf("exit status %d, want %d, and one report:\n%s", status, cli.ExitHang, errs)
	}
	b, _ := os.ReadFile(pidFile)
	pid := 0
	fmt.Sscan(string(b), &pid)
	if pid == 0 || unix.Kill(pid, 0) != unix.ESRCH {
		t.Errorf("process %q is there", b)
	}
}

// TestRunStatusOfFailedStart compares the exit status for programs that cannot be started with a shell's.
func TestRunStatusOfFailedStart(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    int
	}{
		"fine":         {"#!/bin/sh\nexit 6\n", 0o755, 6},
		"no-right":     {"#!/bin/sh\n", 0o644, cli.ExitNoExec},
		"no-program":   {"\x7fELF and nothing", 0o755, cli.ExitNoExec},
		"no-interpret": {"#!/nowhere/sh\n", 0o755, cli.ExitNotFound},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		status, _, errs := e2e.Output(t, "run", "--", path)
		if status != c.want || strings.Contains(errs, path) != (c.want != 6) {
			t.Errorf("%s: exit status %d, want %d: %s", name, status, c.want, errs)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", ".:"+os.Getenv("PATH"))
	if status, _, errs := e2e.Output(t, "run", "--", "fine"); status != 6 || errs != "" {
		t.Errorf("in PATH by a dot: exit status %d: %s", status, errs)
	}
}
