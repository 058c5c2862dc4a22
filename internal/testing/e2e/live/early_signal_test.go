package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestRunEarlySignals signals run and record while they start a program, at random moments. A SIGINT ends the tool
// and the program, each time. After SIGKILL, the program continues: job control does not keep it stopped. The exception
// is a SIGKILL between fork and exec, see awaitRunning.
func TestRunEarlySignals(t *testing.T) {
	t.Setenv("OMPD_RECORDER_LIBRARY", omptest.Recorder(t))
	n := omptest.Number(t, "signals", 20)
	// A shell starts background jobs with SIGINT ignored, and programs inherit that. They do not inherit a handler.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, unix.SIGINT)
	defer signal.Stop(interrupts)
	rng := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	verbs := [][]string{
		{"run"}, {"run", "--hang-after", "1s"}, {"record", "--save", filepath.Join(t.TempDir(), "events")}, {"record"},
	}
	early := 0
	for i := range n {
		s := unix.SIGINT
		if i%4 == 3 {
			s = unix.SIGKILL
		}
		// The number of seconds names the program of this round.
		seconds := fmt.Sprintf("%d.%d%06d", 100000+os.Getpid(), 1+i%9, i)
		verb := verbs[rng.IntN(len(verbs))]
		cmd := e2e.Process(append(verb, "--", "sleep", seconds)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitMoment(cmd, rng)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		status := cmd.ProcessState.Sys().(interface{ Signal() unix.Signal })
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted && status.Signal() != s {
			t.Errorf("round %d, %v, %v: %v", i, verb, s, cmd.ProcessState)
		}
		left := processesOf(seconds)
		if s == unix.SIGINT && len(left) > 0 {
			t.Errorf("round %d, %v: processes %v continue", i, verb, left)
		}
		for _, pid := range left {
			awaitRunning(pid)
			_ = unix.Kill(pid, unix.SIGKILL)
			early++
		}
	}
	t.Logf("%d rounds; in %d the program continued", n, early)
}

// awaitMoment returns at a random moment of the start of the tool: after a number of its system calls, when it has a
// child, or when the child is traced.
func awaitMoment(cmd *exec.Cmd, rng *rand.Rand) {
	pid := cmd.Process.Pid
	const kinds, polls = 4, 2000
	kind := rng.IntN(kinds)
	for kind > 1 && !e2e.HasEnded(pid) {
		for _, child := range omptest.Children(pid) {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", child))
			// Once the child is the program, it may not be traced again: this look may have come too late.
			if kind == 2 || !strings.Contains(string(status), "\nTracerPid:\t0\n") ||
				strings.HasPrefix(string(status), "Name:\tsleep\n") {
				return
			}
		}
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "sleep\n" {
			return // record has become the program
		}
	}
	for range rng.IntN(polls) {
		_, _ = os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	}
}

// processesOf returns the processes with a word on their command line.
func processesOf(word string) (list []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if b, _ := os.ReadFile(file); strings.Contains(string(b), word) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			list = append(list, pid)
		}
	}
	return list
}

// awaitRunning waits until a process of a tool that has ended is not stopped. It does not wait for a process that has
// asked its parent to trace it after the tool was killed: the kernel makes its new parent, such as init, its tracer,
// which never continues it.
func awaitRunning(pid int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(status), "\nTracerPid:\t0\n") {
			return
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(b), ") ")
		if err != nil || !strings.HasPrefix(strings.ToUpper(state), "T") {
			return
		}
	}
}
