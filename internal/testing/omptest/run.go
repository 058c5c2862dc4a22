package omptest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Mode selects how a running program becomes a target.
type Mode string

// The modes of [Run]. A program that crashes by itself (crash_task and similar ones) is run as Kernel.
const (
	Kernel Mode = "abort" // a core that the kernel writes when the program aborts
	Segv   Mode = "segv"  // a core that the kernel writes when the program touches address 0x10
	Gcore  Mode = "gcore" // a core that gcore takes from the living program
	Live   Mode = "live"  // the living program, for Start
)

// Run is a program, its runtime, arguments and environment.
type Run struct {
	Exe     string
	Runtime Runtime  // without Dir: the runtime that the dynamic loader finds
	Args    []string // after the mode
	Env     []string // NAME=value; no other variable of OpenMP is set
	Mode    Mode

	delve []string // the command line of a Delve that runs the program; empty: no Delve
}

// Process is a live program with all threads in position.
type Process struct {
	PID     int
	Truth   Truth
	Exe     string
	Runtime Runtime
	cmd     *exec.Cmd
}

// Start runs a program and returns when it is ready for a look. The end of the test kills it.
func Start(tb testing.TB, r Run) *Process {
	tb.Helper()
	return start(tb, r, tb.TempDir())
}

// Stop kills the program and waits for its end. A second call has no effect.
func (p *Process) Stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Wait waits for the end of a program that the test does not end itself, and returns how it ended.
func (p *Process) Wait() *os.ProcessState {
	_ = p.cmd.Wait() // the state shows a failure
	return p.cmd.ProcessState
}

// start is Start with the directory for the program's files.
func start(tb testing.TB, r Run, dir string) *Process {
	tb.Helper()
	ready, theirs, err := os.Pipe()
	must(tb, err)
	defer ready.Close()
	var output bytes.Buffer
	cmd := r.Command(dir, "wait")
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.ExtraFiles = []*os.File{theirs} // becomes descriptor 3
	cmd.Env = append(cmd.Env, "OMPD_READY_FD=3")
	err = cmd.Start()
	theirs.Close() // so that the end of the program is the end of the pipe
	must(tb, err)
	p := &Process{PID: cmd.Process.Pid, Exe: r.Exe, Runtime: r.Runtime, cmd: cmd}
	tb.Cleanup(p.Stop)
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != "READY\n" {
		p.Stop()
		tb.Fatalf("%s on %s ended before it was ready: %v, %v\n%s", r.Exe, r.Runtime.Name, err, cmd.ProcessState,
			output.Bytes())
	}
	p.Truth, err = ReadTruth(filepath.Join(dir, "truth.jsonl"))
	must(tb, err)
	if child := p.Truth.Program.PID; child != 0 { // a program may show a child of its own
		p.PID = child
	}
	p.settle(tb)
	return p
}

// settleTime bounds the wait until a thread that has only to sleep does so.
const settleTime = 20 * time.Minute

// settle waits until the thread that printed READY sleeps in its final position: it may still be returning from
// the call that printed.
func (p *Process) settle(tb testing.TB) {
	tb.Helper()
	for _, th := range p.Truth.Threads {
		if th.Function == "truth_end" {
			p.awaitCall(tb, []int{th.LWP}, sysPause)
		}
	}
}

// AwaitSleep waits until all threads sleep, as a look wakes them for a moment. They must be in waits that do not
// spin.
func (p *Process) AwaitSleep(tb testing.TB) {
	tb.Helper()
	for _, lwp := range p.Truth.Program.LWPs {
		p.awaitCall(tb, []int{lwp}, sysPause, unix.SYS_FUTEX)
	}
}

// AwaitTimed waits until a thread is in a system call with a time limit, if the program does not wait for that
// itself.
func (p *Process) AwaitTimed(tb testing.TB) {
	tb.Helper()
	p.awaitCall(tb, p.Truth.Program.LWPs, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP)
}

// Thresholds of AwaitLoop. A thread that returns from the call that printed READY, or from a barrier, uses far less
// time and sleeps at most once or twice, for pages of its program.
const (
	loopSleeps = 5
	loopTime   = 20 * time.Millisecond
)

// AwaitLoop waits until all threads are in the endless loops that they enter after READY: each has slept several times
// since, or has used some processor time.
func (p *Process) AwaitLoop(tb testing.TB) {
	tb.Helper()
	for _, lwp := range p.Truth.Program.LWPs {
		sleeps, used := p.activity(tb, lwp)
		for begin := time.Now(); ; time.Sleep(time.Millisecond) {
			if s, u := p.activity(tb, lwp); s >= sleeps+loopSleeps || u >= used+loopTime {
				break
			}
			if time.Since(begin) > settleTime {
				tb.Fatalf("%s: LWP %d does not enter its loop", p.Exe, lwp)
			}
		}
	}
}

// activity returns how often a thread has slept, and the processor time that it has used.
func (p *Process) activity(tb testing.TB, lwp int) (sleeps int, used time.Duration) {
	tb.Helper()
	dir := fmt.Sprintf("/proc/%d/task/%d", p.PID, lwp)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	must(tb, err)
	_, rest, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
	_, err = fmt.Sscan(string(rest), &sleeps)
	must(tb, err)
	times, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	must(tb, err)
	_, err = fmt.Sscan(string(times), (*int64)(&used)) // in nanoseconds
	must(tb, err)
	return sleeps, used
}

// inCall reports whether a thread is in a system call.
func (p *Process) inCall(lwp, call int) bool {
	now, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", p.PID, lwp))
	return err == nil && bytes.HasPrefix(now, fmt.Appendf(nil, "%d ", call))
}

// awaitCall waits until one of some threads is in one of some system calls.
func (p *Process) awaitCall(tb testing.TB, lwps []int, calls ...int) {
	tb.Helper()
	in := func(lwp int) bool {
		return slices.ContainsFunc(calls, func(call int) bool { return p.inCall(lwp, call) })
	}
	for begin := time.Now(); !slices.ContainsFunc(lwps, in); time.Sleep(time.Millisecond) {
		if time.Since(begin) > settleTime {
			tb.Fatalf("%s: LWP %v does not come to rest", p.Exe, lwps)
		}
	}
}

// AwaitWaitingParent waits until the parent of a process waits for the end of a child, and returns its PID.
func AwaitWaitingParent(tb testing.TB, child int) (parent int) {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
	must(tb, err)
	_, err = fmt.Sscanf(string(b[bytes.LastIndexByte(b, ')')+1:]), " %c %d", new(rune), &parent)
	must(tb, err)
	p := &Process{PID: parent, Exe: "the parent"}
	p.awaitCall(tb, []int{parent}, unix.SYS_WAIT4)
	return parent
}

// Command returns a command that runs the program with mode as its first argument in dir. It allows cores, and
// removes variables that change the runtime. The shell replaces itself, so that the process is the program.
func (r Run) Command(dir, mode string) *exec.Cmd {
	program := append(slices.Clone(r.delve), r.Exe)
	if r.delve != nil {
		program = append(program, "--")
	}
	program = append(program, mode)
	if r.Runtime.Loader != "" {
		program = append([]string{r.Runtime.Loader, "--library-path", r.Runtime.Dir}, program...)
	}
	args := append(append([]string{"-c", `ulimit -c unlimited; exec "$0" "$@"`}, program...), r.Args...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = dir
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if r.Runtime.Dir != "" && r.Runtime.Loader == "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+r.Runtime.Dir)
	}
	cmd.Env = append(cmd.Env, r.Env...)
	cmd.Env = append(cmd.Env, "OMPD_TRUTH="+filepath.Join(dir, "truth.jsonl"))
	return cmd
}

// CommandLine returns a command line that runs a program as Start does, without a shell: its last process is the
// program. The program writes its truth into dir.
func (r Run) CommandLine(dir string) []string {
	cmd := r.Command(dir, string(r.Mode))
	argv := append([]string{"env", "-i", "-C", dir}, cmd.Env...)
	return append(argv, cmd.Args[3:]...) // after sh -c SCRIPT
}

// crash runs a program that kills itself and leaves dir/core and dir/truth.jsonl.
func crash(tb testing.TB, r Run, dir string) {
	tb.Helper()
	defer CoresInPlace(tb)()
	cmd := r.Command(dir, string(r.Mode))
	out, err := cmd.CombinedOutput()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || !status.CoreDump() {
		tb.Fatalf("%s %s on %s left no core: %v\n%s", r.Exe, r.Mode, r.Runtime.Name, err, out)
	}
	if _, err := ReadTruth(filepath.Join(dir, "truth.jsonl")); err != nil {
		tb.Fatalf("%s on %s died before it was ready: %v\n%s", r.Exe, r.Runtime.Name, err, out)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		tb.Fatalf("%s dumped, but %s has %d cores, want 1", r.Exe, dir, len(cores))
	}
	must(tb, os.Rename(cores[0], filepath.Join(dir, "core")))
}

// CoresInPlace makes the kernel write cores into the working directory of the program. If they go elsewhere (a
// crash collector's pipe), it changes that for the duration of one dump, which needs root, and returns a function
// that restores it.
func CoresInPlace(tb testing.TB) (restore func()) {
	tb.Helper()
	const setting = "/proc/sys/kernel/core_pattern"
	read := func() string {
		data, err := os.ReadFile(setting)
		must(tb, err)
		return strings.TrimSpace(string(data))
	}
	// A relative pattern needs no change: the program runs in a directory of its own.
	if !strings.ContainsAny(read(), "|/") {
		return func() {}
	}
	unlock := lock(tb, filepath.Join(cacheDir(tb), ".core_pattern.lock"))
	old := read()
	if err := os.WriteFile(setting, []byte("core"), 0o644); err != nil {
		unlock()
		tb.Fatalf("kernel cores go to %q: as root, run: sysctl kernel.core_pattern=core (%v)", old, err)
	}
	return func() {
		_ = os.WriteFile(setting, []byte(old), 0o644)
		unlock()
	}
}
