package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// minLandlock is the required version of Landlock's interface: the third, of Linux 6.2, is the
// first that prevents truncation of files. The fifth is the first that restricts the control of
// devices.
const (
	minLandlock   = 3
	ioctlLandlock = 5
)

// Sets of Landlock's rights.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
	makeRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	dirRights = fileRights | readRights | makeRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	allRights = dirRights | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// restrictFiles keeps the process's rights to read, and allows writing below some directories.
// unprivileged means that no thread can get new privileges.
func restrictFiles(p Policy, unprivileged bool) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < minLandlock {
		return fmt.Errorf("files: the kernel has no Landlock of version %d (Linux 6.2, CONFIG_SECURITY_LANDLOCK, "+
			"lsm=landlock)", minLandlock)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: allRights}
	if version >= ioctlLandlock {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	// The kernel supports the first field in all versions.
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("files: landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(set))
	if err := errors.Join(allow(set, "/", readRights), allow(set, os.DevNull, fileRights)); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	for _, dir := range p.Write {
		if err := allow(set, dir, dirRights); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("files: %w", err)
		}
	}
	if _, err := os.Stat("/proc/self/task"); threadsByProc && err != nil {
		return fmt.Errorf("files: this build finds its threads in /proc: %w", err)
	}
	return enforce(set, unprivileged)
}

// allow adds rights below a path to a set of rules.
func allow(set uintptr, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%s: landlock_add_rule: %w", path, errno)
	}
	return nil
}

// enforce applies a set of rules to all threads. A call on all threads wakes each of them up, which costs more
// than all the rest. So no_new_privs, which the kernel requires, is set together with the filter of system
// calls, if there is one.
func enforce(set uintptr, unprivileged bool) error {
	if !unprivileged {
		if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
			return fmt.Errorf("files: no_new_privs: %w", errno)
		}
	}
	if _, _, errno := psx.Syscall3(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("files: landlock_restrict_self: %w", errno)
	}
	return nil
}
