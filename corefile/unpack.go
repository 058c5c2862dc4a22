package corefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// DefaultMaxUnpacked bounds a decompressed core, in bytes: more than the memory
// of most machines, and little enough that a file made to explode ends.
const DefaultMaxUnpacked = 1 << 40

// unpackBlock is the unit of decompression. Blocks of zeros become holes.
const unpackBlock = 64 << 10

// maxZstdWindow bounds the memory of the zstd decoder: the zstd tool needs an
// option to write files that need more.
const maxZstdWindow = 128 << 20

// progressAfter and progressEvery time the calls of Options.Progress.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// unpacker opens a stream of decompressed bytes.
type unpacker func(io.Reader) (io.Reader, func(), error)

// unpackerOf tells by a file's first bytes how it is compressed; nil if it is
// not.
func unpackerOf(r io.ReaderAt) unpacker {
	var b [6]byte
	n, _ := r.ReadAt(b[:], 0)
	for _, k := range []struct {
		magic string
		open  unpacker
	}{
		{"\x28\xb5\x2f\xfd", openZstd}, {"\x04\x22\x4d\x18", openLZ4}, {"\xfd7zXZ\x00", openXZ}, {"\x1f\x8b", openGzip},
	} {
		if bytes.HasPrefix(b[:n], []byte(k.magic)) {
			return k.open
		}
	}
	return nil
}

// openZstd reads .zst, as systemd-coredump writes it today.
func openZstd(r io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// openLZ4 reads .lz4, as systemd-coredump wrote it before.
func openLZ4(r io.Reader) (io.Reader, func(), error) { return lz4.NewReader(r), func() {}, nil }

// openXZ reads .xz, as systemd-coredump wrote it at first.
func openXZ(r io.Reader) (io.Reader, func(), error) {
	z, err := xz.NewReader(r)
	return z, func() {}, err
}

// openGzip reads .gz, as crash collectors of some vendors write it.
func openGzip(r io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	return z, func() {}, err
}

// unpackFile decompresses a file into a temporary one that has no name.
func unpackFile(packed *os.File, open unpacker, opts Options) (*os.File, error) {
	z, done, err := open(packed)
	if err != nil {
		return nil, err
	}
	defer done()
	tmp, err := os.CreateTemp("", "core-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(tmp.Name()); err != nil {
		tmp.Close()
		return nil, err
	}
	if err := copySparse(tmp, z, opts); err != nil {
		tmp.Close()
		return nil, err
	}
	return tmp, nil
}

// copySparse writes a stream to an empty file and leaves holes for its zeros. A
// stream that is cut in the middle is kept as far as it goes: it is a truncated
// core.
func copySparse(to *os.File, from io.Reader, opts Options) error {
	limit := opts.MaxUnpacked
	if limit == 0 {
		limit = DefaultMaxUnpacked
	}
	block, zeros := make([]byte, unpackBlock), make([]byte, unpackBlock)
	report := progress(opts.Progress)
	for size := int64(0); ; {
		n, err := io.ReadFull(from, block)
		if size+int64(n) > limit {
			return fmt.Errorf("%w: over %d bytes", ErrTooBig, limit)
		}
		if n > 0 && !bytes.Equal(block[:n], zeros[:n]) {
			if _, err := to.WriteAt(block[:n], size); err != nil {
				return fmt.Errorf("%w: set TMPDIR to a directory with space", err)
			}
		}
		size += int64(n)
		report(size)
		if err == nil {
			continue
		}
		if size == 0 || !endOfStream(err) {
			return err
		}
		return to.Truncate(size)
	}
}

// endOfStream tells the end of a stream, be it whole or cut, from damage.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// progress returns a function that passes on some of its calls.
func progress(f func(int64)) func(int64) {
	if f == nil {
		return func(int64) {}
	}
	next := time.Now().Add(progressAfter)
	return func(done int64) {
		if now := time.Now(); now.After(next) {
			next = now.Add(progressEvery)
			f(done)
		}
	}
}
