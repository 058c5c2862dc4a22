package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16 // the low half
)

// audit is the number of the architecture in struct seccomp_data (AUDIT_ARCH_…), and
// compat the first bit of the call numbers of another interface in the same architecture.
var audit = map[string]struct{ arch, compat uint32 }{
	"amd64": {0xc000003e, 0x40000000}, // x32's calls have the bit
	"arm64": {0xc00000b7, 0},
}

// refused are the system calls that a reader of files has no use for.
var refused = []uintptr{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF,
	unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
}

// restrictCalls takes system calls away.
func restrictCalls(p Policy) error {
	here, ok := audit[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("system calls: no filter for %s", runtime.GOARCH)
	}
	if err := install(filter(here.arch, here.compat, p)); err != nil {
		return fmt.Errorf("system calls: %w", err)
	}
	return nil
}

// filterFlags put the filter on all threads, and leave the processor its guesses: kernels
// before Linux 5.16 take them from who has a filter, which slows all code by some percent.
// That is for programs that run code which nobody vouches for; this one reads files.
const filterFlags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW

// install puts a filter, and no_new_privs, on all threads.
func install(prog []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	other, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, filterFlags, uintptr(unsafe.Pointer(&fprog)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case other != 0:
		return fmt.Errorf("seccomp: thread %d has a filter of its own", other)
	}
	return nil
}

// filter is the program that the kernel runs at each system call: what it refuses fails
// with EPERM, and calls of a foreign interface too.
func filter(arch, compat uint32, p Policy) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	refuse := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	prog := []unix.SockFilter{
		{Code: load, K: dataArch}, {Code: equal, Jt: 1, K: arch}, refuse,
		{Code: load, K: dataCall},
	}
	if compat != 0 {
		prog = append(prog, unix.SockFilter{Code: bits, Jf: 1, K: compat}, refuse)
	}
	for _, nr := range refused {
		prog = append(prog, unix.SockFilter{Code: equal, Jf: 1, K: uint32(nr)}, refuse)
	}
	if p.Network {
		return append(prog, allow)
	}
	return append(prog,
		unix.SockFilter{Code: equal, Jt: 1, K: unix.SYS_SOCKET}, allow,
		unix.SockFilter{Code: load, K: dataArg0},
		unix.SockFilter{Code: equal, Jt: 1, K: unix.AF_UNIX}, refuse, allow,
	)
}
