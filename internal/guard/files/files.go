// Package files opens files that a user, a client, a core or a program's own tables name: regular files, and for
// all but the user, below the allowed directories and nowhere else. It opens no directories, pipes, devices and
// sockets, so that it never blocks.
//
// A name alone is not trusted: links may lead out of a directory, and may change between a check
// and the opening. So the kernel restricts the opening to the directory (openat2 with
// RESOLVE_BENEATH) or, if it cannot, each part of the name is opened by itself. A file elsewhere is
// reported as missing, whether it exists or not.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// ErrNotRegular means that the name is that of a directory, a pipe, a device or a socket.
var ErrNotRegular = errors.New("not a regular file")

// System returns the directories of a distribution's own libraries and of their debug information,
// which are public.
func System() []string {
	return []string{"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"}
}

// Opener opens regular files for reading. The zero value opens no file, nil every file that this process may
// read. It is safe for concurrent use.
type Opener struct {
	// Dirs are the directories below which files are opened, by absolute paths.
	Dirs []string
	// Also are additional directories for files named by others than clients: the system's.
	Also []string
	// NoOpenat2 disables the kernel's own check, as on kernels before Linux 5.6.
	NoOpenat2 bool
}

// All reports whether every file may be opened.
func (o *Opener) All() bool { return o == nil || slices.Contains(o.Dirs, "/") }

// Open opens a regular file. It never blocks, and opens no device. A file outside of the directories, or
// reached through a link that leads out, is fs.ErrNotExist.
func (o *Opener) Open(name string) (*os.File, error) {
	if o.All() {
		if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() { // opening a device may have effects
			return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
		}
		return regular(os.OpenFile(name, flags, 0))
	}
	name = filepath.Clean(name)
	if !filepath.IsAbs(name) || below("/proc", name) { // its links lead to files of processes
		return nil, missing(name)
	}
	if f, err := o.beneath(name); !outside(err) {
		return f, err
	}
	// A link may lead from one of the directories to another: then its target is below that. If
	// links change concurrently, the file is not found.
	real, err := filepath.EvalSymlinks(name)
	if err != nil || below("/proc", real) {
		return nil, missing(name)
	}
	f, err := o.beneath(real)
	if outside(err) {
		return nil, missing(name)
	}
	return f, err
}

// Open opens a regular file that the user names. It never blocks, and opens no device.
func Open(name string) (*os.File, error) { return (*Opener)(nil).Open(name) }

// Read returns the content of a regular file that the user names, of at most limit bytes. It counts the memory in a
// ledger, which may be nil.
func Read(name string, limit int, memory *budget.Ledger) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLong := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	if st.Size() > int64(limit) {
		return nil, tooLong
	}
	if err := memory.Try(name, uint64(st.Size())); err != nil {
		return nil, err
	}
	b := make([]byte, st.Size()+1) // a byte more shows the end
	n, err := io.ReadFull(f, b)
	switch {
	case err == nil: // it grows, or its size is unknown, as in /proc
		more, err := io.ReadAll(io.LimitReader(f, int64(limit-n)+1))
		if err != nil {
			return nil, err
		}
		if b = append(b, more...); len(b) > limit {
			return nil, tooLong
		}
		return b, memory.Try(name, uint64(len(more)))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b[:n], nil
	}
	return nil, err
}

// flags are the flags for opening files: a pipe must not block, and a terminal must not become this process's
// own.
const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// beneath opens a file below one of the directories.
func (o *Opener) beneath(name string) (f *os.File, err error) {
	err = missing(name)
	for _, dir := range append(slices.Clone(o.Dirs), o.Also...) {
		rel, ok := relative(dir, name)
		if !ok {
			continue
		}
		if f, err = o.openIn(dir, rel); !outside(err) {
			return f, err
		}
	}
	return nil, err
}

// openIn opens a file below a directory.
func (o *Opener) openIn(dir, rel string) (*os.File, error) {
	if o.NoOpenat2 {
		return inRoot(dir, rel)
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(at)
	name := filepath.Join(dir, rel)
	how := &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	look, err := openat2(at, rel, how)
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // an old kernel, or an old container's filter
		return inRoot(dir, rel)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(look)
	var st unix.Stat_t
	if err := unix.Fstat(look, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	how.Flags = flags
	fd, err := openat2(at, rel, how)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return regular(os.NewFile(uintptr(fd), name), nil)
}

// tries bounds the attempts to open a file while names change.
const tries = 16

// openat2 makes the kernel open a file. The kernel returns EAGAIN if a directory was renamed while
// it checked "..".
func openat2(at int, rel string, how *unix.OpenHow) (fd int, err error) {
	for range tries {
		fd, err = unix.Openat2(at, rel, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return fd, err
}

// inRoot opens a file below a directory part by part.
func inRoot(dir, rel string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	st, err := root.Stat(rel)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: filepath.Join(dir, rel), Err: ErrNotRegular}
	}
	if err != nil {
		return nil, err
	}
	return regular(root.OpenFile(rel, flags, 0))
}

// regular returns an opened file if it is a regular one.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// outside reports whether a file may exist below another directory: it is missing, or a link leads
// out of the directory.
func outside(err error) bool {
	if err == nil {
		return false
	}
	var root *fs.PathError
	if errors.As(err, &root) && strings.Contains(root.Err.Error(), "escapes") { // os.Root has no error of its own
		return true
	}
	return slices.ContainsFunc([]error{fs.ErrNotExist, unix.EXDEV, unix.ELOOP, unix.ENOTDIR}, func(e error) bool {
		return errors.Is(err, e)
	})
}

func missing(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// Below reports whether a clean, absolute path is in one of the clients' directories.
func (o *Opener) Below(name string) bool {
	return o.All() || slices.ContainsFunc(o.Dirs, func(dir string) bool { return below(dir, name) })
}

func below(dir, name string) bool {
	_, ok := relative(dir, name)
	return ok
}

// relative returns the part of a name after a directory. Links in the directory's own path are not
// resolved.
func relative(dir, name string) (string, bool) {
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	for _, d := range dirs {
		if rel, err := filepath.Rel(d, name); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}
