//go:build !amd64

package sandbox

import "golang.org/x/sys/unix"

// changingHere are calls that change files by their names, and that newer architectures do
// not have: this is one.
var changingHere []uintptr

// opening are the calls that open files, and which argument of each has the flags.
var opening = map[uintptr]uint32{unix.SYS_OPENAT: 2}
