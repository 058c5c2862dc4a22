package arch

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// System call numbers of futex(2).
const (
	x86Futex   = 202
	arm64Futex = 98
)

// Operations of futex(2) that block, and their optional flags (linux/futex.h).
const (
	futexWait       = 0
	futexLockPI     = 6
	futexWaitBitset = 9
	futexRequeuePI  = 11
	futexLockPI2    = 13

	// Operations that only wake other threads, or move them to another word.
	futexWake       = 1
	futexRequeue    = 3
	futexCmpRequeue = 4
	futexWakeOp     = 5
	futexWakeBitset = 10

	futexFlags = 128 | 256 // FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
)

// Results of an interrupted call that are in its registers until it is restarted or returns EINTR
// (linux/errno.h).
var interrupted = [...]int64{
	-4,   // EINTR
	-512, // ERESTARTSYS
	-513, // ERESTARTNOINTR
	-514, // ERESTARTNOHAND
	-516, // ERESTART_RESTARTBLOCK
}

// enosys is the kernel's placeholder for the result until the call is done, -38 (x86-64).
const enosys = ^uint64(38 - 1)

// InCall reports whether the thread is in the system call r.Syscall: it blocks there, or the stop that made its
// registers visible interrupted it there. It is false for a call that has returned a result.
func InCall(r *callbacks.Registers) bool {
	if r.Syscall < 0 {
		return false
	}
	result := int64(r.Values[0])
	for _, e := range interrupted {
		if result == e {
			return true
		}
	}
	return r.Values[0] == enosys
}

// futexNumbers has the number of futex(2) for each architecture.
var futexNumbers = map[callbacks.Arch]int64{callbacks.ArchX86_64: x86Futex, callbacks.ArchAArch64: arm64Futex}

// blocks reports whether a thread is in futex(2), or has just returned from it, with an operation that waits.
func blocks(r *callbacks.Registers) bool {
	if number, ok := futexNumbers[r.Arch]; !ok || r.Syscall != number {
		return false
	}
	switch r.SyscallArgs[1] &^ futexFlags & 0xffffffff {
	case futexWait, futexLockPI, futexWaitBitset, futexRequeuePI, futexLockPI2:
		return true
	}
	return false
}

// IsFutexWait reports whether the thread waits in futex(2), and returns the address of the word.
//
// On aarch64 the result of the interrupted call may have replaced the first argument. Then the word is unknown,
// and ok is false.
func IsFutexWait(r *callbacks.Registers) (word callbacks.Address, ok bool) {
	replaced := r.Arch == callbacks.ArchAArch64 && r.SyscallArgs[0] == r.Values[0]
	if !blocks(r) || !InCall(r) || replaced {
		return callbacks.Address{}, false
	}
	return callbacks.Addr(r.SyscallArgs[0]), true
}

// PendingFutexWait returns the word of a futex wait that a thread is about to start, or to restart after a signal, and
// the value that it expects there.
func PendingFutexWait(r *callbacks.Registers, mem callbacks.Memory) (word callbacks.Address, expected uint32, ok bool) {
	number, pending := int64(r.Values[x86RAX]), false
	switch r.Arch {
	case callbacks.ArchX86_64:
		pending = isAtSyscall(r, mem)
	case callbacks.ArchAArch64:
		number, pending = int64(int32(r.Values[arm64Number])), isARMCall(mem, r.PC())
	}
	in := *r
	SetSyscall(&in, number)
	if !pending || !blocks(&in) {
		return callbacks.Address{}, 0, false
	}
	return callbacks.Addr(in.SyscallArgs[0]), uint32(in.SyscallArgs[2]), true
}

// IsFutexWake reports whether the thread is in a call of futex(2) that wakes others without waiting, or has just
// returned from it.
func IsFutexWake(r *callbacks.Registers) bool {
	if SyscallName(r.Arch, r.Syscall) != "futex" {
		return false
	}
	switch r.SyscallArgs[1] &^ futexFlags & 0xffffffff {
	case futexWake, futexRequeue, futexCmpRequeue, futexWakeOp, futexWakeBitset:
		return true
	}
	return false
}

// SetPending completes the registers of a thread that has not left the system call of r, where only the call and its
// arguments are known: until the call is done, the kernel keeps a value of its own in the register of its result. On
// aarch64 the first argument is there.
func SetPending(r *callbacks.Registers) {
	if r.Arch == callbacks.ArchX86_64 && r.Syscall >= 0 {
		r.Set(x86RAX, enosys)
	}
}

// FutexCall returns the registers of a thread in the futex wait that it is about to call, or to call again. It
// is ok only if the thread will sleep there, that is, the word has the expected value. A thread is in this state
// if a stop interrupted its sleep and the next stop follows before it has run.
func FutexCall(r *callbacks.Registers, mem callbacks.Memory) (in callbacks.Registers, ok bool) {
	number, known := futexNumbers[r.Arch]
	if !known || r.Syscall >= 0 && r.Syscall != number { // it stays after the first stop
		return callbacks.Registers{}, false
	}
	next, after := int64(r.Values[0]), r.PC()+2
	atCall := next == number && isAtSyscall(r, mem)
	if r.Arch == callbacks.ArchAArch64 {
		after, atCall = arm64Call(r, mem, number)
	}
	if !atCall {
		return callbacks.Registers{}, false
	}
	in = *r
	SetSyscall(&in, number)
	in.SetPC(after)
	in.Set(0, enosys)
	return in, isUnchanged(&in, mem)
}

// isUnchanged reports whether a thread is in a futex wait and the word has the value that the wait expects.
func isUnchanged(r *callbacks.Registers, mem callbacks.Memory) bool {
	word, waits := IsFutexWait(r)
	var value [4]byte
	return waits && mem.ReadMemory(word, value[:]) == nil && callbacks.Word(value[:]) == r.SyscallArgs[2]&0xffffffff
}

// arm64Call returns the address after the instruction by which a thread calls a system call with that number. The
// thread is before it, or inside of the call in an emulator's core: there the first argument is still in its register.
// If the code cannot be read, the registers alone show the call: its number is in a register of its own.
func arm64Call(r *callbacks.Registers, mem callbacks.Memory, number int64) (after uint64, ok bool) {
	if int64(r.Values[arm64Number]) != number {
		return 0, false
	}
	for _, at := range []uint64{r.PC(), r.PC() - armInstruction} {
		var svc [armInstruction]byte
		err := mem.ReadMemory(callbacks.Addr(at), svc[:])
		if err != nil || callbacks.Word(svc[:]) == armSVC {
			return at + armInstruction, true
		}
	}
	return 0, false
}

// IsNewThread reports whether clone has just created the thread: it is after the call, with the result of the
// new thread, and has not executed anything yet.
func IsNewThread(r *callbacks.Registers) bool {
	name := SyscallName(r.Arch, r.Syscall)
	return (name == "clone" || name == "clone3") && r.Values[0] == 0
}

// futexPrivate is the flag of a futex that is not shared between processes.
const futexPrivate = 128

// EndlessWait reports whether a futex wait has no time limit and can be ended only from within the process. That
// is so if the futex is private, or if private is set because its memory is not shared.
func EndlessWait(r *callbacks.Registers, private bool) bool {
	_, waits := IsFutexWait(r)
	return waits && (private || r.SyscallArgs[1]&futexPrivate != 0) && r.SyscallArgs[3] == 0
}

// Sleeps reports whether the thread is in a system call that only lets time pass, or has just returned from one.
func Sleeps(r *callbacks.Registers) bool {
	name := SyscallName(r.Arch, r.Syscall)
	return name == "nanosleep" || name == "clock_nanosleep"
}

// HasLimit reports whether the thread is in a futex wait with a time limit, or has just returned from one.
func HasLimit(r *callbacks.Registers) bool {
	return blocks(r) && r.SyscallArgs[3] != 0
}

// Restarts reports whether the thread is in restart_syscall, which continues a call that a stop interrupted. The
// registers do not show which call.
func Restarts(r *callbacks.Registers) bool {
	return SyscallName(r.Arch, r.Syscall) == "restart_syscall" && InCall(r)
}

// CopiesMemory reports whether the thread is in a system call that copies memory from or to another process, or has
// just returned from one.
func CopiesMemory(r *callbacks.Registers) bool {
	name := SyscallName(r.Arch, r.Syscall)
	return name == "process_vm_readv" || name == "process_vm_writev"
}

// EndsOutside reports whether the thread is asleep in a system call that another process may end: by input, a signal,
// its own end, or a word shared between processes.
func EndsOutside(r *callbacks.Registers) bool {
	if !InCall(r) {
		return false
	}
	switch name := SyscallName(r.Arch, r.Syscall); name {
	case "futex":
		return r.SyscallArgs[1]&futexPrivate == 0
	case "nanosleep", "clock_nanosleep":
		return false
	default:
		return !interruptedAtWork[name]
	}
}

// interruptedAtWork are system calls that a stop interrupts although the thread does not sleep: the kernel works for
// it, or waits for a lock of its own, or the thread ends.
var interruptedAtWork = map[string]bool{
	"sched_yield": true, "rt_sigreturn": true, "clone": true, "clone3": true, "fork": true, "execve": true,
	"execveat": true, "exit": true, "exit_group": true, "brk": true, "mmap": true, "munmap": true, "mremap": true,
	"mprotect": true, "madvise": true, "mlock": true, "mlock2": true, "mlockall": true, "membarrier": true,
	"process_vm_readv": true, "process_vm_writev": true,
}

// SyscallName returns the name of system call n if threads block or exit in it or interruptedAtWork has it, otherwise
// "syscall n". It returns "" for a negative n.
func SyscallName(a callbacks.Arch, n int64) string {
	if n < 0 {
		return ""
	}
	names := x86Syscalls
	if a == callbacks.ArchAArch64 {
		names = arm64Syscalls
	}
	if s, ok := names[n]; ok {
		return s
	}
	return fmt.Sprintf("syscall %d", n)
}

// Linux arch/x86/entry/syscalls/syscall_64.tbl.
var x86Syscalls = map[int64]string{
	0: "read", 1: "write", 2: "open", 7: "poll", 9: "mmap", 10: "mprotect", 11: "munmap", 12: "brk",
	15: "rt_sigreturn", 16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 22: "pipe",
	23: "select", 24: "sched_yield", 25: "mremap", 26: "msync", 28: "madvise", 34: "pause", 35: "nanosleep",
	40: "sendfile", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg",
	56: "clone", 57: "fork", 58: "vfork", 59: "execve", 60: "exit", 61: "wait4", 62: "kill", 65: "semop",
	69: "msgsnd", 70: "msgrcv", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 85: "creat",
	128: "rt_sigtimedwait", 130: "rt_sigsuspend", 149: "mlock", 151: "mlockall", 162: "sync", 200: "tkill",
	202: "futex", 208: "io_getevents", 219: "restart_syscall", 220: "semtimedop", 230: "clock_nanosleep",
	231: "exit_group", 232: "epoll_wait", 234: "tgkill", 242: "mq_timedsend", 243: "mq_timedreceive",
	247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll", 275: "splice", 276: "tee",
	277: "sync_file_range", 278: "vmsplice", 281: "epoll_pwait", 288: "accept4", 295: "preadv", 296: "pwritev",
	299: "recvmmsg", 306: "syncfs", 307: "sendmmsg", 310: "process_vm_readv",
	311: "process_vm_writev", 318: "getrandom", 322: "execveat", 324: "membarrier",
	325: "mlock2", 326: "copy_file_range", 327: "preadv2", 328: "pwritev2", 333: "io_pgetevents",
	426: "io_uring_enter", 435: "clone3", 437: "openat2", 441: "epoll_pwait2", 449: "futex_waitv",
	454: "futex_wake", 455: "futex_wait",
}

// Linux include/uapi/asm-generic/unistd.h.
var arm64Syscalls = map[int64]string{
	4: "io_getevents", 22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 56: "openat", 63: "read",
	64: "write", 65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64", 69: "preadv", 70: "pwritev",
	71: "sendfile", 72: "pselect6", 73: "ppoll", 75: "vmsplice", 76: "splice", 77: "tee", 81: "sync",
	82: "fsync", 83: "fdatasync", 84: "sync_file_range", 93: "exit", 94: "exit_group", 95: "waitid",
	98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 124: "sched_yield", 128: "restart_syscall",
	129: "kill", 130: "tkill", 131: "tgkill", 133: "rt_sigsuspend", 137: "rt_sigtimedwait",
	139: "rt_sigreturn", 182: "mq_timedsend", 183: "mq_timedreceive", 188: "msgrcv", 189: "msgsnd",
	192: "semtimedop", 193: "semop", 202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom",
	211: "sendmsg", 212: "recvmsg", 214: "brk", 215: "munmap", 216: "mremap", 220: "clone", 221: "execve",
	222: "mmap", 226: "mprotect", 227: "msync", 228: "mlock", 230: "mlockall", 233: "madvise",
	242: "accept4", 243: "recvmmsg", 260: "wait4", 267: "syncfs", 269: "sendmmsg", 270: "process_vm_readv",
	271: "process_vm_writev", 278: "getrandom",
	281: "execveat", 283: "membarrier", 284: "mlock2", 285: "copy_file_range", 286: "preadv2",
	287: "pwritev2", 292: "io_pgetevents", 426: "io_uring_enter", 435: "clone3", 437: "openat2",
	441: "epoll_pwait2", 449: "futex_waitv", 454: "futex_wake", 455: "futex_wait",
}
