package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestHeldByRun runs all verbs on a process while run, or record to a file, holds it: the answer reports that it
// stopped no thread, and never advises to interrupt the program.
func TestHeldByRun(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	copied := filepath.Join(t.TempDir(), "oi") // another file with another name
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	saved := filepath.Join(t.TempDir(), "recording")
	renamed := e2e.Process("run", "--")
	renamed.Path = copied
	for name, tool := range map[string]*exec.Cmd{
		"run":          e2e.Process("run", "--hang-after", "1h", "--"),
		"record":       e2e.Process("record", "--library", omptest.Recorder(t), "--save", saved, "--"),
		"another file": renamed,
	} {
		t.Run(name, func(t *testing.T) {
			pid := e2e.StartHeld(t, tool, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)})
			omptest.Equal(t, "run holds it", e2e.TracerOf(t, pid) != 0, true)
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
				status, text := e2e.RunCommand(t, e2e.Process(append(strings.Fields(c.args), strconv.Itoa(pid))...))
				if status != c.status || !strings.Contains(text, c.want) || !strings.Contains(text, says) ||
					strings.Contains(text, "interrupt the program") {
					t.Errorf("%s: exit status %d, want %d, %q and %q\n%s", c.args, status, c.status, c.want, says, text)
				}
			}
			status, text := e2e.RunCommand(t, e2e.Process("ps", "--sample", "0"))
			if status != cli.ExitOK || !strings.Contains(text, strconv.Itoa(pid)) {
				t.Errorf("ps: exit status %d\n%s", status, text)
			}
		})
	}
}

// TestHeldBySpinner looks at a process that run holds, with threads that spin for locks: their stacks are unknown
// without a stop, and no verdict follows from that.
func TestHeldBySpinner(t *testing.T) {
	pid := e2e.StartHeld(t, e2e.Process("run", "--"), omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}), Runtime: omptest.RuntimeOf(t, 16),
	})
	for _, verb := range []string{"report", "diagnose"} {
		status, text := e2e.RunCommand(t, e2e.Process(verb, strconv.Itoa(pid)))
		if status != cli.ExitOK || !strings.Contains(text, "no thread was stopped, as ompd-inspect run") ||
			!strings.Contains(text, "2 threads ran during the look") {
			t.Errorf("%s: exit status %d\n%s", verb, status, text)
		}
	}
}

// TestHeldByOthers looks at a process that strace holds: an interrupt would end the program there, so the message
// does not advise it.
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
	e2e.AwaitHeld(t, p.PID, tool)
	number := strconv.Itoa(p.PID)
	e2e.CheckRefused(t, e2e.Process(number), "another debugger holds it: strace, process ",
		"leave it running and type: ompd-inspect --no-stop "+number)
	if status, text := e2e.RunCommand(t, e2e.Process("diagnose", "--no-stop", number)); status != cli.ExitFound {
		t.Errorf("--no-stop: exit status %d\n%s", status, text)
	}
}

// looksAtOnce is the number of simultaneous looks at one process.
const looksAtOnce = 20

// TestManyLooksAtOneProcess looks at one process from many processes at a time: each waits for its turn.
func TestManyLooksAtOneProcess(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	var looks sync.WaitGroup
	for range looksAtOnce {
		looks.Go(func() {
			out, err := e2e.Process("diagnose", strconv.Itoa(p.PID)).CombinedOutput()
			if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFound {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	looks.Wait()
}
