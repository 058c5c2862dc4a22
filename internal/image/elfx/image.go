package elfx

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
)

// maxName bounds the length of a string of a string table. C++ symbols of some
// ten thousand bytes exist.
const maxName = 1 << 16

// maxSectionName bounds the name of a section, in bytes. Compilers that give each function its own
// section put its symbol into the name, which is never looked up; very many headers that share one
// long name would take unbounded memory.
const maxSectionName = 256

// smallCopy is the size up to which copies of a file's parts are not counted, in bytes: they are short-lived.
const smallCopy = 4 << 10

// OpenFile opens a file for reading, and can restrict the files that may be opened. The zero value
// opens every file that this process may read.
type OpenFile func(name string) (*os.File, error)

// open opens a regular file.
func (o OpenFile) open(path string) (*os.File, error) {
	if o == nil {
		return files.Open(path)
	}
	return o(path)
}

// OpenPath maps the file at path and opens it. After the closer is closed, the File and all its slices are
// invalid.
func OpenPath(path string) (*File, io.Closer, error) { return OpenFile(nil).Path(nil, path) }

// Path is OpenPath for a file that o opens; its memory is charged to l.
func (o OpenFile) Path(l *budget.Ledger, path string) (*File, io.Closer, error) {
	img, closer, err := o.Map(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := OpenWithMemory(l, img)
	if err != nil {
		closer.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, closer, nil
}

// Map maps a regular file read-only. The image has a method Bytes; it is
// valid until the closer is closed.
func (o OpenFile) Map(path string) (callbacks.Image, io.Closer, error) {
	file, err := o.open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() { // o may open others
		return nil, nil, fmt.Errorf("%s: not a regular file", path)
	}
	m := &mapped{}
	if st.Size() == 0 {
		return m, m, nil
	}
	if int64(int(st.Size())) != st.Size() {
		return nil, nil, fmt.Errorf("%s: %d bytes are too many to map", path, st.Size())
	}
	m.b, err = syscall.Mmap(int(file.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: mmap: %w", path, err)
	}
	return m, m, nil
}

// mapped is a file that is mapped into memory.
type mapped struct{ b []byte }

// Bytes returns the whole file. The caller must not write to it.
func (m *mapped) Bytes() []byte { return m.b }

// Size returns the length of the file when it was mapped.
func (m *mapped) Size() int64 { return int64(len(m.b)) }

// ReadAt copies a part of the file.
func (m *mapped) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(p, off)
}

// Close unmaps the file. A second call has no effect.
func (m *mapped) Close() error {
	if m.b == nil {
		return nil
	}
	b := m.b
	m.b = nil
	return syscall.Munmap(b)
}

func (c *contents) fileSize() uint64 { return uint64(max(c.img.Size(), 0)) }

// bytesAt returns n bytes of the file, as a part of the mapped file if it is
// mapped and as a copy if it is not.
func (c *contents) bytesAt(off, n uint64) ([]byte, error) {
	if size := c.fileSize(); off > size || n > size-off {
		return nil, fmt.Errorf("%w: it has %d bytes, offset %#x needs %d more", ErrTruncated, size, off, n)
	}
	if c.data != nil {
		if off+n > uint64(len(c.data)) {
			return nil, fmt.Errorf("%w: %d bytes are at hand, offset %#x needs %d more", ErrTruncated, len(c.data), off,
				n)
		}
		return c.data[off : off+n : off+n], nil
	}
	if n > smallCopy {
		if err := c.memory.Take("parts of the file", n); err != nil {
			return nil, err
		}
	}
	b := make([]byte, n)
	if got, err := c.img.ReadAt(b, int64(off)); got < len(b) {
		return nil, fmt.Errorf("offset %#x: %w", off, err)
	}
	return b, nil
}

// DataAt returns the n bytes of the file that a loader maps at virtual address vaddr. Bytes outside the
// file-backed part of every PT_LOAD segment are an error.
func (f *File) DataAt(vaddr uint64, n int) ([]byte, error) {
	rest, err := f.segmentFrom(vaddr)
	if err != nil {
		return nil, err
	}
	if n < 0 || uint64(n) > rest.size {
		return nil, fmt.Errorf("%d bytes at %#x: the file backs %d of them", n, vaddr, rest.size)
	}
	return f.bytesAt(rest.off, uint64(n))
}

func isLoad(p *elf.ProgHeader) bool { return p.Type == elf.PT_LOAD }

// span is a range of the file.
type span struct{ off, size uint64 }

// segmentFrom finds the file range from vaddr to the end of its segment.
func (c *contents) segmentFrom(vaddr uint64) (span, error) {
	for i := range c.progs {
		p := &c.progs[i]
		if d := vaddr - p.Vaddr; isLoad(p) && vaddr >= p.Vaddr && d < p.Filesz {
			if p.Off+d < d {
				break
			}
			return span{p.Off + d, p.Filesz - d}, nil
		}
	}
	return span{}, fmt.Errorf("no segment of the file has address %#x", vaddr)
}

// dataFrom returns the bytes from vaddr to the end of its segment, at most
// limit.
func (c *contents) dataFrom(vaddr, limit uint64) ([]byte, error) {
	s, err := c.segmentFrom(vaddr)
	if err != nil {
		return nil, err
	}
	if s.off >= c.fileSize() {
		return nil, fmt.Errorf("%w: segment of address %#x", ErrTruncated, vaddr)
	}
	return c.bytesAt(s.off, min(s.size, limit, c.fileSize()-s.off))
}

// cString returns the string at off without its terminator; it is empty if off
// is outside, and ends with the table if the terminator is missing.
func cString(tab []byte, off uint64) []byte { return boundedCString(tab, off, maxName) }

// boundedCString is cString with its own bound on the length.
func boundedCString(tab []byte, off, most uint64) []byte {
	if off >= uint64(len(tab)) {
		return nil
	}
	s := tab[off:min(uint64(len(tab)), off+most)]
	if n := bytes.IndexByte(s, 0); n >= 0 {
		s = s[:n]
	}
	return s
}
