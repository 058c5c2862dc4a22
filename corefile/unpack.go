package corefile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/image/unxz"
)

// DefaultMaxUnpacked bounds a decompressed core, in bytes. It is above the memory of most machines,
// and stops decompression bombs.
const DefaultMaxUnpacked = 1 << 40

// Limits above which a compressed core counts as a decompression bomb: a number of bytes, and a
// ratio of bytes to compressed bytes that were read. Memory of programs compresses to a third to a
// fiftieth. Zeros can be more frequent, but are not written, so a block of them counts as a
// fraction of a block.
const (
	freelyUnpacked = 1 << 30
	likelyRatio    = 64
	zerosWeight    = 16
)

// spareSpace is the part of the file system (one of so many bytes) that stays free when a core is
// decompressed.
const spareSpace = 50

// unpackBlock is the unit of decompression, in bytes. Blocks of zeros become holes.
const unpackBlock = 64 << 10

// maxZstdWindow bounds the memory of the zstd decoder: the zstd tool needs an option to write files
// that need more, and another to write files that need more than usualZstdWindow.
const (
	maxZstdWindow   = 128 << 20
	usualZstdWindow = 8 << 20
)

// progressAfter and progressEvery are the delay and the interval of the calls of Options.Progress.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// unpacker opens a stream of decompressed bytes. The memory that the file requests counts for the
// ledger until the returned function is called.
type unpacker func(*budget.Ledger, io.Reader) (io.Reader, func(), error)

// firstBytes returns the bytes of a file that show how it is compressed.
func firstBytes(r io.ReaderAt) []byte {
	b := make([]byte, magicSize)
	n, _ := r.ReadAt(b, 0)
	return b[:n]
}

// magicSize is the length of the longest magic number of a compressed file, in bytes.
const magicSize = len(apportMagic)

// unpackerOf returns the unpacker for a file that starts with b; nil if it is not compressed.
func unpackerOf(b []byte) unpacker {
	for _, k := range []struct {
		magic string
		open  unpacker
	}{
		{"\x28\xb5\x2f\xfd", openZstd}, {"\x04\x22\x4d\x18", openLZ4}, {"\xfd7zXZ\x00", openXZ}, {"\x1f\x8b", openGzip},
		{apportMagic, openApport},
	} {
		if bytes.HasPrefix(b, []byte(k.magic)) {
			return k.open
		}
	}
	return nil
}

// Compressed reports whether the named file must be decompressed into a temporary file before it
// can be read. It returns false on errors.
func Compressed(name string) bool {
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return unpackerOf(firstBytes(f)) != nil
}

// openZstd reads .zst, as current systemd-coredump writes it. The ledger bounds the window.
func openZstd(l *budget.Ledger, r io.Reader) (io.Reader, func(), error) {
	const what = "window of a compressed core"
	held, window := l.Part(), uint64(maxZstdWindow)
	for window > usualZstdWindow && held.Try(what, window) != nil {
		window /= 2
	}
	if window == usualZstdWindow {
		if err := held.Take(what, window); err != nil {
			return nil, nil, err
		}
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderConcurrency(1))
	if err != nil {
		held.Close()
		return nil, nil, err
	}
	return z, func() { z.Close(); held.Close() }, nil
}

// openLZ4 reads .lz4, as earlier systemd-coredump wrote it.
func openLZ4(_ *budget.Ledger, r io.Reader) (io.Reader, func(), error) {
	return lz4.NewReader(r), func() {}, nil
}

// openXZ reads .xz, as the first systemd-coredump wrote it.
func openXZ(l *budget.Ledger, r io.Reader) (io.Reader, func(), error) { return unxz.NewReader(l, r) }

// openGzip reads .gz, as some vendors' crash collectors write it.
func openGzip(_ *budget.Ledger, r io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	return z, func() {}, err
}

// unpackFile decompresses a stream into a temporary file without a name.
func unpackFile(packed io.Reader, open unpacker, opts Options) (*os.File, error) {
	from := &counter{r: packed}
	if f, ok := packed.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			from.size = st.Size()
		}
	}
	z, done, err := open(budget.LedgerOf(opts.Memory), from)
	if err != nil {
		return nil, err
	}
	defer done()
	return spool(z, from, opts)
}

// spool writes a stream into a temporary file without a name. packed counts the compressed bytes;
// it is nil for a stream that is not compressed.
func spool(from io.Reader, packed *counter, opts Options) (*os.File, error) {
	tmp, err := os.CreateTemp("", "core-*")
	if err != nil { // not wrapped: callers must not take it for a missing core
		return nil, fmt.Errorf("no room for it: %v: %s", err, fixTemp)
	}
	if err := os.Remove(tmp.Name()); err != nil {
		tmp.Close()
		return nil, err
	}
	if err := copySparse(tmp, from, packed, opts); err != nil {
		tmp.Close()
		return nil, err
	}
	return tmp, nil
}

// fixTemp explains how to provide more space.
const fixTemp = "set TMPDIR to a directory with space, or give the core as a file that is not compressed"

// errNoSpace means that there is no space for the decompressed core.
var errNoSpace = errors.New("the directory for temporary files is nearly full: " + fixTemp)

// counter counts the bytes read from a file. A goroutine of the decompressor may read them.
type counter struct {
	r    io.Reader
	n    atomic.Int64
	size int64 // of the file; 0 if unknown
}

// part returns the part of the file that was read, from 0 to 1; 0 if its size is unknown.
func (c *counter) part() float64 {
	if c == nil || c.size == 0 {
		return 0
	}
	return float64(c.n.Load()) / float64(c.size)
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// workUnit is the number of compressed bytes to which Options.Work applies.
const workUnit = 64 << 20

// tooSlow returns an error if decompression took more CPU time than allowed. Memory of programs
// takes a second or two for each unit. A slower file is made to be slow, or uses a slow method.
func tooSlow(work *budget.Budget, packed *counter, each time.Duration) error {
	if each == 0 || packed == nil || work.Err() != nil {
		return nil
	}
	read := packed.n.Load()
	if used := work.Used(); used > each*time.Duration(1+read/workUnit) {
		const text = "%w: %d bytes of it took %v: decompress it yourself, or raise --budget"
		return fmt.Errorf(text, budget.ErrSpent, read, used.Round(time.Millisecond))
	}
	return nil
}

// unpacking is the progress of decompression.
type unpacking struct {
	packed  *counter // nil if the ratio does not count
	size    int64
	counted int64 // like size, with the weight of zeros
	free    int64 // bytes that may still be written
}

// add counts a decompressed block of n bytes.
func (u *unpacking) add(n int64, zeros bool) error {
	u.size += n
	if zeros {
		n /= zerosWeight
	} else if u.free -= n; u.free < 0 {
		return errNoSpace
	}
	u.counted += n
	if u.packed == nil {
		return nil
	}
	if read := u.packed.n.Load(); u.counted > freelyUnpacked+likelyRatio*read {
		const text = "%w: %d bytes became %d and more follow, as in a file made to fill disks: " +
			"decompress it yourself if you trust it"
		return fmt.Errorf(text, ErrTooBig, read, u.size)
	}
	return nil
}

// freeSpace returns the number of bytes that may be written to a file's file system.
func freeSpace(f *os.File) int64 {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil || st.Blocks == 0 {
		return math.MaxInt64
	}
	return max(0, int64(st.Bavail)-int64(st.Blocks)/spareSpace) * st.Bsize
}

// copySparse writes a stream to an empty file and leaves holes for its zeros. A cut stream is kept
// up to the cut: it is a truncated core.
func copySparse(to *os.File, from io.Reader, packed *counter, opts Options) error {
	limit := opts.MaxUnpacked
	if limit == 0 {
		limit = DefaultMaxUnpacked
	}
	block, zeros := make([]byte, unpackBlock), make([]byte, unpackBlock)
	runtime.LockOSThread() // so that the CPU time is that of this goroutine
	defer runtime.UnlockOSThread()
	work := budget.New(context.Background(), 0)
	report := limitCalls(opts.Progress, packed)
	for u := (unpacking{packed: packed, free: freeSpace(to)}); ; {
		n, err := io.ReadFull(from, block)
		if u.size+int64(n) > limit {
			return fmt.Errorf("%w: over %d bytes", ErrTooBig, limit)
		}
		at, empty := u.size, bytes.Equal(block[:n], zeros[:n])
		if err := u.add(int64(n), empty); err != nil {
			return err
		}
		if !empty {
			if _, err := to.WriteAt(block[:n], at); err != nil {
				return fmt.Errorf("%w: %s", err, fixTemp)
			}
		}
		if err := tooSlow(work, packed, opts.Work); err != nil {
			return err
		}
		report(u.size)
		if opts.Canceled != nil {
			if err := opts.Canceled(); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if u.size == 0 || !endOfStream(err) {
			return err
		}
		return to.Truncate(u.size)
	}
}

// endOfStream reports whether err is the end of a complete or cut stream, not damage.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// limitCalls returns a function that calls f at limited intervals, with the part of the compressed
// file that was read so far.
func limitCalls(f func(int64, float64), packed *counter) func(int64) {
	if f == nil {
		return func(int64) {}
	}
	next := time.Now().Add(progressAfter)
	return func(done int64) {
		if now := time.Now(); now.After(next) {
			next = now.Add(progressEvery)
			f(done, packed.part())
		}
	}
}
