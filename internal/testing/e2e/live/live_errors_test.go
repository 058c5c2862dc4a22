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
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestMissingProcessIsRefused looks at the PID of a process that has ended.
func TestMissingProcessIsRefused(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	e2e.CheckRefused(t, e2e.Process(strconv.Itoa(gone.Process.Pid)), "no such process", "ompd-inspect ps")
}

// TestZombieIsRefused looks at a process that has ended and was not waited for.
func TestZombieIsRefused(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	e2e.CheckRefused(t, e2e.Process(strconv.Itoa(cmd.Process.Pid)), "it has ended", "waits for its parent")
}

// TestKernelThreadIsRefused looks at a thread of the kernel, if this machine shows them.
func TestKernelThreadIsRefused(t *testing.T) {
	b, err := os.ReadFile("/proc/2/comm")
	if err != nil || string(b) != "kthreadd\n" {
		t.Skip("this container does not show the kernel's threads")
	}
	e2e.CheckRefused(t, e2e.Process("2"), "thread of the kernel", "kthreadd")
}

// TestProgramOf32BitsIsRefused looks at a program of 32 bits.
func TestProgramOf32BitsIsRefused(t *testing.T) {
	omptest.Needs(t, "a C compiler")
	dir := t.TempDir()
	exe, source := filepath.Join(dir, "small"), filepath.Join(dir, "small.c")
	const text = `void _start(void) { for (;;) __asm__ volatile("int $0x80" ::"a"(29)); }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("clang-16", "--target=i386-linux-gnu", "-nostdlib", "-static", "-fuse-ld=lld", "-o",
		exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this kernel does not run programs of 32 bits")
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	e2e.CheckRefused(t, e2e.Process(strconv.Itoa(cmd.Process.Pid)), "32-bit", "only 64-bit programs")
}

// asNobody makes a command run as a user without any rights, and gives that user a copy of the tool.
func asNobody(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err1 := os.ReadFile(cmd.Path)
	cmd.Path = filepath.Join(dir, "ompd-inspect")
	if err := errors.Join(err1, os.Chmod(dir, 0o755), os.WriteFile(cmd.Path, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = dir
	return cmd
}

// TestProcessOfOtherUserIsRefused looks at a process of root as the user nobody.
func TestProcessOfOtherUserIsRefused(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	pid := strconv.Itoa(p.PID)
	e2e.CheckRefused(t, asNobody(t, e2e.Process(pid)), "belongs to root", "you are nobody", "sudo ompd-inspect "+pid)
	out, err := asNobody(t, e2e.Process("ps", "--sample", "0")).Output()
	if err != nil || strings.Contains(string(out), pid) || !strings.Contains(string(out), "sudo ompd-inspect ps") {
		t.Errorf("ps as nobody: %v\n%s", err, out)
	}
}

// TestProtectedProcessIsRefused looks, as the user nobody, at a process of nobody that the kernel protects
// because its file is executable but not readable.
func TestProtectedProcessIsRefused(t *testing.T) {
	cmd := asNobody(t, e2e.Process())
	secret := filepath.Join(cmd.Dir, "secret")
	sleep, err := exec.LookPath("sleep")
	b, err1 := os.ReadFile(sleep)
	if err := errors.Join(err, err1, os.WriteFile(secret, b, 0o711)); err != nil {
		t.Fatal(err)
	}
	victim := &exec.Cmd{Path: secret, Args: []string{"sleep", "60"}, SysProcAttr: cmd.SysProcAttr, Dir: cmd.Dir}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	pid := strconv.Itoa(victim.Process.Pid)
	e2e.CheckRefused(t, asNobody(t, e2e.Process(pid)), "permission denied", "it protects itself",
		"sudo ompd-inspect "+pid)
}

// TestPIDOfContainerIsRefused looks at the number of a process in a PID namespace: the message gives its number
// in the tool's namespace.
func TestPIDOfContainerIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a PID namespace")
	}
	unshare := omptest.Program(t, "unshare")
	inside := 0
	for n := 20000; inside == 0 && n < 30000; n++ {
		if unix.Kill(n, 0) == unix.ESRCH {
			inside = n
		}
	}
	const script = `echo $(($0 - 1)) > /proc/sys/kernel/ns_last_pid; sleep 60 & echo $!; wait`
	cmd := exec.Command(unshare, "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script,
		strconv.Itoa(inside))
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatalf("%v: apt-get install util-linux", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != fmt.Sprintln(inside) {
		t.Fatalf("%q, %v", line, err)
	}
	here := e2e.ChildOf(t, e2e.ChildOf(t, cmd.Process.Pid))
	e2e.CheckRefused(t, e2e.Process(strconv.Itoa(inside)), "no such process",
		"the number that a process has in its container", fmt.Sprint("type: ompd-inspect ", here))
}

// TestRootWithoutPtraceIsRefused looks at processes of root, as root without the right to trace: the message does
// not advise sudo.
func TestRootWithoutPtraceIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give up rights of root")
	}
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	for _, args := range [][]string{{strconv.Itoa(p.PID)}, {"ps", "--all", "--sample", "0"}} {
		cmd := exec.Command("setpriv", append([]string{"--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace",
			"ompd-inspect"}, args...)...)
		out, _ := cmd.CombinedOutput()
		text := strings.Join(strings.Fields(string(out)), " ")
		for _, w := range []string{"permission denied: root is without CAP_SYS_PTRACE here",
			"docker run --cap-add=SYS_PTRACE", "Kubernetes"} {
			if !strings.Contains(text, w) {
				t.Errorf("%v: no %q in\n%s", args, w, out)
			}
		}
		if strings.Contains(text, "sudo") {
			t.Errorf("%v: sudo is no fix:\n%s", args, out)
		}
	}
}

// TestHeldByDebugger looks at a process that gdb holds: if it is stopped, the tool reads it without a stop of its
// own; if it runs, the message names the debugger.
func TestHeldByDebugger(t *testing.T) {
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	d := e2e.HoldByGDB(t, p.PID)
	pic := e2e.ReportProcess(t, p.PID)
	if k := pic.Target.Pause; k.Stops != 0 || k.Threads != 0 {
		t.Errorf("pause %+v of a process that is stopped already", k)
	}
	e2e.CheckPicture(t, pic, &omptest.Result{Truth: p.Truth, Exe: p.Exe}, true)
	fmt.Fprintln(d.Input, "continue")
	d.Await(t, "Continuing.")
	for strings.Contains(e2e.States(t, p.PID), "t") { // gdb prints its message before it detaches
	}
	e2e.CheckRefused(t, e2e.Process(strconv.Itoa(p.PID)), "another debugger holds it", fmt.Sprint(d.Process.Pid), "gdb")
	if status, out, errs := e2e.Output(t, "--no-stop", strconv.Itoa(p.PID)); status != cli.ExitOK ||
		!strings.Contains(out, "no thread was stopped") {
		t.Errorf("--no-stop: exit status %d\n%s%s", status, out, errs)
	}
}

// TestProcessEndsBetweenLooks has the process end, and become another program, between two looks.
func TestProcessEndsBetweenLooks(t *testing.T) {
	for _, c := range []struct {
		name, command string
		words         []string
	}{
		{"end", "read line", []string{"ended during the look"}},
		{"exec", "read line; exec sleep 60", []string{"became another program", "repeat the command"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			victim := exec.Command("sh", "-c", c.command)
			input, err := victim.StdinPipe()
			if err := errors.Join(err, victim.Start()); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
			cmd := e2e.Process("watch", "--json", "--interval", "500ms", "--count", "20",
				strconv.Itoa(victim.Process.Pid))
			out, err := cmd.StdoutPipe()
			var errs strings.Builder
			cmd.Stderr = &errs
			if err := errors.Join(err, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			looks := bufio.NewReader(out)
			if line, err := looks.ReadString('\n'); err != nil {
				t.Fatalf("no first look: %v\n%s%s", err, line, errs.String())
			}
			input.Close()
			if _, err := io.Copy(io.Discard, looks); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitError {
				t.Errorf("%v, want exit status %d", err, cli.ExitError)
			}
			for _, w := range c.words {
				if !strings.Contains(errs.String(), w) {
					t.Errorf("no %q in %s", w, errs.String())
				}
			}
		})
	}
}
