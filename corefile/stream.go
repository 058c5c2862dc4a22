package corefile

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OpenStream opens a core, which may be compressed, from a pipe, a socket or a device. It copies
// the stream, up to Options.MaxUnpacked bytes, into a temporary file without a name. A stream that
// does not start like a core is refused before the rest is read. A regular file is read in place.
// Messages call the stream by name; stream stays open.
func OpenStream(stream *os.File, name string, opts Options) (*Core, error) {
	if opts.Exe != "" {
		if err := checkExecutable(opts); err != nil {
			return nil, fmt.Errorf("executable: %w", err)
		}
	}
	file, err := streamFile(stream, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return openCore(file, name, opts)
}

// streamFile returns a file with the decompressed content of a stream.
func streamFile(stream *os.File, opts Options) (*os.File, error) {
	info, err := stream.Stat()
	if err != nil {
		return nil, err
	}
	var from io.Reader = patientReader{stream, opts.Canceled}
	if info.Mode().IsRegular() {
		from = io.NewSectionReader(stream, 0, info.Size())
	}
	buffered := bufio.NewReaderSize(from, unpackBlock)
	head, err := buffered.Peek(describedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch unpack := unpackerOf(head); {
	case len(head) == 0:
		return nil, fmt.Errorf("%w: it is empty, as a command that failed leaves it", ErrNotCore)
	case unpack != nil:
		file, err := unpackFile(buffered, unpack, opts)
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		return file, nil
	case !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return nil, fmt.Errorf("%w: %w: %s", ErrNotCore, describeBytes(string(head)), fixNotCore)
	case info.Mode().IsRegular():
		fd, err := unix.FcntlInt(stream.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), stream.Name()), nil
	}
	return spool(buffered, nil, opts)
}

// patientReader reads a stream that may be silent for long, until canceled returns an error.
type patientReader struct {
	stream   *os.File
	canceled func() error // may be nil
}

// silence is the time that a read waits for bytes before it calls canceled, in milliseconds.
const silence = 100

// Read implements io.Reader.
func (r patientReader) Read(p []byte) (int, error) {
	for fds := []unix.PollFd{{Fd: int32(r.stream.Fd()), Events: unix.POLLIN}}; r.canceled != nil; {
		if err := r.canceled(); err != nil {
			return 0, err
		}
		if n, err := unix.Poll(fds, silence); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			break // bytes, the end, or an error that the read returns
		}
	}
	return r.stream.Read(p)
}
