package sandbox

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16 // the low half of the first of them; each has eight bytes
)

// audit is the number of the architecture in struct seccomp_data (AUDIT_ARCH_…), and
// compat the first bit of the call numbers of another interface in the same architecture.
var audit = map[string]struct{ arch, compat uint32 }{
	"amd64": {0xc000003e, 0x40000000}, // x32's calls have the bit
	"arm64": {0xc00000b7, 0},
}

// refused are the system calls that a reader of files does not need.
var refused = []uintptr{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
}

// changing are the system calls that change files or directories without a writable descriptor, on all
// architectures. openat2 has its flags in memory, where filters cannot see them.
var changing = []uintptr{
	unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_TRUNCATE, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR,
	unix.SYS_FREMOVEXATTR, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
}

// writeFlags are the flags of open for writing, creating or truncating a file.
const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// restrictCalls forbids system calls.
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

// filterFlags install the filter on all threads, and keep speculative execution enabled: kernels
// before Linux 5.16 disable it for filtered processes, which slows all code by some percent. That
// protects against untrusted code; this program only reads untrusted files.
const filterFlags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW

// install installs a filter, and no_new_privs, on all threads.
func install(prog []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	other, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, filterFlags,
		uintptr(unsafe.Pointer(&fprog)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case other != 0:
		return fmt.Errorf("seccomp: thread %d has a filter of its own", other)
	}
	return nil
}

// Instructions of a filter.
const (
	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	bits    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	end     = unix.BPF_RET | unix.BPF_K
)

// Final instructions of a filter.
var (
	refuse = unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	permit = unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
)

// rule is the code of the filter for one system call.
type rule struct {
	call uint32
	code []unix.SockFilter
}

// filter returns the program that the kernel runs at each system call: refused calls, and calls of a foreign
// interface, fail with EPERM.
func filter(arch, compat uint32, p Policy) []unix.SockFilter {
	prog := []unix.SockFilter{
		{Code: load, K: dataArch}, {Code: equal, Jt: 1, K: arch}, refuse,
		{Code: load, K: dataCall},
	}
	if compat != 0 {
		prog = append(prog, unix.SockFilter{Code: bits, Jf: 1, K: compat}, refuse)
	}
	list := rules(p)
	slices.SortFunc(list, func(a, b rule) int { return cmp.Compare(a.call, b.call) })
	return append(prog, search(list)...)
}

// rules returns the rules of a policy. Without writable directories, files cannot be opened for writing, nor
// changed by name.
func rules(p Policy) (list []rule) {
	never := func(calls []uintptr) {
		for _, nr := range calls {
			list = append(list, rule{uint32(nr), []unix.SockFilter{refuse}})
		}
	}
	never(refused)
	if !p.Network {
		list = append(list, rule{unix.SYS_SOCKET, []unix.SockFilter{
			{Code: load, K: dataArgs}, {Code: equal, Jt: 1, K: unix.AF_UNIX}, refuse, permit,
		}})
	}
	if len(p.Write) > 0 {
		return list
	}
	never(changing)
	never(changingHere)
	for nr, flags := range opening {
		list = append(list, rule{uint32(nr), []unix.SockFilter{
			{Code: load, K: dataArgs + 8*flags}, {Code: bits, Jf: 1, K: writeFlags}, refuse, permit,
		}})
	}
	return list
}

// leaf is the number of rules that are compared sequentially.
const leaf = 4

// search returns code that finds the rule of a call among sorted rules, by bisection: at installation, the
// kernel tries a filter with every call number, so each step counts. A call without a rule is permitted.
func search(list []rule) []unix.SockFilter {
	if len(list) > leaf {
		half := len(list) / 2
		low, high := search(list[:half]), search(list[half:])
		// The jump is over low, and has only eight bits for the distance.
		prog := []unix.SockFilter{{Code: atLeast, Jt: uint8(len(low)), K: list[half].call}}
		return append(append(prog, low...), high...)
	}
	var prog []unix.SockFilter
	for _, r := range list {
		prog = append(prog, unix.SockFilter{Code: equal, Jf: uint8(len(r.code)), K: r.call})
		prog = append(prog, r.code...)
	}
	return append(prog, permit)
}
