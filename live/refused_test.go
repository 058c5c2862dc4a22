package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// refuseMode is the variable with the number of the ptrace request that the kernel refuses to the
// tool with EPERM, as Yama and filters of containers do.
const refuseMode = "OMPD_LIVE_REFUSE"

// errNoFilter means that this kernel, or an outer filter, does not allow filters.
const errNoFilter = "NO FILTER"

// installFilter makes the kernel refuse one request of ptrace to this process.
func installFilter(request uint32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
		arg0  = 16 // its low half in struct seccomp_data, where the number of the call is the first word
	)
	prog := []unix.SockFilter{
		{Code: load}, {Code: equal, Jf: 3, K: unix.SYS_PTRACE},
		{Code: load, K: arg0}, {Code: equal, Jf: 1, K: request},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}, {Code: end, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&f)))
	if errno != 0 {
		return errno
	}
	return nil
}

// refusedTool runs the tool under such a filter, as a user, and returns its output.
func refusedTool(t *testing.T, request int, as *syscall.Credential, mode string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), childMode+"="+mode, refuseMode+"="+strconv.Itoa(request))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), errNoFilter) {
		t.Skipf("this kernel lets nobody have filters of system calls: %s", out)
	}
	if err != nil && mode != "guard" {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

// readFirst reads the first bytes of the program's file, without stopping a thread.
func readFirst(t callbacks.Target) error {
	low := t.(callbacks.MappingLister).Mappings()[0].Low
	var b [4]byte
	if err := t.ReadMemory(low, b[:]); err != nil || string(b[:]) != "\x7fELF" {
		return fmt.Errorf("%q at %v: %w", b, low, err)
	}
	return nil
}

// TestSeizeRefused looks at processes where the kernel refuses PTRACE_SEIZE. The error has the
// cause and the next command, the process continues, and it can be inspected without a stop.
func TestSeizeRefused(t *testing.T) {
	users := map[string]*syscall.Credential{"the user of the tests": nil}
	if os.Getuid() == 0 {
		users["nobody"] = nobody
	}
	exe := compile(t, "become.c")
	for name, as := range users {
		prog := run(t, as, exe, "exit")
		pid := strconv.Itoa(prog.pid)
		want := []string{"ERROR process " + pid + ": permission denied: the kernel refused", "seccomp filter"}
		if as == nil && os.Getuid() == 0 {
			want = append(want, "although this user has CAP_SYS_PTRACE", "--security-opt seccomp=unconfined")
		} else {
			want = append(want, ": sudo ompd-inspect "+pid)
		}
		got := refusedTool(t, unix.PTRACE_SEIZE, as, "open "+pid)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in %q", name, w, got)
			}
		}
		if st, err := readStatus(prog.pid); err != nil || st.tracer != 0 ||
			strings.ContainsRune("tTZ", rune(st.state)) {
			t.Errorf("%s: the process does not go on: %+v, %v", name, st, err)
		}
		if got := refusedTool(t, unix.PTRACE_SEIZE, as, "free "+pid); got != "" {
			t.Errorf("%s: without a stop: %s", name, got)
		}
	}
}

// TestStartRefused starts a program where the kernel refuses tracing. The error has the next
// command, and the program is removed.
func TestStartRefused(t *testing.T) {
	exe := compile(t, "become.c")
	for _, request := range []int{unix.PTRACE_TRACEME, unix.PTRACE_SEIZE} {
		got := refusedTool(t, request, nil, "guard", exe, "exit")
		next := "sudo ompd-inspect run -- " + exe
		if os.Getuid() == 0 {
			next = "--security-opt seccomp=unconfined"
		}
		for _, w := range []string{"ERROR start " + exe + ": permission denied: the kernel refused", next} {
			if !strings.Contains(got, w) {
				t.Errorf("request %#x: no %q in %q", request, w, got)
			}
		}
		dirs, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if readlink(dir+"/exe") == exe {
				t.Errorf("request %#x: %s is left", request, dir)
			}
		}
	}
	file := &os.PathError{Op: "exec", Path: exe, Err: unix.EACCES}
	if err := refusedStart(exe, file); !errors.Is(err, file) {
		t.Errorf("a file that may not be executed: %v", err)
	}
}
