// Package outfile writes files under users' names, without harm to existing files. A new file is written
// without a name, or under a temporary name if the file system requires one, and gets its name when it is
// complete. Until then the old file stays. Links are not followed, and a file of another origin is replaced
// only on request.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Errors for refused names. Test with errors.Is.
var (
	// ErrForeign means that a file exists that this program did not make.
	ErrForeign = errors.New("a file is there that ompd-inspect did not write: --force replaces it")
	// ErrExists means that a file exists, of a kind whose origin cannot be determined.
	ErrExists = errors.New("a file is there: --force replaces it")
	// ErrNotFile means that the name is not that of a regular file: a link, a directory, a device.
	ErrNotFile = errors.New("what is there is not a regular file")
)

// ErrStream means that "-" was given to a verb that writes only files.
var ErrStream = errors.New("the standard output is not written here: give the name of a file, or ./- for one that is " +
	"called so")

// Options sets the properties of a file.
type Options struct {
	// Mode contains the permissions of the new file, before the process's umask.
	Mode fs.FileMode
	// Force allows replacing any regular file.
	Force bool
	// Ours reports whether this program made an existing file, which may then be replaced. nil: no file is
	// replaced.
	Ours func(*os.File) bool
}

// Check returns the error that Create or Commit would return, as far as it is known in advance.
func Check(name string, o Options) error {
	f, err := Create(name, o)
	if err != nil {
		return err
	}
	return f.Discard()
}

// File is a file in construction. It gets its name in Commit.
type File struct {
	*os.File
	name    string
	beside  string // its temporary name; may be empty
	replace bool   // an existing file of that name may be replaced
}

// Create starts a file with a name.
func Create(name string, o Options) (*File, error) {
	replace, err := replaceable(name, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f := createNameless(name, o.Mode); f != nil {
		return &File{File: f, name: name, replace: replace}, nil
	}
	f, err := createBeside(name, o.Mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, bare(err))
	}
	return &File{f, name, f.Name(), replace}, nil
}

// replaceable reports whether a file of that name exists and may be replaced.
func replaceable(name string, o Options) (bool, error) {
	if name == "-" {
		return false, ErrStream
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, bare(err)
	case !info.Mode().IsRegular():
		return false, ErrNotFile
	case o.Force || info.Size() == 0:
		return true, nil
	case o.Ours == nil:
		return false, ErrExists
	}
	f, err := os.Open(name)
	if err != nil {
		return false, bare(err)
	}
	defer f.Close()
	if !o.Ours(f) {
		return false, ErrForeign
	}
	return true, nil
}

// createNameless creates a file without a name in the directory of name: however this process ends, the kernel
// removes it. It returns nil if the file system does not support that, or would not let the file get a name
// later.
func createNameless(name string, mode fs.FileMode) *os.File {
	const flags = unix.O_RDWR | unix.O_TMPFILE | unix.O_CLOEXEC
	fd, err := unix.Open(filepath.Dir(name), flags, uint32(mode.Perm()))
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := os.Lstat(descriptor(f)); err != nil { // no /proc
		f.Close()
		return nil
	}
	return f
}

// descriptor returns the path by which the kernel finds a file without a name.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// maxNames bounds the names tried for the new file.
const maxNames = 100

// createBeside creates a file in the directory of name. Its own name starts with a dot and has the
// number of the process, so that the leftovers of a killed process can be recognized.
func createBeside(name string, mode fs.FileMode) (f *os.File, err error) {
	_, err = besides(name, func(beside string) (err error) {
		f, err = os.OpenFile(beside, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return f, err
}

// besides calls make with the first free name next to name.
func besides(name string, make func(beside string) error) (beside string, err error) {
	dir, base := filepath.Split(name)
	for i := range maxNames {
		beside = filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.part", base, os.Getpid(), i))
		if err = make(beside); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return beside, err
}

// Commit gives the file its name, once it is completely on the disk. On an error, the new file is removed, and
// the old one stays.
func (f *File) Commit() error {
	err := f.Sync()
	if err == nil {
		err = f.takeName()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.name, errors.Join(bare(err), f.remove()))
	}
	return nil
}

// takeName gives the file its name. Unlike rename, link cannot replace a file.
func (f *File) takeName() (err error) {
	switch {
	case f.beside == "" && !f.replace:
		return f.linkTo(f.name)
	case f.beside == "": // it needs a name to be renamed
		if f.beside, err = besides(f.name, f.linkTo); err != nil {
			f.beside = ""
			return err
		}
	case !f.replace:
		if err = os.Link(f.beside, f.name); err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, f.remove())
		} // a file system without links
	}
	if err = os.Rename(f.beside, f.name); err == nil {
		f.beside = ""
	}
	return err
}

// linkTo gives a name to a file without one.
func (f *File) linkTo(name string) error {
	return unix.Linkat(unix.AT_FDCWD, descriptor(f.File), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// remove removes the temporary name of the file.
func (f *File) remove() error {
	if f.beside == "" {
		return nil
	}
	err := os.Remove(f.beside)
	f.beside = ""
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Discard removes the file; an existing one with its name stays. It has no effect after Commit.
func (f *File) Discard() error {
	_ = f.Close() // it may be closed
	return f.remove()
}

// bare returns the cause of an error that names a file unknown to the user.
func bare(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
