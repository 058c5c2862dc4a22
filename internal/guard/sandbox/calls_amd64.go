package sandbox

import "golang.org/x/sys/unix"

// changingHere are calls that change files by name and are missing in newer architectures.
var changingHere = []uintptr{
	unix.SYS_CREAT, unix.SYS_RENAME, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_MKNOD,
	unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME,
	unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// opening maps the calls that open files to the index of their flags argument.
var opening = map[uintptr]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}
