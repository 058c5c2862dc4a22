package corefile

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// apportMagic is the start of a crash report of apport, a text in which the core is a compressed field in base64.
const apportMagic = "ProblemType: "

// apportCore starts the line before the core in a crash report.
const apportCore = "CoreDump: base64"

// maxApportText bounds the text before the core in a crash report, in bytes. Reports have some MiB of it: logs,
// and the list of mappings.
const maxApportText = 256 << 20

// openApport reads the core in a crash report (.crash) of apport.
func openApport(l *budget.Ledger, r io.Reader) (io.Reader, func(), error) {
	lines := bufio.NewReaderSize(r, unpackBlock)
	if err := skipToCore(lines); err != nil {
		return nil, nil, err
	}
	core := bufio.NewReaderSize(&apportField{lines: lines, start: true}, unpackBlock)
	head, err := core.Peek(magicSize)
	switch unpack := unpackerOf(head); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, nil, err
	case bytes.HasPrefix(head, []byte(apportMagic)):
		return nil, nil, errors.New("the core in the crash report is a crash report")
	case unpack != nil:
		return unpack(l, core)
	case !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return nil, nil, fmt.Errorf("%w: the field CoreDump of the crash report is no core", ErrNotCore)
	}
	return core, func() {}, nil
}

// skipToCore reads a crash report up to its core.
func skipToCore(lines *bufio.Reader) error {
	for read, start := 0, true; read < maxApportText; {
		line, err := lines.ReadSlice('\n')
		read += len(line)
		if start && string(bytes.TrimRight(line, "\r\n")) == apportCore {
			return nil
		}
		start = bytes.HasSuffix(line, []byte("\n"))
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the crash report has no field CoreDump: apport keeps the core only until the "+
				"report is sent", ErrNotCore)
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	return fmt.Errorf("%w: no field CoreDump in the first %d bytes of the crash report", ErrNotCore, maxApportText)
}

// apportField reads a field in base64: lines that start with a space, each encoded by itself.
type apportField struct {
	lines   *bufio.Reader
	start   bool   // at the start of a line
	rest    []byte // characters of an incomplete group of four
	decoded []byte
	buf     [unpackBlock]byte
}

// Read implements io.Reader.
func (f *apportField) Read(p []byte) (int, error) {
	for len(f.decoded) == 0 {
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.decoded)
	f.decoded = f.decoded[n:]
	return n, nil
}

// fill decodes the next part of a line.
func (f *apportField) fill() error {
	// A line is read in parts of the buffer of lines. The next read overwrites part.
	part, err := f.lines.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) && (!errors.Is(err, io.EOF) || len(part) == 0) {
		return err
	}
	if f.start && part[0] != ' ' {
		return io.EOF // the next field
	}
	f.start = part[len(part)-1] == '\n'
	f.rest = append(f.rest, bytes.Trim(part, " \r\n")...)
	whole := len(f.rest) / 4 * 4
	n, bad := base64.StdEncoding.Decode(f.buf[:], f.rest[:whole])
	if bad != nil {
		return fmt.Errorf("the core in the crash report: %w", bad)
	}
	f.decoded, f.rest = f.buf[:n], append(f.rest[:0], f.rest[whole:]...)
	if len(f.rest) > 0 && (f.start || err != nil && errors.Is(err, io.EOF)) {
		return fmt.Errorf("the core in the crash report: %w", io.ErrUnexpectedEOF)
	}
	return nil
}
