package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func TestInfo(t *testing.T) {
	prog := startMany(t, 3)
	info := openProcess(t, prog.PID, Options{}).Info()
	omptest.Equal(t, "PID", info.PID, prog.PID)
	omptest.Equal(t, "executable", info.Executable, prog.Exe)
	omptest.Equal(t, "name", info.Name, filepath.Base(prog.Exe))
	omptest.Equal(t, "user", info.UID, os.Getuid())
	omptest.Equal(t, "at least 3 threads", info.Threads >= 3, true)
	omptest.Equal(t, "one of the states of a program that is not stopped", true,
		slices.Contains([]byte("RSD"), info.State))
	omptest.Equal(t, "tracer", info.TracerPID, 0)
	omptest.Equal(t, "root", info.Root, "")
	omptest.Equal(t, "command", info.Command, []string{prog.Exe, "wait", "3"})
	// A thread's number selects its process.
	tids, err := taskIDs(prog.PID)
	if err != nil || len(tids) < 3 {
		t.Fatal(tids, err)
	}
	if got := openProcess(t, tids[2], Options{}).Info(); got.PID != prog.PID {
		t.Errorf("by a thread's number: %+v", got)
	}
}

// wantError checks reason, cause and fix of an error.
func wantError(t *testing.T, err, want error, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, want) {
		t.Fatalf("%v, want an *Error that is %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestNoProcess(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(cmd.Process.Pid, Options{})
	wantError(t, err, ErrNoProcess, fmt.Sprint(cmd.Process.Pid), "ompd-inspect ps")
}

func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for processState(t, cmd.Process.Pid) != "Z" {
	}
	_, err := Open(cmd.Process.Pid, Options{})
	wantError(t, err, ErrZombie, "true", "parent")
}

func TestKernelThread(t *testing.T) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if isKernelThread(pid) {
			_, err := Open(pid, Options{})
			wantError(t, err, ErrKernelThread)
			return
		}
	}
	if sameNamespace(1, "pid") && readlink("/proc/self/ns/pid") == "pid:[4026531836]" { // PROC_PID_INIT_INO
		t.Fatal("no kernel thread in the first PID namespace")
	}
	t.Skip("this PID namespace shows no kernel thread")
}

func readlink(name string) string {
	s, _ := os.Readlink(name)
	return s
}

// TestArch opens a 32-bit program.
func TestArch(t *testing.T) {
	omptest.Needs(t, "a C compiler")
	exe := filepath.Join(t.TempDir(), "small")
	source := exe + ".s"
	text := ".globl _start\n_start: movl $29, %eax\nint $0x80\njmp _start\n" // pause
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-m32", "-nostdlib", "-static", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("cc -m32: %v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this kernel cannot run 32-bit programs")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	_, err := Open(cmd.Process.Pid, Options{})
	wantError(t, err, ErrArch, "64-bit")
}

// TestFirstThreadEnded looks at a process after its first thread has ended.
func TestFirstThreadEnded(t *testing.T) {
	prog := startProgram(t, "become.c", "main")
	for processState(t, prog.pid) != "Z" {
	}
	p := openProcess(t, prog.pid, Options{})
	waitForProgress(t, p)
	pause, err := p.Look(background, func(target callbacks.Target) error {
		mustReadProgress(t, target)
		return readFrames(target)
	})
	if err != nil || pause.Threads != 3 {
		t.Errorf("%+v, %v", pause, err)
	}
	prog.in.Write([]byte("x"))
	if err := prog.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// nobody is a user without rights.
var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

// TestPermission runs the tool as a user without permission to look.
func TestPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run the tool as another user")
	}
	exe := compile(t, "become.c")
	for _, c := range []struct {
		what string
		as   *syscall.Credential
		want []string
	}{
		{"exit", nil, []string{"permission denied", "it belongs to root, you are nobody", "sudo ompd-inspect "}},
		{"protected", nobody, []string{"permission denied", "it protects itself", "sudo ompd-inspect "}},
	} {
		prog := run(t, c.as, exe, c.what)
		_, out := startTool(t, "open", prog.pid, nobody)
		got := nextLine(t, out)
		for _, w := range append(c.want, "ERROR process "+strconv.Itoa(prog.pid)) {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q does not say %q", c.what, got, w)
			}
		}
	}
	prog := run(t, nobody, exe, "exit")
	if _, out := startTool(t, "open", prog.pid, nobody); nextLine(t, out) != "" {
		t.Error("a user cannot look at a process of his own")
	}
}

// startGdb attaches gdb, and returns when gdb has stopped the process.
func startGdb(t *testing.T, pid int) (in io.Writer, quit func()) {
	t.Helper()
	cmd := exec.Command("gdb", "-nx", "-q", "-iex", "set debuginfod enabled off", "-p", strconv.Itoa(pid), "-ex",
		`printf "HELD\n"`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("gdb: %v: apt-get install gdb", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := readLines(t, stdout)
	for {
		s, err := r.ReadString('\n')
		if err != nil {
			t.Fatal("gdb ended: ", err)
		}
		if strings.Contains(s, "HELD") {
			break
		}
	}
	go io.Copy(io.Discard, r)
	return stdin, func() {
		cmd.Process.Signal(unix.SIGINT)
		io.WriteString(stdin, "detach\nquit\n")
		stdin.Close()
		cmd.Wait()
	}
}

// TestTraced looks at a process that gdb holds: while it is stopped, it is read without ptrace;
// while it runs, ErrTraced is returned.
func TestTraced(t *testing.T) {
	prog := startProgram(t, "become.c", "exit")
	in, quit := startGdb(t, prog.pid)
	p := openProcess(t, prog.pid, Options{})
	if info := p.Info(); info.State != 't' || info.Tracer != "gdb" {
		t.Errorf("%+v", info)
	}
	pause, err := p.Look(background, func(target callbacks.Target) error {
		mustReadProgress(t, target)
		return readFrames(target)
	})
	if err != nil || pause.Threads != 0 || len(pause.Running)+len(pause.Unsettled) > 0 {
		t.Errorf("a process that gdb has stopped: %+v, %v", pause, err)
	}
	wantError(t, p.Stop(background), ErrTraced, "gdb")

	io.WriteString(in, "continue\n")
	waitForProgress(t, p)
	_, err = p.Look(background, readFrames)
	wantError(t, err, ErrTraced, "gdb", "--no-stop "+strconv.Itoa(prog.pid))
	free := openProcess(t, prog.pid, Options{NoStop: true})
	if _, err := free.Look(background, func(target callbacks.Target) error {
		mustReadProgress(t, target)
		return nil
	}); err != nil {
		t.Errorf("without a stop: %v", err)
	}
	quit()
	waitForProgress(t, free)
	prog.in.Write([]byte("x"))
	if err := prog.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestContainer looks at a program in other mount and PID namespaces; its file exists only there.
func TestContainer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make namespaces")
	}
	exe := compile(t, "busy.c")
	dir := t.TempDir()
	script := fmt.Sprintf(`mount -t tmpfs none %[1]s && cp %[2]s %[1]s/inside && exec %[1]s/inside`, dir, exe)
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("unshare: %v: apt-get install util-linux", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := readLines(t, out)
	if got := nextLine(t, r); got != "READY" {
		t.Fatalf("the program said %q", got)
	}
	kids, err := os.ReadFile(taskPath(cmd.Process.Pid, cmd.Process.Pid, "children"))
	if err != nil {
		t.Fatal(err)
	}
	pid := parseNumber(strings.TrimSpace(string(kids)))
	p := openProcess(t, pid, Options{})
	_, outside := os.Stat(dir + "/inside")
	omptest.Equal(t, "the file is hidden from outside", outside != nil, true)
	mods, err := p.Modules()
	if err != nil || mods[0].File != procPath(pid, "root")+dir+"/inside" || mods[0].Path != dir+"/inside" {
		t.Errorf("%+v, %v", mods[0], err)
	}
	waitForProgress(t, p)
	var last callbacks.Target
	if _, err := p.Look(background,
		func(target callbacks.Target) error { last = target; return readFrames(target) }); err != nil {
		t.Error(err)
	}
	want, _ := last.ThreadIDs(callbacks.ThreadIDPthread)
	got, err := p.ThreadIDs(callbacks.ThreadIDPthread) // by numbers of the inner namespace
	if err != nil || !slices.Equal(got, want) || len(got) != 6 {
		t.Errorf("threads %v, %v, want %v", got, err, want)
	}
	if inside := insideContainers(1); !slices.Contains(inside, strconv.Itoa(pid)) {
		t.Errorf("process 1 of a container is one of %v, want %d", inside, pid)
	}
	io.WriteString(in, "x\n")
	if got := nextLine(t, r); got != "OK" {
		t.Errorf("the program said %q", got)
	}
}

// TestDeletedExecutable finds the symbols of a program after its file was deleted.
func TestDeletedExecutable(t *testing.T) {
	exe := compile(t, "busy.c")
	prog := run(t, nil, exe)
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	p := openProcess(t, prog.pid, Options{})
	if got := p.Info().Executable; got != exe {
		t.Errorf("executable %q, want %q", got, exe)
	}
	waitForProgress(t, p)
	prog.finish()
}

func TestParseMapping(t *testing.T) {
	for text, want := range map[string]mapping{
		"7f1c-7f2d r-xp 00001000 08:01 4711                       /lib/a b\\012c.so (deleted)": {
			Mapping: callbacks.Mapping{Low: callbacks.Addr(0x7f1c), High: callbacks.Addr(0x7f2d),
				Perm: callbacks.PermRead | callbacks.PermExec,
				File: "/lib/a b\nc.so (deleted)", FileOffset: 0x1000},
			name: "/lib/a b\nc.so (deleted)", dev: "08:01", inode: 4711},
		"1000-2000 rw-s 00000000 00:05 0 ": {
			Mapping: callbacks.Mapping{Low: callbacks.Addr(0x1000), High: callbacks.Addr(0x2000),
				Perm: callbacks.PermRead | callbacks.PermWrite},
			dev: "00:05", shared: true},
		"1000-2000 ---p 00000000 00:00 0                          [anon: x]": {
			Mapping: callbacks.Mapping{Low: callbacks.Addr(0x1000), High: callbacks.Addr(0x2000)}, name: "[anon: x]",
			dev: "00:00"},
	} {
		if got, err := parseMapping(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "1000", "1000-2000 r-xp", "2000-1000 r-xp 0 0:0 0", "1000-2000 r 0 0:0 0",
		"x-y r-xp 0 0:0 0"} {
		if got, err := parseMapping(bad); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

// classifyLLVM recognizes the runtime of the test's programs.
func classifyLLVM(defines, _ func(string) bool) (string, bool) {
	return "LLVM", defines("omp_get_thread_num") && defines("__kmpc_fork_call")
}

func TestProcesses(t *testing.T) {
	prog := startMany(t, 5)
	busy := startProgram(t, "busy.c") // has no runtime, but a symbol of its own
	for _, c := range []struct {
		classify Classify
		pid      int
		path     string
		threads  int
	}{
		{classifyLLVM, prog.PID, omptest.RuntimeOf(t, 16).Lib, 5},
		{func(defines, _ func(string) bool) (string, bool) { return "busy", defines("progress") }, busy.pid,
			busy.cmd.Path, 6},
	} {
		list, _, err := Processes(background, c.classify, 0)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(k Candidate) bool { return k.PID == c.pid })
		if i < 0 {
			t.Fatalf("%d is not in %+v", c.pid, list)
		}
		k := list[i]
		if len(k.Runtimes) != 1 || filepath.Base(k.Runtimes[0].Path) != filepath.Base(c.path) ||
			k.Threads < c.threads || k.User == "" || k.Started.IsZero() {
			t.Errorf("%+v", k)
		}
		for _, other := range list {
			if other.PID == os.Getpid() {
				t.Errorf("this process is in the list: %+v", other)
			}
		}
	}
}

// TestUsage checks that the CPU time of a busy program grows.
func TestUsage(t *testing.T) {
	prog := startProgram(t, "busy.c")
	p := openProcess(t, prog.pid, Options{})
	total := func() (sum int64) {
		list, err := p.Usage()
		if err != nil || len(list) != 6 || list[0].Thread != callbacks.LWP(uint64(prog.pid)) || list[0].Name != "busy" {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, u := range list {
			sum += int64(u.User + u.System)
		}
		return sum
	}
	for before := total(); total() == before; {
	}
	prog.finish()
}
