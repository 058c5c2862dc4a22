//go:build lean

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// self is by which name main.entry knows that the whole program is wanted.
const self = "/proc/self/exe"

// executedAs is the name by which the kernel was told to execute the file, as main.entry
// found it.
var executedAs *byte

// whole goes on as the whole program: that is in the same file (internal/joinelf).
var whole = func() error {
	if outputAtEntry < 0 { // Go opened another
		if err := unix.Close(unix.Stdout); err != nil {
			return err
		}
	}
	err := unix.Exec(self, os.Args, os.Environ())
	if errors.Is(err, unix.ENOENT) { // there is no /proc
		err = byDescriptor(unix.BytePtrToString(executedAs))
	}
	return fmt.Errorf("starting %s: %w", self, err)
}

// byDescriptor executes a file by a descriptor of it, which main.entry knows, too.
func byDescriptor(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", name, err)
	}
	argv, errArgs := syscall.SlicePtrFromStrings(os.Args)
	envv, errEnv := syscall.SlicePtrFromStrings(os.Environ())
	if err := errors.Join(errArgs, errEnv); err != nil {
		return err
	}
	var none [1]byte // the empty path
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&none)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}
