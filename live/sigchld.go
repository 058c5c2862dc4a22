package live

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is struct sigaction of the kernel, on x86-64 and aarch64.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// noStops is SA_NOCLDSTOP.
const noStops = 1

// Quiet stops the kernel from sending this process a SIGCHLD for each thread that a look stops.
// They are not needed, and Go's handler takes the processor from threads that are about to stop.
// Signals for children that end are not affected. Do not use it in a process that has started a
// [Program], which needs these signals; Start undoes it.
func Quiet() { setStops(false) }

// setStops sets whether the stop of a child, or of a traced thread, sends a SIGCHLD.
func setStops(send bool) {
	a, err := setChildAction(nil)
	if err != nil {
		return
	}
	if a.flags |= noStops; send {
		a.flags &^= noStops
	}
	_, _ = setChildAction(&a)
}

// setChildAction returns the action on SIGCHLD, and changes it unless to is nil.
func setChildAction(to *sigaction) (was sigaction, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(to)),
		uintptr(unsafe.Pointer(&was)), unsafe.Sizeof(was.mask), 0, 0)
	if e != 0 {
		return was, e
	}
	return was, nil
}
