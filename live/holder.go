package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guardThread is the name of the thread with which a Program traces its processes. Other processes
// recognize the guard by it, because the kernel identifies a tracer by its thread.
// A guard that accepts ReleaseSignal has the second name.
const (
	guardThread      = "ompd-guard"
	releasableThread = "ompd-guard-run"
)

// nameGuard gives the current thread the name of a guard.
func nameGuard(releasable bool) {
	text := guardThread
	if releasable {
		text = releasableThread
	}
	if name, err := unix.BytePtrFromString(text); err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
}

// isGuard reports whether a thread belongs to a guard.
func isGuard(thread int) bool {
	st, err := readStatus(thread)
	return err == nil && isGuardName(st.name)
}

func isGuardName(name string) bool { return name == guardThread || name == releasableThread }

// toolName is the name of the executable that cmd/ompd-inspect is built as.
const toolName = "ompd-inspect"

// holderKind is the kind of process that traces another one.
type holderKind uint8

const (
	byDebugger holderKind = iota // of another project, or unknown
	byLook                       // a look of this project, in any process, which ends soon
	byGuard                      // a Program of this project, for as long as the process runs
	byUnseen                     // of another container, or one that has just detached
)

// holder is the process that traces another one.
type holder struct {
	kind       holderKind
	pid        int    // 0 if it cannot be seen
	name       string // for users
	releasable bool   // it detaches when it gets ReleaseSignal
}

// isOurs reports whether a process of this project holds the process.
func (h holder) isOurs() bool { return h.kind == byLook || h.kind == byGuard }

// isBrief reports whether the holder is likely to detach soon.
func (h holder) isBrief() bool { return h.kind == byLook || h.kind == byUnseen }

// String returns the holder's name for users.
func (h holder) String() string {
	if h.pid == 0 {
		return h.name
	}
	return fmt.Sprintf("%s, process %d", h.name, h.pid)
}

// holderOf finds the process of a tracing thread.
func holderOf(thread int) holder {
	st, err := readStatus(thread)
	if err != nil {
		return holder{kind: byUnseen, name: "a process outside of this container"}
	}
	h := holder{pid: st.tgid, name: st.name}
	if st.tgid != thread {
		if main, err := readStatus(st.tgid); err == nil {
			h.name = main.name
		}
	}
	switch {
	case isGuardName(st.name):
		h.kind, h.releasable = byGuard, st.name == releasableThread
	case sameProgram(st.tgid, h.name):
		h.kind = byLook
	default:
		return h
	}
	h.name = strings.TrimSpace(toolName + " " + startingVerb(readCmdline(h.pid)))
	return h
}

// sameProgram reports whether a process runs this program. name is the process's name in the kernel. The
// program is the same if the file is, or the file's name, because a newer build is another file.
func sameProgram(pid int, name string) bool {
	const self = "/proc/self/exe"
	exe := procPath(pid, "exe")
	mine, err1 := os.Stat(self)
	its, err2 := os.Stat(exe)
	if err1 == nil && err2 == nil && os.SameFile(mine, its) {
		return true
	}
	names := []string{name}
	if path, err := os.Readlink(exe); err == nil {
		names = append(names, filepath.Base(strings.TrimSuffix(path, deletedSuffix)))
	} else if argv := readCmdline(pid); len(argv) > 0 { // the kernel hides the file from other users
		names = append(names, filepath.Base(argv[0]))
	}
	return slices.Contains(names, toolName)
}

// startingVerb returns the verb of a command line of this project that starts a program, or "".
func startingVerb(argv []string) string {
	if len(argv) > 0 {
		argv = argv[1:]
	}
	i := slices.IndexFunc(argv, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i >= 0 && slices.Contains([]string{"run", "record", "dap"}, argv[i]) {
		return argv[i]
	}
	return ""
}

// isInterruptible reports whether the holder is a debugger in which the user can interrupt the
// program. Interrupting strace or similar tools ends the program.
func (h holder) isInterruptible() bool {
	return strings.Contains(h.name, "gdb") || strings.Contains(h.name, "lldb") || h.name == "dlv"
}

// tracedError returns the error for a process that h traces and that must be stopped.
func tracedError(pid int, h holder) error {
	e := &Error{PID: pid, Err: ErrTraced, Cause: h.String(), holder: h}
	look := fmt.Sprintf("ompd-inspect --no-stop %d", pid)
	switch {
	case h.releasable:
		e.Fix = fmt.Sprintf("look without a stop: %s, or make it detach: ompd-inspect release %d", look, pid)
	case h.isOurs():
		e.Fix = "look without a stop: " + look
	case h.isInterruptible():
		e.Fix = "interrupt the program there and repeat the command, or leave it running and type: " + look
	default:
		e.Fix = "leave it running and type: " + look
	}
	return e
}

// waitForHolder finds the process that traces this one, unless it is part of this look. It waits for looks of
// other processes, each of which takes milliseconds. It reports whether a look must work without a stop: because all
// threads are stopped already, or because this project holds the process. It returns an error if a debugger of
// another project lets the process run.
func (p *Process) waitForHolder() (unstopped bool, h holder, err error) {
	if p.opts.NoStop || p.guard.holds() {
		return p.opts.NoStop, h, nil
	}
	begin, last := time.Now(), 0
	for ; ; time.Sleep(time.Millisecond) {
		thread := otherTracer(procPath(p.mem.owner(), "status"))
		if thread == 0 {
			return false, holder{}, nil
		}
		if thread != last { // looks of several processes take turns
			begin, last = time.Now(), thread
		}
		h = holderOf(thread)
		switch {
		case h.isBrief() && time.Since(begin) < handOver:
			continue
		case h.isOurs():
			return true, h, nil
		}
		stands, err := p.isStopped()
		if err == nil && !stands {
			err = tracedError(p.pid, h)
		}
		return stands, holder{}, err
	}
}

// isStopped reports whether a debugger or job control has stopped all threads.
func (p *Process) isStopped() (bool, error) {
	tids, err := taskIDs(p.pid)
	if err != nil {
		return false, p.exitReason(p.explainRefusal(err))
	}
	for _, tid := range tids {
		fields, err := statFields(taskPath(p.pid, tid, "stat"))
		if err == nil && fields[0] != "t" && fields[0] != "T" && fields[0] != "Z" && fields[0] != "X" {
			return false, nil
		}
	}
	return true, nil
}
