package live

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endsProcess reports whether a thread that is about to end takes its process with it: it has called
// exit_group(2), or a signal ends it.
func endsProcess(tid int) bool {
	var status uint64
	err := ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&status)))
	if err == nil && unix.WaitStatus(status).Signaled() {
		return true
	}
	b, err := os.ReadFile(procPath(tid, "syscall"))
	number, _, _ := strings.Cut(string(b), " ")
	n, bad := strconv.Atoi(number)
	return err == nil && bad == nil && n == unix.SYS_EXIT_GROUP
}

// reportLeave reports that a process is about to end, and answers questions until it may.
func (g *guard) reportLeave(t *tracer) {
	proceed := make(chan struct{})
	g.sendUntil(Event{PID: t.pid, Leaves: true, proceed: proceed}, proceed)
}
