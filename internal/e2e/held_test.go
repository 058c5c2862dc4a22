package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// startHeld starts a program by a command that runs programs, such as `run --`, and returns the program's process when
// it is ready.
func startHeld(t *testing.T, tool *exec.Cmd, r omptest.Run) (pid int) {
	t.Helper()
	r.Mode = omptest.Live
	argv := r.CommandLine(t.TempDir())
	argv = slices.Delete(argv, 1, 2) // -i of env: the recorder is named in the environment
	argv[len(argv)-1-len(r.Args)] = "wait"
	at := 0
	for !strings.HasPrefix(argv[at], "OMPD_TRUTH=") {
		at++
	}
	tool.Args = append(append(append(tool.Args, argv[:at]...), "OMPD_READY_FD=1"), argv[at:]...)
	out, err := tool.StdoutPipe()
	if err := errors.Join(err, tool.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = tool.Process.Signal(unix.SIGTERM)
		_ = tool.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
		t.Fatalf("%v says %q, %v", tool.Args, line, err)
	}
	truth, err := omptest.ReadTruth(strings.TrimPrefix(argv[at], "OMPD_TRUTH="))
	if err != nil {
		t.Fatal(err)
	}
	return truth.Program.LWPs[0]
}

// tracerOf returns the thread that traces a process, 0 if there is none.
func tracerOf(t *testing.T, pid int) (thread int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "\nTracerPid:")
	if _, err := fmt.Sscan(rest, &thread); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return thread
}

// TestHeldByRun asks all that can be asked about a process while run holds it, or record for a file: the answer says
// that nothing was stopped, and nobody is told to interrupt the program.
func TestHeldByRun(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	copied := filepath.Join(t.TempDir(), "oi") // another file, of another name
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	saved := filepath.Join(t.TempDir(), "recording")
	renamed := process("run", "--")
	renamed.Path = copied
	for name, tool := range map[string]*exec.Cmd{
		"run":          process("run", "--hang-after", "1h", "--"),
		"record":       process("record", "--library", omptest.Recorder(t), "--save", saved, "--"),
		"another file": renamed,
	} {
		t.Run(name, func(t *testing.T) {
			pid := startHeld(t, tool, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)})
			omptest.Equal(t, "run holds it", tracerOf(t, pid) != 0, true)
			says := fmt.Sprintf("no thread was stopped, as ompd-inspect %s, process %d, holds the process",
				tool.Args[1], tool.Process.Pid)
			for _, c := range []struct {
				args   string
				status int
				want   string
			}{
				{"", cli.ExitOK, "DEADLOCK"},
				{"report", cli.ExitOK, "DEADLOCK"},
				{"report --json", cli.ExitOK, `"kind": "deadlock"`},
				{"diagnose", cli.ExitFound, "DEADLOCK"},
				{"threads", cli.ExitOK, "wait_lock"},
				{"regions", cli.ExitOK, "team of 3"},
				{"tasks", cli.ExitOK, "implicit"},
				{"stacks", cli.ExitOK, "<OMP-lock_wait>"},
				{"icvs", cli.ExitOK, "nthreads"},
				{"doctor", cli.ExitOK, "ok"},
				{"layout", cli.ExitOK, "gomp_thread"},
				{"breakpoints", cli.ExitOK, "ompd_bp_parallel_begin"},
				{"watch --interval 300ms --count 2", cli.ExitStuck, "no progress"},
			} {
				status, text := told(t, process(append(strings.Fields(c.args), strconv.Itoa(pid))...))
				if status != c.status || !strings.Contains(text, c.want) || !strings.Contains(text, says) ||
					strings.Contains(text, "interrupt the program") {
					t.Errorf("%s: exit status %d, want %d, %q and %q\n%s", c.args, status, c.status, c.want, says, text)
				}
			}
			status, text := told(t, process("ps", "--sample", "0"))
			if status != cli.ExitOK || !strings.Contains(text, strconv.Itoa(pid)) {
				t.Errorf("ps: exit status %d\n%s", status, text)
			}
		})
	}
}

// told runs a command, and returns its exit status and what it printed.
func told(t *testing.T, cmd *exec.Cmd) (status int, text string) {
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

// TestHeldBySpinner looks at a process that run holds and whose threads spin for locks: where they are is not known
// without a stop, and no verdict is drawn of that.
func TestHeldBySpinner(t *testing.T) {
	pid := startHeld(t, process("run", "--"), omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}), Runtime: omptest.RuntimeOf(t, 16),
	})
	for _, verb := range []string{"report", "diagnose"} {
		status, text := told(t, process(verb, strconv.Itoa(pid)))
		if status != cli.ExitOK || !strings.Contains(text, "no thread was stopped, as ompd-inspect run") ||
			!strings.Contains(text, "2 threads ran during the look") {
			t.Errorf("%s: exit status %d\n%s", verb, status, text)
		}
	}
}

// TestHeldByOthers looks at a process that strace holds: to interrupt the program there would end it, which nobody is
// told to do.
func TestHeldByOthers(t *testing.T) {
	omptest.Needs(t, "strace")
	p := omptest.Start(t, omptest.Run{
		Exe:     omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC}),
		Runtime: omptest.Libgomp(t), Mode: omptest.Live,
	})
	tool := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace=none", "-p", strconv.Itoa(p.PID))
	if err := tool.Start(); err != nil {
		t.Fatalf("%v: apt-get install strace", err)
	}
	defer func() { _ = tool.Process.Kill(); _ = tool.Wait() }()
	for tracerOf(t, p.PID) == 0 || strings.ContainsAny(states(t, p.PID), "tT") {
		if tool.Process.Signal(unix.Signal(0)) != nil {
			t.Fatal("strace has ended")
		}
	}
	number := strconv.Itoa(p.PID)
	refused(t, process(number), "another debugger holds it: strace, process ",
		"leave it running and type: ompd-inspect --no-stop "+number)
	if status, text := told(t, process("diagnose", "--no-stop", number)); status != cli.ExitFound {
		t.Errorf("--no-stop: exit status %d\n%s", status, text)
	}
}

// looksAtOnce is how many looks there are at one process at a time.
const looksAtOnce = 20

// TestLooksAtOnce looks at one process from many processes at a time: each waits for its turn.
func TestLooksAtOnce(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	var looks sync.WaitGroup
	for range looksAtOnce {
		looks.Go(func() {
			out, err := process("diagnose", strconv.Itoa(p.PID)).CombinedOutput()
			if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFound {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	looks.Wait()
}
