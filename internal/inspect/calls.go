package inspect

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// outsideCalls are the system calls that end when another process, or a device, does something;
// those whose first argument is a file descriptor have true.
var outsideCalls = map[string]bool{
	"read": true, "readv": true, "write": true, "writev": true, "recvfrom": true, "recvmsg": true, "recvmmsg": true,
	"sendto": true, "sendmsg": true, "sendmmsg": true, "accept": true, "accept4": true, "connect": true, "flock": true,
	"fcntl": true, "epoll_wait": true, "epoll_pwait": true, "epoll_pwait2": true,
	"poll": false, "ppoll": false, "select": false, "pselect6": false, "wait4": false, "waitid": false,
	"semop": false, "semtimedop": false, "msgrcv": false, "msgsnd": false,
	"mq_timedreceive": false, "mq_timedsend": false,
}

// inCall is the wait of a thread that sleeps in a system call for what comes from outside of its
// process: the kernel was interrupted in it, and would begin it again.
func (nw *nativeWaits) inCall(n *native, regs *callbacks.Registers) (wait, bool) {
	name := arch.SyscallName(regs.Arch, regs.Syscall)
	if arch.Restarts(regs) && n.InFunction("poll") { // the arguments are those of the call before
		name = "poll"
	}
	descriptor, ok := outsideCalls[name]
	if !ok || !arch.EndsOutside(regs) {
		return wait{}, false
	}
	const words = "the kernel was interrupted in system call %d, which it would begin again"
	w := wait{Wait: picture.Wait{Kind: picture.WaitCall, Evidence: fmt.Sprintf(words, regs.Syscall)}}
	w.Name = name
	switch first := int32(regs.SyscallArgs[0]); {
	case regs.Arch != callbacks.ArchX86_64: // the result of the call has replaced the argument
	case descriptor:
		w.Name = fmt.Sprintf("%s of descriptor %d", name, first)
	case name == "wait4" && first > 0:
		w.Name = fmt.Sprintf("%s for process %d", name, first)
	}
	return w, true
}
