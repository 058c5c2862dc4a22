package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errors that explain why a process cannot be inspected. Test with errors.Is; the message of the
// *Error around them has the cause and the next command.
var (
	// ErrNoProcess means that no process has that number.
	ErrNoProcess = errors.New("no such process")
	// ErrNoProc means that /proc is missing, so no process can be inspected.
	ErrNoProc = errors.New("/proc is not mounted here: no process can be seen; as root, mount -t proc proc /proc")
	// ErrZombie means that the process has ended and its parent has not yet waited for it.
	ErrZombie = errors.New("it has ended")
	// ErrKernelThread means that it is a thread of the kernel.
	ErrKernelThread = errors.New("it is a thread of the kernel")
	// ErrArch means that the program has an unsupported word size or machine.
	ErrArch = errors.New("program of an unsupported architecture")
	// ErrPermission means that the kernel does not allow this user to inspect the process.
	ErrPermission = errors.New("permission denied")
	// ErrTraced means that another debugger holds the process.
	ErrTraced = errors.New("another debugger holds it")
	// ErrHolder means that the process holds others, and is not held itself.
	ErrHolder = errors.New("it holds a program and is not held")
	// ErrExited means that the process ended during the look.
	ErrExited = errors.New("it ended during the look")
	// ErrExec means that the process executed another program during the look.
	ErrExec = errors.New("it became another program during the look")
	// ErrStuck means that threads did not stop in time.
	ErrStuck = errors.New("it did not stop in time")
	// ErrStranded means that threads wait in code that is no longer mapped, so that a stop would
	// kill the process.
	ErrStranded = errors.New("a stop would end it")
	// ErrRunning means that a thread's registers are unknown because it is running.
	ErrRunning = errors.New("the thread is running")
	// ErrTooBig means that one stop would have to read too much memory.
	ErrTooBig = errors.New("too much memory for one stop")
)

// Error explains why a process cannot be inspected.
type Error struct {
	PID   int
	Err   error  // one of the errors of this package
	Cause string // may be empty
	Fix   string // the next command; may be empty

	holder holder // of ErrTraced
}

// Error returns the process, the reason, the cause and the fix.
func (e *Error) Error() string {
	s := fmt.Sprintf("process %d: %v", e.PID, e.Err)
	for _, more := range []string{e.Cause, e.Fix} {
		if more != "" {
			s += ": " + more
		}
	}
	return s
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// capSysPtrace is the bit of CAP_SYS_PTRACE.
const capSysPtrace = 1 << unix.CAP_SYS_PTRACE

// isDenied reports whether the kernel refused for lack of permission.
func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission)
}

// noProcessError returns the error for a missing pid. It names processes that have this number inside a
// container.
func noProcessError(pid int) error {
	if err := checkProc(); err != nil {
		return &Error{PID: pid, Err: err}
	}
	e := &Error{PID: pid, Err: ErrNoProcess, Fix: "ompd-inspect ps lists those that can be inspected"}
	if inside := insideContainers(pid); len(inside) > 0 {
		e.Cause = "it is the number that a process has in its container"
		e.Fix = "from here, type: ompd-inspect " + strings.Join(inside, " or ")
	}
	return e
}

// checkProc returns an error if /proc is missing.
func checkProc() error {
	if _, err := os.Stat("/proc/self/stat"); errors.Is(err, fs.ErrNotExist) {
		return ErrNoProc
	}
	return nil
}

// insideContainers returns the processes that have number pid in their own namespace.
func insideContainers(pid int) []string {
	var list []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		here, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if st, err := readStatus(here); err == nil && len(st.nsPIDs) > 1 && st.nsPIDs[len(st.nsPIDs)-1] == pid {
			list = append(list, strconv.Itoa(here))
		}
	}
	return list
}

// refusal holds the facts known when the kernel refused access to another process.
type refusal struct {
	typed     string // after the tool's name
	me, it    *status
	scope     int  // as of ptraceScope
	protected bool // as of protected
}

// explainDenied explains why the kernel refused this process access to pid.
func explainDenied(pid int) error { return explainDeniedFor(pid, strconv.Itoa(pid)) }

// explainDeniedFor is denied for the arguments typed after the tool's name.
func explainDeniedFor(pid int, typed string) error {
	me, err := readStatus(os.Getpid())
	it, err2 := readStatus(pid)
	if err != nil || err2 != nil {
		return &Error{PID: pid, Err: ErrPermission}
	}
	cause, fix := refusal{typed, me, it, ptraceScope(), isProtected(pid, it)}.explain()
	return &Error{PID: pid, Err: ErrPermission, Cause: cause, Fix: fix}
}

// refusedStart explains why the kernel refused to trace a program that this process started. Errors
// with another reason are returned unchanged: EACCES is the file's.
func refusedStart(path string, err error) error {
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	me, statusErr := readStatus(os.Getpid())
	if statusErr != nil {
		return fmt.Errorf("start %s: %w", path, ErrPermission)
	}
	r := refusal{typed: "run -- " + path, me: me, it: me, scope: ptraceScope()}
	if r.scope == 1 { // which lets processes inspect what they start
		r.scope = 0
	}
	cause, fix := r.explain()
	return fmt.Errorf("start %s: %w: %s: %s", path, ErrPermission, cause, fix)
}

// explain returns the cause and the next command. It checks reasons in the order in which a user
// meets them.
func (r refusal) explain() (cause, fix string) {
	user := r.me.uids[1]
	sudo := "sudo ompd-inspect " + r.typed
	switch {
	case r.scope >= 3:
		return "kernel.yama.ptrace_scope is 3, which forbids everybody to inspect processes until the next boot",
			"let the program write a core when it aborts, and inspect that"
	case r.me.capabilities&capSysPtrace != 0:
		return "the kernel refused although this user has CAP_SYS_PTRACE, as a seccomp filter, SELinux, AppArmor or " +
				"a user namespace makes it do",
			"run it on the host, or start the container by docker run --cap-add=SYS_PTRACE --security-opt " +
				"seccomp=unconfined"
	case user == 0:
		return "root is without CAP_SYS_PTRACE here, as in containers that are not given it",
			"start the container by docker run --cap-add=SYS_PTRACE, in Kubernetes with " +
				"securityContext.capabilities.add: [SYS_PTRACE], or run it on the host"
	case slices.Max(r.it.uids[:3]) != user || slices.Min(r.it.uids[:3]) != user:
		return fmt.Sprintf("it belongs to %s, you are %s", userName(r.it.uids[1]), userName(user)), sudo
	case r.scope == 2:
		return "kernel.yama.ptrace_scope is 2, which lets only root inspect processes", sudo
	case r.protected:
		return "it protects itself (set-user-ID, file capabilities or prctl PR_SET_DUMPABLE)", sudo
	case r.scope == 1:
		return "kernel.yama.ptrace_scope is 1, which lets a process be inspected only by its ancestors",
			sudo + ", or until the next boot: sudo sysctl kernel.yama.ptrace_scope=0"
	}
	return "the kernel refused, as a seccomp filter, SELinux, AppArmor or a user namespace makes it do", sudo
}

// ptraceScope returns the setting of the Yama module; 0 if the module is missing.
func ptraceScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// isProtected reports whether the process is not dumpable: root then owns its files in /proc.
func isProtected(pid int, st *status) bool {
	var s syscall.Stat_t
	return syscall.Stat(procPath(pid, "maps"), &s) == nil && int(s.Uid) != st.uids[1]
}

// userName returns the name of a user, or its number.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(uid)
}
