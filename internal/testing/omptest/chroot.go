package omptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Chroot is a copy of a small Debian system that a test may change.
type Chroot struct {
	Dir string
	// Mounts are directories of this machine that are mounted in the system at the same paths.
	Mounts []string
}

// NewChroot returns the smallest system of a release of Debian, with some packages and their dependencies. It skips the
// test if it does not run as root.
func NewChroot(tb testing.TB, suite string, packages ...string) Chroot {
	tb.Helper()
	NeedsMore(tb, "a system of Debian")
	if os.Getuid() != 0 {
		tb.Skip("it needs root, for chroot")
	}
	Program(tb, "debootstrap")
	name := strings.Join(append([]string{suite, "system"}, packages...), "-")
	system := cached(tb, "packages", name, func(dir string) {
		// The mounts of debootstrap end with its name space.
		command(tb, dir, "unshare", "--mount", "debootstrap", "--variant=minbase",
			"--include="+strings.Join(packages, ","), suite, dir, mirror(tb))
	})
	c := Chroot{Dir: filepath.Join(tb.TempDir(), suite)}
	command(tb, "", "cp", "-a", system, c.Dir)
	return c
}

// Run runs a shell script in the system, with only PATH and HOME in the environment, and returns its output. An
// error fails the test.
func (c Chroot) Run(tb testing.TB, script string) string {
	tb.Helper()
	enter := `set -e; dir=$1; script=$2; shift 2
for mount; do mkdir -p "$dir$mount"; mount --bind "$mount" "$dir$mount"; done
exec env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root chroot "$dir" bash -ec "$script"`
	args := []string{"--mount", "--pid", "--fork", "--mount-proc=" + filepath.Join(c.Dir, "proc"),
		"bash", "-c", enter, "bash", c.Dir, script}
	return command(tb, "", "unshare", append(args, c.Mounts...)...)
}
