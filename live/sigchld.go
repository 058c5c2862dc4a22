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

// Quiet keeps the kernel from sending this process a SIGCHLD for each thread that a look
// stops: nobody needs it, and Go's handler of it takes the processor from threads that are
// on their way to stop. The signal of a child that ends comes as ever. It is not for a
// process that has started a [Program], which needs these signals; Start undoes it.
func Quiet() { setStops(false) }

// setStops changes whether the stop of a child, or of a thread that is traced, sends a SIGCHLD.
func setStops(send bool) {
	a, err := onChild(nil)
	if err != nil {
		return
	}
	if a.flags |= noStops; send {
		a.flags &^= noStops
	}
	_, _ = onChild(&a)
}

// onChild returns what is done on SIGCHLD, and changes it unless to is nil.
func onChild(to *sigaction) (was sigaction, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(to)),
		uintptr(unsafe.Pointer(&was)), unsafe.Sizeof(was.mask), 0, 0)
	if e != 0 {
		return was, e
	}
	return was, nil
}
