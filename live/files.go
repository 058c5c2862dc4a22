package live

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// openerFor returns a function that opens the files of a process: files that it has mapped, under
// any name, and files that open allows. Mapped files belong to the inspected process; the loader's
// list may name any file.
func openerFor(open func(name string) (*os.File, error), maps []mapping) elfx.OpenFile {
	if open == nil {
		return nil
	}
	type identity struct {
		dev   string
		inode uint64
	}
	mapped := map[identity]bool{}
	for _, m := range maps {
		if m.inode != 0 {
			mapped[identity{m.dev, m.inode}] = true
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
		if !mapped[identity{fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)), st.Ino}] {
			return nil, missing
		}
		return os.Open(fmt.Sprintf("/proc/self/fd/%d", held.Fd()))
	}
}
