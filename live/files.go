package live

import (
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// openerFor returns a function that opens the files of a process: files that it has mapped, under
// any name, and files that open allows. Mapped files belong to the inspected process; the loader's
// list may name any file.
func openerFor(open func(name string) (*os.File, error), maps []mapping) elfx.OpenFile {
	if open == nil {
		return nil
	}
	mapped := map[identity]bool{}
	for _, m := range maps {
		if m.inode != 0 {
			mapped[m.identity()] = true
		}
	}
	return func(name string) (*os.File, error) {
		file, err := open(name)
		if err == nil {
			return file, nil
		}
		missing := &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
		held, heldErr := os.OpenFile(name, unix.O_PATH, 0)
		if heldErr != nil {
			return nil, missing
		}
		defer held.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(held.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil, missing
		}
		if !mapped[identityOf(&st)] {
			return nil, missing
		}
		return os.Open(fmt.Sprintf("/proc/self/fd/%d", held.Fd()))
	}
}

// identity is the identity of a file, as /proc/PID/maps and stat give it. Some file systems (overlayfs, btrfs) give
// different devices in the two: equal identities are those of one file, different ones prove nothing.
type identity struct {
	dev   string // major:minor
	inode uint64
}

func (m *mapping) identity() identity { return identity{m.dev, m.inode} }

func identityOf(st *unix.Stat_t) identity {
	return identity{fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)), st.Ino}
}

// isMappedFile reports whether the file at path is the one that a mapping of maps has mapped.
func isMappedFile(maps []mapping, m callbacks.Mapping, path string) bool {
	i := slices.IndexFunc(maps, func(have mapping) bool { return have.Low == m.Low })
	var st unix.Stat_t
	return i >= 0 && maps[i].inode != 0 && unix.Stat(path, &st) == nil && identityOf(&st) == maps[i].identity()
}
