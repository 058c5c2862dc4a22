// Package descriptors ends a process that may open too few files, with an error that names the limit. Some packages
// open files while they are initialized, and then Go's runtime aborts if it gets no file for its poller. So this
// package imports none that opens files: by Go's order it is initialized before those that use os.
package descriptors

import (
	"strconv"
	"syscall"
)

// Files that a look may have open at once. With less, files of the program would seem to be missing.
const (
	needed = 18
	// opened is the number of these that may be open already: the standard files, those of Go's runtime (two for its
	// poller, and one or two limits of control groups, which not every machine has), and one of the parent.
	opened = 8
)

// exitStatus is the exit status of a target that could not be read.
const exitStatus = 1

func init() {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return
	}
	// A limit below needed is refused even if enough is free: otherwise the least limit would depend on the machine.
	if free := countFree(l.Cur, needed-opened, isOpen); l.Cur < needed || free < needed-opened {
		_, _ = syscall.Write(syscall.Stderr, []byte("ompd-inspect: "+explain(l, free)+"\n")) // the exit status remains
		syscall.Exit(exitStatus)
	}
}

// isOpen reports whether a file descriptor is open.
func isOpen(fd uint64) bool {
	_, _, err := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	return err == 0
}

// countFree returns the number of descriptors below limit that are not open, at most as many as are enough.
func countFree(limit uint64, enough int, open func(uint64) bool) (free int) {
	for fd := uint64(0); fd < limit && free < enough; fd++ {
		if !open(fd) {
			free++
		}
	}
	return free
}

// explain returns the text of the error, with the way to a higher limit.
func explain(l syscall.Rlimit, free int) string {
	text := "the number of open files is limited to " + strconv.FormatUint(l.Cur, 10) +
		" (ulimit -n): this program needs " + strconv.Itoa(needed)
	if l.Cur >= needed {
		text += ", and its parent left it " + strconv.Itoa(free)
	}
	return text + ": ulimit -n 1024 (in a new login shell, if this one may not raise it)"
}
