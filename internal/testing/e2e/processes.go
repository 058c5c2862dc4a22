package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// StartHeld starts a program by a command that runs programs, such as `run --`, and waits until the
// program is ready. It returns the PID of the program.
func StartHeld(t *testing.T, tool *exec.Cmd, r omptest.Run) (pid int) {
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

// TracerOf returns the thread that traces a process, or 0.
func TracerOf(t *testing.T, pid int) (thread int) {
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

// States returns the states of the threads of a process, one letter each.
func States(t *testing.T, pid int) string {
	t.Helper()
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	out := ""
	for _, path := range paths {
		b, _ := os.ReadFile(path)
		if _, rest, ok := strings.Cut(string(b), ") "); ok {
			out += rest[:1]
		}
	}
	return out
}

// ChildOf returns the only child of a process.
func ChildOf(t *testing.T, pid int) int {
	t.Helper()
	list := omptest.Children(pid)
	if len(list) == 0 {
		t.Fatalf("process %d has no child", pid)
	}
	return list[0]
}

// HasEnded reports whether a process has ended, also one that its parent has not waited for.
func HasEnded(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}

// AwaitHeld waits until a tool holds a process and none of its threads is stopped.
func AwaitHeld(t *testing.T, pid int, tool *exec.Cmd) {
	t.Helper()
	for TracerOf(t, pid) != tool.Process.Pid || strings.ContainsAny(States(t, pid), "tT") {
		if HasEnded(tool.Process.Pid) {
			t.Fatalf("%s has ended", tool.Path)
		}
	}
}

// AwaitStopped waits until all threads of a process are stopped and stay so for a time. The first stop
// may be the one in which they get the signal.
func AwaitStopped(t *testing.T, pid int, long time.Duration) {
	t.Helper()
	begin, since := time.Now(), time.Time{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		got := States(t, pid)
		switch still := got != "" && strings.Trim(got, "tT") == ""; {
		case still && since.IsZero():
			since = now
		case still && now.Sub(since) >= long:
			return
		case strings.Trim(got, "ZX") == "" || now.Sub(begin) > TooLate && !still: // ended, or running
			t.Fatalf("states of the threads of process %d: %s", pid, got)
		case !still:
			since = time.Time{}
		}
	}
}

// TooLate is the time after which a process counts as one that never stops or ends. It is shorter than the time limit
// of a package (TESTRUN in the Makefile), which names no reason.
const TooLate = 20 * time.Minute

// AwaitWriting waits until a process has started to write a file, or has ended.
func AwaitWriting(pid int, name string) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	for {
		fds, err := os.ReadDir(dir)
		if err != nil || len(fds) == 0 {
			return
		}
		for _, fd := range fds {
			to, _ := os.Readlink(filepath.Join(dir, fd.Name()))
			info, err := os.Stat(filepath.Join(dir, fd.Name()))
			if err == nil && info.Size() > 1<<20 && filepath.Dir(to) == filepath.Dir(name) {
				return
			}
		}
	}
}

// Debugger is a gdb that holds a process.
type Debugger struct {
	*exec.Cmd
	Input  io.WriteCloser
	output *bufio.Reader
}

// Await reads the output of gdb up to text and returns it.
func (d *Debugger) Await(t *testing.T, text string) string {
	t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), text) {
		b, err := d.output.ReadByte()
		if err != nil {
			t.Fatalf("gdb ended before it said %q: %v\n%s", text, err, all.String())
		}
		all.WriteByte(b)
	}
	return all.String()
}

// StartGDB starts gdb; it is killed when the test ends.
func StartGDB(t *testing.T, args ...string) *Debugger {
	t.Helper()
	d := &Debugger{Cmd: exec.Command("gdb", args...)}
	var err1, err2 error
	d.Input, err1 = d.StdinPipe()
	out, err2 := d.StdoutPipe()
	d.Stderr = d.Stdout
	if err := errors.Join(err1, err2, d.Start()); err != nil {
		t.Fatalf("%v: apt-get install gdb", err)
	}
	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })
	d.output = bufio.NewReader(out)
	return d
}

// HoldByGDB attaches gdb to a process and waits until it holds it.
func HoldByGDB(t *testing.T, pid int) *Debugger {
	t.Helper()
	d := StartGDB(t, "-q", "-nx", "-iex", "set pagination off", "-iex", "set debuginfod enabled off", "-p",
		strconv.Itoa(pid))
	fmt.Fprintln(d.Input, `echo HELD\n`)
	d.Await(t, "HELD")
	return d
}

// DumpProgram runs a program on libomp 16 and returns the core that the kernel writes.
func DumpProgram(tb testing.TB, program string, args ...string) *omptest.Result {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: program})
	return omptest.Dump(tb, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(tb, 16), Args: args, Mode: omptest.Kernel})
}

// BusyRuns returns ways to run a busy and healthy program: on several runtimes, with threads that
// sleep and threads that spin, and with several kinds of locks.
func BusyRuns(t *testing.T) []omptest.Run {
	t.Helper()
	gnu := omptest.Compile(t, omptest.Build{Program: "healthy_busy", Compiler: omptest.GCC,
		Flags: []string{"-O2", "-g"}})
	llvm := omptest.Compile(t, omptest.Build{Program: "healthy_busy"})
	return []omptest.Run{
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16)},
		{Exe: gnu, Runtime: omptest.Libgomp(t)},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 19), Env: []string{"KMP_BLOCKTIME=0"}},
		{Exe: gnu, Runtime: omptest.LibgompOf(t, "trixie"),
			Env: []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16), Env: []string{"KMP_LOCK_KIND=tas"}},
		{Exe: llvm, Runtime: omptest.RuntimeOf(t, 16), Env: []string{"KMP_LOCK_KIND=drdpa"}},
		{Exe: gnu, Runtime: omptest.Libgomp(t), Env: []string{"GOMP_SPINCOUNT=0"}},
	}
}
